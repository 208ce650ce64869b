"use strict";
// Texts from files are only ever set as text; the pictures were made, and their texts escaped, when the page was written.
const { motifs, blocks } = JSON.parse(document.getElementById("data").textContent);
const byId = new Map(motifs.map((motif) => [motif.id, motif]));
const find = (id) => document.getElementById(id);
const [list, more, detail] = [find("motifs"), find("more"), find("detail")];
const STEP = 24; // cards that are drawn at a time
let shown = []; // the motifs that pass the filters, in order
let drawn = 0;
let current = null;

function element(tag, properties = {}, ...children) {
  const made = Object.assign(document.createElement(tag), properties);
  made.append(...children.filter((child) => child !== null));
  return made;
}

function picture(markup, className = "picture") {
  const frame = element("div", { className });
  frame.innerHTML = markup;
  return frame;
}

function amount([value, quality]) {
  const text = value < 1e9 ? value.toLocaleString("en", { maximumFractionDigits: 0 }) : value.toExponential(2);
  return quality === "estimate" ? `~ ${text}` : quality === "lower bound" ? `>= ${text}` : text;
}

const share = ([value, quality]) => `${quality === "exact" ? "" : ">= "}${value.toFixed(1)} %`;
const QUALITY = { exact: "exact", "lower bound": "at least; counting was cut off", estimate: "unbiased estimate" };

function card(motif) {
  const numbers = element("div", { className: "numbers" });
  for (const [name, text] of [
    ["occurrences", amount(motif.occurrences)],
    ["graphs", amount(motif.graphs)],
    ["disjoint", amount(motif.disjoint)],
    ["coverage", share(motif.coverage)],
  ]) numbers.append(element("span", {}, element("small", { textContent: name }), text));
  const button = element(
    "button",
    { className: "card", type: "button", onclick: () => open(motif.id) },
    element("span", { className: "rank", textContent: `#${motif.id}` }),
    picture(motif.picture),
    element("span", { className: "words", textContent: motif.common.length ? `most in ${motif.common[0][0]}` : "" }),
    numbers,
  );
  button.setAttribute("aria-label", `Motif ${motif.id}: ${motif.text}`);
  button.dataset.id = motif.id;
  return element("li", {}, button);
}

function draw() {
  const next = shown.slice(drawn, drawn + STEP);
  list.append(...next.map(card));
  drawn += next.length;
  more.hidden = drawn >= shown.length;
}

function value(motif, name) {
  return Array.isArray(motif[name]) ? motif[name][0] : motif[name] ?? -Infinity;
}

function update() {
  const words = find("search").value.toLowerCase().split(/\s+/).filter(Boolean);
  const [type, nodes, edges, sort] = ["type", "nodes", "edges", "sort"].map((id) => find(id).value);
  shown = motifs.filter(
    (motif) =>
      (!type || motif.types.includes(type)) &&
      (!nodes || motif.nodes === Number(nodes)) &&
      (!edges || motif.edges === Number(edges)) &&
      words.every((word) => motif.search.includes(word)),
  );
  const sign = (sort === "id" ? 1 : -1) * (find("direction").getAttribute("aria-pressed") === "true" ? -1 : 1);
  shown.sort((a, b) => sign * (value(a, sort) - value(b, sort)) || a.id - b.id);
  find("count").textContent = `${shown.length.toLocaleString("en")} of ${motifs.length.toLocaleString("en")}`;
  list.replaceChildren();
  drawn = 0;
  draw();
}

function table(rows) {
  const body = element("tbody");
  for (const [name, ...cells] of rows) {
    const row = element("tr", {}, element("th", { scope: "row", textContent: name }));
    row.append(...cells.map((cell) => element("td", {}, cell)));
    body.append(row);
  }
  return element("table", {}, body);
}

function section(title, ...content) {
  return element("div", { className: "section" }, element("h3", { textContent: title }), ...content);
}

function links(ids) {
  const row = element("div", { className: "links" });
  for (const id of ids.slice(0, 60)) {
    row.append(element("button", { type: "button", textContent: `#${id}`, title: byId.get(id).text, onclick: () => open(id) }));
  }
  if (ids.length > 60) row.append(`and ${ids.length - 60} more`);
  return row;
}

function placesOf(motif) {
  const frame = element("div", { className: "surroundings" });
  const note = element("p", { className: "note" });
  const choices = element("div", { className: "places" });
  const choose = (number) => {
    const place = motif.places[number];
    frame.innerHTML = place.picture;
    note.textContent =
      `In colour: ${place.names.join(", ")}.` +
      (place.left_out ? ` ${place.left_out} more neighbours are not shown.` : "");
    [...choices.children].forEach((button, i) => button.setAttribute("aria-pressed", String(i === number)));
  };
  motif.places.forEach((place, i) =>
    choices.append(element("button", { type: "button", textContent: place.graph, onclick: () => choose(i) })),
  );
  choose(0);
  return section("An occurrence in its surroundings", choices, frame, note);
}

function open(id) {
  const motif = byId.get(id);
  if (!motif) return;
  current = id;
  find("detail-title").textContent = `#${id}  ${motif.text}`;
  const [count, quality, error] = motif.occurrences;
  const precision = quality === "estimate" && error !== null ? `, standard error ${(100 * error / Math.max(count, 1)).toFixed(1)} %` : "";
  const supports = table([
    ["occurrences", amount(motif.occurrences), QUALITY[quality] + precision],
    ["graphs", amount(motif.graphs), QUALITY[motif.graphs[1]]],
    ["disjoint", amount(motif.disjoint), QUALITY[motif.disjoint[1]]],
    ["covered nodes", share(motif.coverage), QUALITY[motif.coverage[1]]],
    ["score", motif.score === null ? "" : String(Number(motif.score.toPrecision(6))), "as the search ranked it"],
  ]);
  const top = Math.max(...motif.common.map(([, n]) => n), 1);
  const common = table(
    motif.common.map(([name, n]) => {
      const bar = element("span", { className: "bar" });
      bar.style.width = `${(100 * n) / top}%`;
      return [name, amount([n, quality === "exact" ? "exact" : "lower bound"]), bar];
    }),
  );
  const right = element("div", {}, section("Supports", supports), motif.common.length ? section("Most common in", common) : null);
  const body = find("detail-body");
  body.replaceChildren(element("div", { className: "columns" }, picture(motif.picture), right));
  if (motif.places.length) body.append(placesOf(motif));
  if (motif.near.length) body.append(section("Motifs that differ by one node", links(motif.near)));
  if (motif.contains.length) body.append(section("Contains the motifs", links(motif.contains)));
  const within = motifs.filter((other) => other.contains.includes(id)).map((other) => other.id);
  if (within.length) body.append(section("Is contained in", links(within)));
  if (motif.blocks.length) {
    const row = element("div", { className: "blocks" });
    for (const [number, times] of motif.blocks) {
      const block = element("div", { className: "block" });
      block.innerHTML = blocks[number].picture;
      block.append(`${times > 1 ? `${times} times` : "once"}; in ${blocks[number].motifs} motifs`);
      row.append(block);
    }
    body.append(section("Small patterns inside, of those that most motifs share", row));
  }
  body.append(section("Key", element("span", { className: "key", textContent: motif.key })));
  if (!detail.open) detail.showModal();
  detail.scrollTop = 0;
  history.replaceState(null, "", `#motif-${id}`);
}

function turn(step) {
  const order = shown.some((motif) => motif.id === current) ? shown : motifs;
  const at = order.findIndex((motif) => motif.id === current) + step;
  if (at >= 0 && at < order.length) open(order[at].id);
}

function fill(id, counts) {
  for (const [name, count] of counts) find(id).append(element("option", { value: name, textContent: `${name} (${count})` }));
  if (id !== "type" && counts.length < 2) find(id).parentElement.hidden = true;
}

function tally(values, compare) {
  const counts = new Map();
  for (const one of values) counts.set(one, (counts.get(one) ?? 0) + 1);
  return [...counts].sort(compare);
}

for (const motif of motifs) {
  motif.search = [motif.text, motif.key, `#${motif.id}`, ...motif.common.map(([name]) => name)].join(" ").toLowerCase();
}
fill("type", tally(motifs.flatMap((motif) => motif.types), (a, b) => b[1] - a[1] || (a[0] < b[0] ? -1 : 1)));
fill("nodes", tally(motifs.map((motif) => motif.nodes), (a, b) => a[0] - b[0]));
fill("edges", tally(motifs.map((motif) => motif.edges), (a, b) => a[0] - b[0]));
find("search").addEventListener("input", update);
for (const id of ["type", "nodes", "edges", "sort"]) find(id).addEventListener("change", update);
find("direction").addEventListener("click", ({ currentTarget: button }) => {
  button.setAttribute("aria-pressed", String(button.getAttribute("aria-pressed") !== "true"));
  update();
});
document.querySelector(".toolbar").addEventListener("submit", (event) => event.preventDefault());
more.addEventListener("click", draw);
const watch = new IntersectionObserver(
  (entries) => {
    if (!entries.some((entry) => entry.isIntersecting)) return;
    draw();
    watch.unobserve(more); // look again: the end of the list may still be in sight
    watch.observe(more);
  },
  { rootMargin: "600px" },
);
watch.observe(more);
find("previous").addEventListener("click", () => turn(-1));
find("next").addEventListener("click", () => turn(1));
find("close").addEventListener("click", () => detail.close());
detail.addEventListener("click", (event) => event.target === detail && detail.close());
detail.addEventListener("close", () => {
  history.replaceState(null, "", " ");
  list.querySelector(`[data-id="${current}"]`)?.focus();
});
document.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  if (detail.open && event.key === "ArrowRight") turn(1);
  else if (detail.open && event.key === "ArrowLeft") turn(-1);
  else if (!detail.open && event.key === "/" && document.activeElement !== find("search")) {
    event.preventDefault();
    find("search").focus();
  }
});
update();
const asked = /^#motif-(\d+)$/.exec(location.hash);
if (asked) open(Number(asked[1]));
