"use strict";
// Everything that is shown comes from the embedded data and is written as text; pictures are made by the program.
const { nodes, models, blocks, library, unreached, matrix } = JSON.parse(document.getElementById("data").textContent);
const find = (id) => document.getElementById(id);
const number = (n) => n.toLocaleString("en");
const graphs = (n) => `${number(n)} graph${n === 1 ? "" : "s"}`;
const share = (n) => `${((100 * n) / Math.max(nodes, 1)).toFixed(1)} %`;

function element(name, properties = {}, ...children) {
  const made = Object.assign(document.createElement(name), properties);
  made.append(...children.filter((child) => child !== null));
  return made;
}

// The path to the shown item: a model or a block first, then blocks inside.
let way = [];
const places = new Map(blocks.map((block, i) => [block, i]));

function part([text, block], open) {
  if (block < 0) return element("span", { className: "part", textContent: text });
  const facts = blocks[block];
  return element("button", {
    className: "part",
    type: "button",
    textContent: text,
    title: `${number(facts.nodes)} nodes, ${number(facts.count)} times in ${graphs(facts.graphs)}`,
    onclick: () => open(block),
  });
}

function show(steps, remember = true) {
  way = steps;
  const place = way[way.length - 1];
  find("crumbs").replaceChildren(
    ...way.flatMap((step, i) => [
      i ? " / " : null,
      element("button", { type: "button", textContent: step.name, disabled: i === way.length - 1, onclick: () => show(way.slice(0, i + 1)) }),
    ]).filter((child) => child !== null),
  );
  const open = (block) => show([...way, blocks[block]]);
  find("facts").textContent = "count" in place
    ? `${number(place.nodes)} nodes, ${number(place.count)} times in ${graphs(place.graphs)}` +
      `: ${place.shared.map(([name, n]) => `${name} (${number(n)})`).join(", ")}${place.graphs > place.shared.length ? " ..." : ""}`
    : `${number(place.nodes)} nodes, ${number(place.units)} units`;
  const frame = find("frame");
  if (place.picture) {
    frame.innerHTML = place.picture;
    [...frame.querySelectorAll("svg > g")].forEach((box, i) => {
      const [text, block] = place.parts[i];
      if (block < 0) return;
      box.classList.add("opens");
      box.setAttribute("tabindex", "0");
      box.setAttribute("role", "button");
      box.setAttribute("aria-label", `Open ${text}`);
      box.addEventListener("click", () => open(block));
      box.addEventListener("keydown", (event) => {
        if (event.key === "Enter" || event.key === " ") {
          event.preventDefault();
          open(block);
        }
      });
    });
  } else {
    frame.replaceChildren(element("p", { className: "note", textContent: "Too many units for a picture:" }), list(place.outline, open));
  }
  frame.scrollTop = 0;
  if (remember) {
    const first = models.indexOf(way[0]);
    const rest = way.map((step) => blocks.indexOf(step)).filter((i) => i >= 0);
    history.pushState(null, "", `#${first >= 0 ? `m${first}` : "b"}${rest.map((i) => `.${i}`).join("")}`);
  }
}

function list(parts, open) {
  const row = element("div", { className: "outline" });
  parts.forEach((each, i) => row.append(i ? " " : "", part(each, open)));
  return row;
}

function choose(model, remember = true) {
  const chosen = models[model];
  find("model").value = String(model);
  find("size").textContent = `${number(chosen.nodes)} nodes as ${number(chosen.units)} units`;
  find("outline").replaceChildren(list(chosen.outline, (block) => show([chosen, blocks[block]])));
  show([chosen], remember);
}

function bar(coverage) {
  const made = element("span", { className: "bar" });
  made.style.width = `${(100 * coverage) / Math.max(nodes, 1)}%`;
  return made;
}

function open(block) {
  show([block]);
  find("crumbs").scrollIntoView({ block: "start" });
}

function row(block, i) {
  const made = element(
    "tr",
    { onclick: () => open(block) },
    element("th", { scope: "row" }, element("button", { type: "button", textContent: block.name })),
    element("td", { textContent: number(block.nodes) }),
    element("td", { textContent: number(block.count) }),
    element("td", { textContent: number(block.graphs) }),
    element("td", {}, share(block.coverage), bar(block.coverage)),
    element("td", { className: "key", textContent: block.outline.slice(0, 8).map(([text]) => text).join("; ") + (block.outline.length > 8 ? "; ..." : "") }),
  );
  made.dataset.block = String(i);
  return made;
}

// The table's order: the one that saves most first until a head is pressed.
const columns = ["name", "nodes", "count", "graphs", "coverage"];
let order = [null, 1];

function sorted(shown) {
  const [column, way] = order;
  if (column === null) return shown;
  return [...shown].sort((a, b) => (column === "name" ? a.name.localeCompare(b.name, "en", { numeric: true }) : b[column] - a[column]) * way);
}

function heads() {
  [...find("blocks").parentElement.querySelectorAll("thead th")].slice(0, columns.length).forEach((head, i) => {
    const button = element("button", { type: "button", textContent: head.textContent });
    button.onclick = () => {
      order = [columns[i], order[0] === columns[i] ? -order[1] : 1];
      [...head.parentElement.children].forEach((other) => other.removeAttribute("aria-sort"));
      head.setAttribute("aria-sort", (columns[i] === "name") === (order[1] === 1) ? "ascending" : "descending");
      search();
    };
    head.replaceChildren(button);
  });
}

function search() {
  const words = find("search").value.toLowerCase().split(/\s+/).filter(Boolean);
  const shown = blocks.filter((block) => {
    const text = [block.name, ...block.parts.map(([name]) => name)].join(" ").toLowerCase();
    return words.every((word) => text.includes(word));
  });
  find("blocks").replaceChildren(...sorted(shown).map((block) => row(block, places.get(block))));
  find("count").textContent = shown.length ? `${number(shown.length)} of ${number(blocks.length)}` : "no block matches";
}

function growing() {
  if (!unreached.length) return find("growing").remove();
  for (const [i, name, size, count, graphs, coverage] of unreached) {
    const known = i >= 0;
    find("unreached").append(element(
      "tr",
      known ? { onclick: () => open(blocks[i]) } : {},
      element("th", { scope: "row" }, element("button", { type: "button", textContent: name, disabled: !known })),
      ...[size, count, graphs].map((n) => element("td", { textContent: number(n) })),
      element("td", {}, share(coverage), bar(coverage)),
    ));
  }
}

function sharing() {
  if (!matrix.blocks.length || models.length < 2) return find("sharing").remove();
  find("heads").append(element("th"));
  for (const block of matrix.blocks) {
    const name = block < blocks.length ? blocks[block].name : `block ${block + 1}`;
    const head = element("button", { type: "button", textContent: name, title: name, disabled: block >= blocks.length });
    head.onclick = () => open(blocks[block]);
    find("heads").append(element("th", { scope: "col" }, head));
  }
  const most = Math.log1p(Math.max(1, ...matrix.rows.flat()));
  matrix.rows.forEach((counts, model) => {
    const made = element("tr", {}, element("th", { scope: "row", textContent: models[model].name }));
    for (const count of counts) {
      const cell = element("span", { className: count ? "cell" : "cell nothing", textContent: count ? number(count) : "" });
      if (count) cell.style.background = `rgb(47 95 208 / ${0.3 + (0.7 * Math.log1p(count)) / most})`;
      made.append(element("td", {}, cell));
    }
    find("matrix").append(made);
  });
}

function curve() {
  const svg = find("curve");
  const make = (name, attributes, text = "") => {
    const made = document.createElementNS("http://www.w3.org/2000/svg", name);
    for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
    made.textContent = text;
    svg.append(made);
    return made;
  };
  const x = (i) => 44 + (500 * i) / Math.max(library.length, 1);
  const y = (covered) => 210 - (190 * covered) / Math.max(nodes, 1);
  for (const percent of [0, 25, 50, 75, 100]) {
    const height = y((nodes * percent) / 100);
    make("line", { class: "grid", x1: 44, x2: 544, y1: height, y2: height });
    make("text", { x: 38, y: height + 4, "text-anchor": "end" }, `${percent} %`);
  }
  make("path", { class: "line", d: [[0, 0], ...library.map(([, covered], i) => [i + 1, covered])].map(([i, c], n) => `${n ? "L" : "M"}${x(i).toFixed(1)} ${y(c).toFixed(1)}`).join("") });
  const marked = [1, 10, 20, 50, 100].filter((n) => n <= library.length);
  const last = library.length;
  if (last && last > 1.2 * marked[marked.length - 1]) marked.push(last);
  for (const size of marked) {
    make("text", { x: x(size), y: 230, "text-anchor": "middle" }, String(size));
    make("circle", { cx: x(size), cy: y(library[size - 1][1]), r: 4, fill: "var(--accent)" }).append(
      Object.assign(document.createElementNS("http://www.w3.org/2000/svg", "title"), { textContent: `${size} blocks: ${share(library[size - 1][1])}` }),
    );
  }
}

function follow() {
  const asked = /^#(?:m(\d+)|b)((?:\.\d+)*)$/.exec(location.hash);
  const inside = asked ? asked[2].split(".").filter(Boolean).map(Number).filter((i) => i < blocks.length) : [];
  if (asked && asked[1] === undefined && inside.length) {
    if (!find("outline").hasChildNodes() && models.length) choose(0, false);
    show(inside.map((i) => blocks[i]), false);
    return;
  }
  if (!models.length) return;
  const model = Math.min(Number(asked?.[1] ?? 0), models.length - 1);
  choose(model, false);
  if (inside.length) show([models[model], ...inside.map((i) => blocks[i])], false);
}

models.forEach((model, i) => find("model").append(element("option", { value: String(i), textContent: `${model.name} (${number(model.nodes)} nodes, ${number(model.units)} units)` })));
find("model").addEventListener("change", () => choose(Number(find("model").value)));
find("search").addEventListener("input", search);
window.addEventListener("popstate", follow);
heads();
search();
growing();
sharing();
curve();
follow();
