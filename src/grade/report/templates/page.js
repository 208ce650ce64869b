"use strict";
// Texts from files are only ever set as text; pictures are drawn here from numbers.
const data = JSON.parse(document.getElementById("data").textContent);
const { motifs, palette, graphs, names, code, distinct } = data;
const byId = new Map(motifs.map((motif) => [motif.id, motif]));
const find = (id) => document.getElementById(id);
const SVG = "http://www.w3.org/2000/svg";
const BEYOND = 600; // pixels above and below the window that are drawn, too
const QUALITY = { exact: "exact", "lower bound": "at least; counting was cut off", estimate: "unbiased estimate" };
let items = []; // the rows of the list: {motif, variant, x, y, width, height}
let shown = []; // the motifs that pass the filters, in order
let drawn = new Map(); // number of an item -> its element
let current = null;
let view = "list";
const opened = new Set(); // motifs whose variants are unfolded
let descending = false;

function element(tag, properties = {}, ...children) {
  const made = Object.assign(document.createElement(tag), properties);
  made.append(...children.filter((child) => child !== null));
  return made;
}

// A pattern as text, whose arrows do not break.
function words(text, properties) {
  const parts = text.split(/(-[^\s>]*>)/);
  return element("span", properties, ...parts.map((part, i) => (i % 2 ? element("span", { className: "arrow", textContent: part }) : part)));
}

function shape(tag, attributes, text) {
  const made = document.createElementNS(SVG, tag);
  for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
  if (text !== undefined) made.textContent = text;
  return made;
}

// All pictures have one scale: a label is 12 pixels high wherever it stands.
function picture({ w, h, b, a }, title) {
  const svg = shape("svg", { width: w, height: h, viewBox: `-8 -8 ${w} ${h}`, role: "img", class: "node" });
  svg.append(shape("title", {}, title));
  for (const [line, head, inside, label, x, y] of a) {
    const faint = inside ? {} : { opacity: 0.5 };
    svg.append(shape("path", { d: line, fill: "none", stroke: "#7b828c", "stroke-width": inside ? 1.6 : 1, ...faint }));
    svg.append(shape("path", { d: head, fill: "#7b828c", ...faint }));
    if (label !== undefined) svg.append(shape("text", { x: x + 8, y, "font-size": 11, fill: "#7b828c" }, label));
  }
  for (const [number, x, y, width, height, inside, name] of b) {
    const [full, label, fill, stroke] = palette[number];
    const group = shape("g", {});
    group.append(shape("title", {}, name === undefined ? full : `${full}\n${name}`));
    group.append(shape("rect", {
      x: x - width / 2, y: y - height / 2, width, height, rx: 5,
      fill: inside ? fill : "#eef0f2", stroke: inside ? stroke : "#b4b9c1", "stroke-width": inside ? 1.5 : 1,
    }));
    group.append(shape("text", { x, y: y + (name === undefined ? 4 : -3), "font-size": 12, fill: inside ? "#16181d" : "#5b626c" }, label));
    if (name !== undefined) group.append(shape("text", { x, y: y + 13, "font-size": 11, fill: "#5b626c" }, name));
    svg.append(group);
  }
  return svg;
}

// The shape of a pattern without its labels, from left to right, small enough for a line; one scale for all of them.
function mini({ w, h, b, a }) {
  const [along, across] = [0.24, 0.1];
  const svg = shape("svg", { width: Math.max(h * along, 12), height: 34, viewBox: `0 0 ${Math.max(h * along, 12)} 34`, "aria-hidden": "true" });
  const top = (34 - Math.min(w * across, 28)) / 2;
  const squeeze = Math.min(1, 28 / (w * across));
  const at = ([, x, y]) => [(y + 8) * along, top + (x + 8) * across * squeeze];
  for (const [line] of a) {
    const numbers = line.match(/-?\d+(\.\d+)?/g).map(Number);
    const [x0, y0, x1, y1] = [numbers[0], numbers[1], numbers.at(-2), numbers.at(-1)];
    const [[ax, ay], [bx, by]] = [at([0, x0, y0]), at([0, x1, y1])];
    svg.append(shape("line", { x1: ax, y1: ay, x2: bx, y2: by, stroke: "#7b828c", "stroke-width": 1 }));
  }
  for (const box of b) {
    const [x, y] = at(box);
    svg.append(shape("rect", { x: x - 4, y: y - 4, width: 8, height: 8, rx: 2, fill: palette[box[0]][2], stroke: palette[box[0]][3] }));
  }
  return svg;
}

const MARKS = { exact: "", "lower bound": ">= ", estimate: "~ " };

function amount([value, quality]) {
  const text = value < 1e9 ? value.toLocaleString("en", { maximumFractionDigits: 0 }) : value.toExponential(2);
  return MARKS[quality] + text;
}

function withUnit(amount, unit) {
  const scales = unit === "seconds" ? [[1, "s"], [1e-3, "ms"]] : [[2 ** 40, "TiB"], [2 ** 30, "GiB"], [2 ** 20, "MiB"], [2 ** 10, "KiB"]];
  const [scale, name] = scales.find(([size]) => Math.abs(amount) >= size) ?? (unit === "seconds" ? [1e-6, "\u00b5s"] : [1, "B"]);
  return `${(amount / scale).toFixed(unit === "seconds" ? 2 : scale === 1 ? 0 : 1)} ${name}`;
}

const savingOf = ([total, unit, , , measured]) => `${measured ? "" : "~ "}${withUnit(total, unit)}`;

const [hasSaving, hasLatency] = ["saving", "latency"].map((name) => motifs.some((motif) => motif[name]));
const columns = `${hasSaving ? " saved" : ""}${hasLatency ? " timed" : ""}`;

function latencyOf({ latency }) {
  if (!latency) return "";
  const [, apart, fused] = latency;
  if (apart === null || fused === null) return "timed";
  return `${(1e3 * apart).toPrecision(3)} \u2192 ${(1e3 * fused).toPrecision(3)} ms`;
}

const percent = (nodes) => (100 * nodes) / Math.max(data.nodes, 1);
const share = ([value, quality]) => `${MARKS[quality]}${percent(value).toFixed(1)} %`;

function bars(motif) {
  const track = element("i");
  const made = element("span", { className: "share" });
  const [whole, part] = [element("b"), element("b")];
  if (motif.choice) {
    const [, gain, covered] = motif.choice;
    whole.style.width = `${percent(covered)}%`;
    part.style.left = `${percent(covered - gain)}%`;
    part.style.width = `${percent(gain)}%`;
    made.append(element("span", { textContent: `+${percent(gain).toFixed(1)} %  to ${percent(covered).toFixed(1)} %` }));
  } else {
    part.style.width = `${percent((motif.coverage ?? [0])[0])}%`;
    made.append(element("span", { textContent: `covers ${share(motif.coverage ?? [0, "exact"])}` }));
  }
  track.append(whole, part);
  made.append(track);
  return made;
}

function variantsOf(motif) {
  return motifs.filter((other) => other.variant === motif.id);
}

function row({ motif, variant }) {
  const number = (name, value, extra = "") => {
    const made = element("span", { className: `number ${extra}` }, element("small", { textContent: name }), value);
    made.dataset.name = name;
    return made;
  };
  const button = element(
    "button",
    { className: `row${variant ? " variant" : ""}${columns}`, type: "button", onclick: () => go(motif.id) },
    element("span", { className: "rank", textContent: `#${motif.id}` }),
    element("span", { className: "mini" }, mini(motif.picture)),
    words(motif.key, { className: "words" }),
    bars(motif),
    number("occurrences", amount(motif.occurrences)),
    number("graphs", amount(motif.graphs), "extra"),
    number("disjoint", amount(motif.disjoint), "extra"),
    hasSaving ? number("saving", motif.saving ? savingOf(motif.saving) : "", "extra") : null,
    hasLatency ? number("apart \u2192 fused", latencyOf(motif), "extra") : null,
    number("nodes", String(motif.nodes), "extra"),
  );
  return marked(button, motif);
}

// The names of the columns, once above the list; the rows of a narrow window have their own.
function heads() {
  const made = find("heads");
  made.className = `row heads${columns}`;
  const share = motifs.some((motif) => motif.choice) ? "adds, covered so far" : "covers";
  const names = [["", "rank"], ["", "mini"], ["pattern", "words"], [share, "share"], ["occurrences", "number"],
    ["graphs", "number extra"], ["disjoint", "number extra"]];
  if (hasSaving) names.push(["saving", "number extra"]);
  if (hasLatency) names.push(["apart \u2192 fused", "number extra"]);
  names.push(["nodes", "number extra"]);
  made.replaceChildren(...names.map(([textContent, className]) => element("span", { textContent, className })));
}

function card({ motif }) {
  const numbers = element("span", { className: "numbers" });
  for (const [name, text] of [
    ["occurrences", amount(motif.occurrences)],
    ["graphs", amount(motif.graphs)],
    motif.saving ? ["saving", savingOf(motif.saving)] : ["disjoint", amount(motif.disjoint)],
    motif.choice ? ["adds", `${percent(motif.choice[1]).toFixed(1)} %`] : ["coverage", share(motif.coverage ?? [0, "exact"])],
  ]) numbers.append(element("span", {}, element("small", { textContent: name }), text));
  const button = element(
    "button",
    { className: "card", type: "button", onclick: () => go(motif.id) },
    element("span", { className: "rank", textContent: `#${motif.id}` }),
    element("span", { className: "picture" }, picture(motif.picture, motif.key)),
    numbers,
  );
  return marked(button, motif);
}

function marked(button, motif) {
  button.setAttribute("aria-label", `Motif ${motif.id}: ${motif.key}`);
  button.dataset.id = motif.id;
  button.classList.toggle("current", motif.id === current);
  const made = element("li", {}, button);
  const variants = motif.choice ? variantsOf(motif).length : 0;
  if (variants && view === "list") {
    const fold = element("button", {
      className: "fold", type: "button",
      textContent: `${variants} variant${variants > 1 ? "s" : ""} ${opened.has(motif.id) ? "\u25b4" : "\u25be"}`,
      onclick: () => {
        if (!opened.delete(motif.id)) opened.add(motif.id);
        arrange();
      },
    });
    fold.setAttribute("aria-expanded", String(opened.has(motif.id)));
    made.append(fold);
  }
  return made;
}

// Where every item stands follows from the sizes of the pictures, so that only those in sight have to be made.
function arrange() {
  const list = find("motifs");
  const width = list.clientWidth;
  items = [];
  let y = 0;
  if (view === "list") {
    const narrow = window.innerWidth <= 820;
    const height = narrow ? 84 : 44;
    const push = (motif, variant) => {
      const extra = narrow && motif.choice && variantsOf(motif).length ? 30 : 0;
      items.push({ motif, variant, x: 0, y, width, height: height + extra });
      y += height + extra;
    };
    for (const motif of shown) {
      push(motif, false);
      if (opened.has(motif.id)) for (const other of variantsOf(motif)) push(other, true);
    }
  } else {
    const columns = Math.max(Math.floor((width + 16) / 336), 1);
    const each = (width - 16 * (columns - 1)) / columns;
    const ends = new Array(columns).fill(0); // each card goes to the column that ends first
    for (const motif of shown) {
      const column = ends.indexOf(Math.min(...ends));
      const height = motif.picture.h + 116;
      items.push({ motif, variant: false, x: column * (each + 16), y: ends[column], width: each, height });
      ends[column] += height + 16;
    }
    y = Math.max(...ends);
  }
  list.style.height = `${y}px`;
  list.replaceChildren();
  drawn = new Map();
  draw();
}

function draw() {
  const list = find("motifs");
  if (!list) return;
  const top = list.getBoundingClientRect().top;
  const [from, to] = [-top - BEYOND, -top + window.innerHeight + BEYOND];
  const wanted = new Set();
  items.forEach((item, number) => {
    if (item.y + item.height < from || item.y > to) return;
    wanted.add(number);
    if (drawn.has(number)) return;
    const made = view === "list" ? row(item) : card(item);
    Object.assign(made.style, {
      left: `${item.x}px`, top: `${item.y}px`, width: `${item.width}px`, height: `${item.height}px`,
    });
    made.dataset.number = number;
    const after = [...list.children].find((other) => Number(other.dataset.number) > number) ?? null;
    list.insertBefore(made, after); // in order, for the keyboard and for readers of the screen
    drawn.set(number, made);
  });
  for (const [number, made] of drawn) {
    if (wanted.has(number) || made.contains(document.activeElement)) continue;
    made.remove();
    drawn.delete(number);
  }
}

function value(motif, name) {
  if (name === "z") return motif.z ? motif.z[1] : -Infinity;
  return Array.isArray(motif[name]) ? motif[name][0] : (motif[name] ?? -Infinity);
}

function update() {
  const asked = find("search").value.toLowerCase().split(/\s+/).filter(Boolean);
  const [type, nodes, sort] = ["type", "nodes", "sort"].map((id) => find(id).value);
  const every = !distinct || find("all").checked || !motifs.some((motif) => motif.choice);
  const base = motifs.filter((motif) => every || motif.choice);
  shown = base.filter(
    (motif) =>
      (!type || motif.types.includes(Number(type))) &&
      (!nodes || motif.nodes === Number(nodes)) &&
      asked.every((word) => motif.search.includes(word)),
  );
  const sign = descending ? -1 : 1;
  shown.sort((a, b) => sign * (value(a, sort) - value(b, sort)) || a.id - b.id);
  find("count").textContent = `${shown.length.toLocaleString("en")} of ${base.length.toLocaleString("en")}`;
  const [up, down] = sort === "id" ? ["best", "last"] : ["least", "most"];
  find("direction").textContent = descending ? `\u2193 ${down} first` : `\u2191 ${up} first`;
  find("direction").setAttribute("aria-label", descending ? "Descending order; turn it round" : "Ascending order; turn it round");
  find("none").hidden = shown.length > 0;
  find("none-text").textContent = `No motif matches ${[
    asked.length ? `\u201c${find("search").value.trim()}\u201d` : "",
    type ? `type ${palette[Number(type)][0]}` : "",
    nodes ? `${nodes} nodes` : "",
  ].filter(Boolean).join(", ")}.`;
  for (const [id, name] of [["as-list", "list"], ["as-cards", "cards"]]) find(id).setAttribute("aria-pressed", String(view === name));
  find("heads").hidden = view !== "list" || shown.length === 0;
  arrange();
}

function toTheTop() {
  const toolbar = document.querySelector(".toolbar");
  const place = find("motifs").getBoundingClientRect().top + window.scrollY - toolbar.offsetHeight - 8;
  if (window.scrollY > place) window.scrollTo(0, Math.max(place, 0));
}

function table(rows) {
  const body = element("tbody");
  for (const [name, ...cells] of rows) {
    const made = element("tr", {}, element("th", { scope: "row", textContent: name }));
    made.append(...cells.map((cell) => element("td", {}, cell)));
    body.append(made);
  }
  return element("table", {}, body);
}

function section(title, ...content) {
  return element("div", { className: "section" }, element("h3", { textContent: title }), ...content);
}

function links(ids) {
  const made = element("div", { className: "links" });
  for (const id of ids.slice(0, 60)) {
    made.append(element("button", { type: "button", textContent: `#${id}`, title: byId.get(id).key, onclick: () => go(id) }));
  }
  if (ids.length > 60) made.append(`and ${ids.length - 60} more`);
  return made;
}

async function copy(text, button) {
  let done = false;
  try {
    await navigator.clipboard.writeText(text);
    done = true;
  } catch {
    const area = element("textarea", { value: text });
    document.body.append(area);
    area.select();
    done = document.execCommand("copy");
    area.remove();
  }
  const before = button.textContent;
  button.textContent = done ? "Copied" : "Not copied";
  setTimeout(() => (button.textContent = before), 1200);
}

function copies(motif) {
  const made = element("div", { className: "copies" });
  const { pytorch, onnx, code: runs } = code[motif.id] ?? {};
  const texts = [["text", motif.key], ["PyTorch", pytorch], ["ONNX", onnx]];
  for (const [name, text] of runs === false ? texts.slice(0, 1) : texts) {
    const button = element("button", { type: "button", textContent: `Copy ${name}` });
    button.dataset.copy = name;
    if (text === undefined) {
      button.disabled = true;
      button.title = `grade export ${data.run} --pattern ${motif.id} --to ${name.toLowerCase()}`;
    } else button.addEventListener("click", () => copy(text, button));
    made.append(button);
  }
  return made;
}

function placesOf(motif) {
  const frame = element("div", { className: "surroundings" });
  const note = element("p", { className: "note" });
  const choices = element("div", { className: "places" });
  const choose = (number) => {
    const place = motif.places[number];
    frame.replaceChildren(picture(place.picture, `An occurrence in ${place.graph}`));
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

function listed(motif) {
  const groups = new Map();
  const texts = (numbers) => numbers.map((number) => names[number]).join(", ") || "nothing";
  for (const [graph, ...parts] of motif.listed) {
    if (!groups.has(graph)) groups.set(graph, []);
    groups.get(graph).push(parts.map((part) => part && texts(part)));
  }
  const made = section("Occurrences by graph");
  if (motif.listed.some(([, , inputs]) => inputs)) {
    made.append(element("p", { className: "note", textContent: "Operators, and the tensors that enter \u2192 leave; weights aside." }));
  }
  made.classList.add("listed");
  for (const [graph, lines] of groups) {
    const list = element("ul", {}, ...lines.map(([nodes, inputs, outputs]) =>
      element("li", {}, element("span", { textContent: nodes }),
        inputs ? element("small", { className: "tensors", textContent: `${inputs} \u2192 ${outputs}` }) : null)));
    const count = new Map(motif.common).get(graph) ?? lines.length;
    const some = lines.length < count ? `${lines.length} of ${count.toLocaleString("en")}` : `${lines.length}`;
    made.append(element("details", {}, element("summary", { textContent: `${graphs[graph]} (${some})` }), list));
  }
  if (motif.listed.length < motif.occurrences[0]) {
    made.append(element("p", {
      className: "note",
      textContent: `${motif.listed.length.toLocaleString("en")} of ${amount(motif.occurrences)} are listed here; grade occurrences ${data.run} --pattern ${motif.id} --to jsonl writes them all.`,
    }));
  }
  return made;
}

function counts(motif) {
  const top = Math.max(...motif.common.map(([, n]) => n), 1);
  const exact = motif.occurrences[1] === "exact" ? "exact" : "lower bound";
  const line = ([graph, n]) => {
    const bar = element("span", { className: "bar" });
    bar.style.width = `${(100 * n) / top}%`;
    return [graphs[graph], amount([n, exact]), bar];
  };
  const made = section("Graphs that have it", table(motif.common.slice(0, 10).map(line)));
  if (motif.common.length > 10) {
    const more = element("button", { type: "button", textContent: `Show all ${motif.common.length} graphs` });
    more.addEventListener("click", () => more.replaceWith(table(motif.common.slice(10).map(line))));
    made.append(more);
  }
  return made;
}

function show(id) {
  const motif = byId.get(id);
  const detail = find("detail");
  if (!motif) return hide();
  const before = current;
  current = id;
  find("detail-title").replaceChildren(words(`#${id}  ${motif.key}`, {}));
  const [count, quality, error] = motif.occurrences;
  const precision = quality === "estimate" && error !== null ? `, standard error ${((100 * error) / Math.max(count, 1)).toFixed(1)} %` : "";
  const rows = [["occurrences", amount(motif.occurrences), QUALITY[quality] + precision]];
  if (motif.saving) {
    const [, unit, one, basis, measured] = motif.saving;
    rows.push(["saving", savingOf(motif.saving), `${withUnit(one, unit)} for each disjoint occurrence; ${measured ? "measured" : `estimate, from ${basis}`}`]);
  }
  for (const name of ["graphs", "disjoint", "mni"]) if (motif[name]) rows.push([name, amount(motif[name]), QUALITY[motif[name][1]]]);
  if (motif.coverage) rows.push(["covered nodes", share(motif.coverage), QUALITY[motif.coverage[1]]]);
  if (motif.choice) {
    const [fresh, gain, covered] = motif.choice;
    rows.push(["adds", `${percent(gain).toFixed(1)} %`, `${fresh.toLocaleString("en")} occurrences that overlap nothing chosen before`]);
    rows.push(["covered with it", `${percent(covered).toFixed(1)} %`, `by motifs #1 to #${id}`]);
  }
  if (motif.z) {
    const [model, z, q, sign] = motif.z;
    const verdict = q < 0.01 ? (sign > 0 ? "over-represented" : "under-represented") : "neither over- nor under-represented";
    rows.push(["z-score", z.toFixed(1), `${verdict}, q ${q.toPrecision(2)}, null model ${model}`]);
  }
  if (motif.score !== null) rows.push(["score", String(Number(motif.score.toPrecision(6))), "as the search ranked it"]);
  const body = find("detail-body");
  body.replaceChildren(copies(motif));
  if (motif.variant !== null) body.append(section("A variant of", links([motif.variant])));
  body.append(element("div", { className: "picture" }, picture(motif.picture, motif.key)), section("Supports", table(rows)));
  if (motif.common.length) body.append(counts(motif));
  if (motif.places.length) body.append(placesOf(motif));
  const { attributes, as_in: place } = code[id] ?? {};
  if (attributes && attributes.length) {
    body.append(section(`Attributes, as in ${place[0]}`, table(attributes.map(([name, kind, text]) => [name, kind, text]))));
  }
  if (motif.latency) {
    const [total, , , device, threads, timed] = motif.latency;
    const rows = timed.map(([name, seconds, title]) => [name, seconds === null ? "\u2013" : withUnit(seconds, "seconds"), title]);
    if (total !== null) rows.push(["measured saving", withUnit(total, "seconds"), "of all disjoint occurrences: operators apart less fused, in one layout"]);
    body.append(section(`Latency on ${device}, ${threads} thread${threads > 1 ? "s" : ""}`, table(rows)));
  }
  if (motif.listed.length) body.append(listed(motif));
  const variants = variantsOf(motif).map((other) => other.id);
  if (variants.length) body.append(section("Its variants", links(variants)));
  if (motif.near.length) body.append(section("Motifs that differ by one node", links(motif.near)));
  if (motif.contains.length) body.append(section("Contains the motifs", links(motif.contains)));
  const within = motifs.filter((other) => other.contains.includes(id)).map((other) => other.id);
  if (within.length) body.append(section("Is contained in", links(within)));
  const wasHidden = detail.hidden;
  detail.hidden = false;
  detail.scrollTop = 0;
  document.querySelector(".split").classList.add("opened");
  if (wasHidden) arrange();
  for (const button of find("motifs").querySelectorAll("[data-id]")) {
    button.classList.toggle("current", Number(button.dataset.id) === current);
  }
  if (wasHidden || before !== id) detail.focus({ preventScroll: true });
}

function hide() {
  const detail = find("detail");
  if (detail.hidden) return;
  detail.hidden = true;
  document.querySelector(".split").classList.remove("opened");
  const last = current;
  current = null;
  arrange();
  find("motifs").querySelector(`[data-id="${last}"]`)?.focus({ preventScroll: true });
}

// The address names the open motif, so that Back, Forward and edited links work.
function follow() {
  const asked = /^#motif-(\d+)$/.exec(location.hash);
  if (asked) show(Number(asked[1]));
  else hide();
}

function go(id, replace = false) {
  if (replace) history.replaceState(null, "", `#motif-${id}`);
  else if (location.hash !== `#motif-${id}`) history.pushState(null, "", `#motif-${id}`);
  follow();
}

function close() {
  history.pushState(null, "", location.pathname + location.search);
  follow();
}

function turn(step) {
  const order = shown.some((motif) => motif.id === current) ? shown : motifs;
  const at = order.findIndex((motif) => motif.id === current) + step;
  if (at >= 0 && at < order.length) go(order[at].id, true);
}

function curve() {
  const chosen = motifs.filter((motif) => motif.choice);
  if (!find("curve")) return;
  find("curve").replaceChildren();
  if (chosen.length < 2) return;
  const [width, height, left, bottom] = [Math.min(620, find("curve").clientWidth), 150, 46, 24];
  const reached = Math.max(chosen.at(-1).choice[2], distinct.bound) / Math.max(data.nodes, 1);
  const top = [0.01, 0.02, 0.05, 0.1, 0.2, 0.4, 0.6, 0.8, 1].find((share) => share >= reached) ?? 1;
  const x = (n) => left + ((width - left - 10) * n) / chosen.length;
  const y = (nodes) => height - bottom - ((height - bottom - 10) * nodes) / Math.max(data.nodes * top, 1);
  const svg = shape("svg", { width, height, viewBox: `0 0 ${width} ${height}`, role: "img" });
  const points = [[x(0), y(0)], ...chosen.map((motif, i) => [x(i + 1), y(motif.choice[2])])];
  svg.append(shape("title", {}, "Share of the nodes that the first motifs cover together"));
  for (const part of [0, 0.5, 1]) {
    const at = y(part * top * data.nodes);
    svg.append(shape("line", { x1: left, x2: width - 10, y1: at, y2: at, stroke: "currentColor", opacity: 0.2 }));
    svg.append(shape("text", { x: left - 6, y: at + 4, "text-anchor": "end", "font-size": 12, fill: "currentColor" }, `${(100 * part * top).toFixed(0)} %`));
  }
  const bound = y(distinct.bound);
  svg.append(shape("line", { x1: left, x2: width - 10, y1: bound, y2: bound, stroke: "#4c78a8", "stroke-dasharray": "5 4", class: "bound" }));
  const beside = { x: width - 10, y: bound + (bound < 24 ? 14 : -5), "text-anchor": "end", "font-size": 12, fill: "currentColor" };
  svg.append(shape("text", beside, `no ${chosen.length} cover more than ${percent(distinct.bound).toFixed(1)} %`));
  svg.append(shape("polyline", { points: points.map((p) => p.join(",")).join(" "), fill: "none", stroke: "#4c78a8", "stroke-width": 2 }));
  chosen.forEach((motif, i) => {
    const dot = shape("circle", { cx: points[i + 1][0], cy: points[i + 1][1], r: 4, fill: "#4c78a8", cursor: "pointer" });
    dot.append(shape("title", {}, `#${motif.id} ${motif.key}: ${percent(motif.choice[2]).toFixed(1)} %`));
    dot.addEventListener("click", () => go(motif.id));
    svg.append(dot);
  });
  svg.append(shape("text", { x: left, y: height - 5, "font-size": 12, fill: "currentColor" }, `nodes covered by the first 1 to ${chosen.length} motifs`));
  find("curve").append(svg);
}

function fill(id, counts, label) {
  for (const [name, count] of counts) find(id).append(element("option", { value: name, textContent: `${label(name)} (${count})` }));
  if (id !== "type" && counts.length < 2) find(id).parentElement.hidden = true;
}

function tally(values, compare) {
  const counts = new Map();
  for (const one of values) counts.set(one, (counts.get(one) ?? 0) + 1);
  return [...counts].sort(compare);
}

function begin() {
  for (const motif of motifs) {
    const where = motif.common.slice(0, 10).map(([graph]) => graphs[graph]);
    motif.search = [motif.key, `#${motif.id}`, ...where].join(" ").toLowerCase();
  }
  fill("type", tally(motifs.flatMap((motif) => motif.types), (a, b) => b[1] - a[1] || a[0] - b[0]), (type) => palette[type][0]);
  fill("nodes", tally(motifs.map((motif) => motif.nodes), (a, b) => a[0] - b[0]), (nodes) => nodes);
  find("all-label").hidden = !distinct || motifs.every((motif) => motif.choice);
  find("search").addEventListener("input", () => (update(), toTheTop()));
  for (const id of ["type", "nodes", "all"]) find(id).addEventListener("change", () => (update(), toTheTop()));
  find("sort").addEventListener("change", () => {
    descending = find("sort").value !== "id";
    update();
    toTheTop();
  });
  find("direction").addEventListener("click", () => {
    descending = !descending;
    update();
    toTheTop();
  });
  for (const [id, name] of [["as-list", "list"], ["as-cards", "cards"]]) {
    find(id).addEventListener("click", () => {
      view = name;
      update();
    });
  }
  find("clear").addEventListener("click", () => {
    for (const id of ["search", "type", "nodes"]) find(id).value = "";
    update();
    find("search").focus();
  });
  document.querySelector(".toolbar").addEventListener("submit", (event) => event.preventDefault());
  find("previous").addEventListener("click", () => turn(-1));
  find("next").addEventListener("click", () => turn(1));
  find("close").addEventListener("click", close);
  window.addEventListener("popstate", follow);
  window.addEventListener("hashchange", follow);
  window.addEventListener("scroll", draw, { passive: true });
  window.addEventListener("resize", () => (curve(), arrange()));
  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const typing = ["INPUT", "SELECT", "TEXTAREA"].includes(document.activeElement?.tagName);
    const open = !find("detail").hidden;
    if (open && event.key === "Escape") close();
    else if (open && !typing && event.key === "ArrowRight") turn(1);
    else if (open && !typing && event.key === "ArrowLeft") turn(-1);
    else if (!typing && event.key === "/") {
      event.preventDefault();
      find("search").focus();
    }
  });
  curve();
  heads();
  update();
  follow();
}

if (motifs.length) begin();
