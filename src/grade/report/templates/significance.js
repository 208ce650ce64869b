"use strict";
// Sorts a table by the column whose heading is pressed; again, the other way round.
function sortBy(heading) {
  const table = heading.closest("table");
  const headings = [...table.tHead.rows[0].cells];
  const column = headings.indexOf(heading);
  const direction = heading.getAttribute("aria-sort") === "descending" ? "ascending" : "descending";
  for (const other of headings) other.removeAttribute("aria-sort");
  heading.setAttribute("aria-sort", direction);
  const sign = direction === "descending" ? -1 : 1;
  const value = (row) => Number(row.cells[column].dataset.value);
  table.tBodies[0].append(...[...table.tBodies[0].rows].sort((a, b) => sign * (value(a) - value(b))));
}

for (const button of document.querySelectorAll(".sortable th button")) {
  button.addEventListener("click", () => sortBy(button.closest("th")));
}
