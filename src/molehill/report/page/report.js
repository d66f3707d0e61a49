// Draws the figures over their pictures, and lets the reader choose the schemes in figures and tables.
const specifications = JSON.parse(document.getElementById("specifications").textContent);
const dark = window.matchMedia("(prefers-color-scheme: dark)").matches;
const views = [];
const choices = specifications.two?.usermeta;

function choose() {
  const boxes = [...document.querySelectorAll("#schemes input")];
  for (const box of boxes) {
    document.body.classList.toggle(`without-${box.value}`, !box.checked);
  }
  const shown = boxes.filter((box) => box.checked).map((box) => box.dataset.label);
  document.getElementById("chosen").textContent = `${shown.length} of ${boxes.length} shown`;
  for (const view of views) {
    view.signal("shown", shown).runAsync();
  }
}

// What scrolls sideways must be reachable without a mouse.
function reach() {
  for (const box of document.querySelectorAll(".scroll")) {
    box.tabIndex = box.scrollWidth > box.clientWidth ? 0 : -1;
  }
}

// The folder in which the page lies has its name outside of it: without a script the line is left to be filled in.
const folder = document.getElementById("folder");
const [name, within] = location.pathname.split("/").slice(-3);
if (folder !== null && within === "internal") {
  try {
    folder.textContent = decodeURIComponent(name);
  } catch {
    folder.textContent = name;
  }
}

// Sorts the rows of a table by the column of a heading, and again the other way round; what has no value stays last.
function sort(table, headings, place) {
  const heading = headings[place];
  const sign = heading.getAttribute("aria-sort") === "ascending" ? -1 : 1;
  headings.forEach((one) => one.removeAttribute("aria-sort"));
  heading.setAttribute("aria-sort", sign > 0 ? "ascending" : "descending");
  const body = table.tBodies[0];
  const compare = (one, other) => {
    if (place === 0) {
      return sign * one.cells[0].textContent.localeCompare(other.cells[0].textContent);
    }
    const [here, there] = [one, other].map((row) => Number.parseFloat(row.cells[place].dataset.value));
    if (Number.isNaN(here) || Number.isNaN(there)) {
      return Number.isNaN(here) - Number.isNaN(there);
    }
    return sign * (here - there);
  };
  body.append(...[...body.rows].sort(compare));
}

for (const table of document.querySelectorAll("table.sortable")) {
  const headings = [...table.tHead.rows[0].cells];
  headings.forEach((heading, place) => {
    heading.querySelector("button").addEventListener("click", () => sort(table, headings, place));
  });
}

// Draws a figure; what may choose among schemes is told of every choice.
async function draw(figure, specification) {
  const options = {actions: false, renderer: "svg", ast: true, tooltip: {theme: dark ? "dark" : "light"}, logLevel: 1};
  const {view} = await window.vegaEmbed(figure.querySelector(".live"), specification, options);
  figure.classList.add("drawn");
  if ((specification.params ?? []).some((parameter) => parameter.name === "shown")) {
    views.push(view);
  }
  return view;
}

// The map of any two measures: what `measure_map` makes of two figures, made of two others and of the schemes shown.
function map(across, up, shown) {
  const {labels, own, line: told, corners, bars} = choices;
  const specification = structuredClone(specifications.two);
  const [points, lines, left] = [[], [], []];
  const ends = {x: extent(across, shown), y: extent(up, shown)};
  labels.forEach((scheme, place) => {
    const [right, above] = [across.values[place], up.values[place]];
    if (right && above) {
      const [[value, low, high], [height, bottom, top]] = [right, above];
      points.push({scheme, across: value, left: low, right: high, up: height, bottom, top});
    } else if (scheme === own && right) {
      lines.push({scheme, label: told, across: right[0], far: right[0] > (ends.x[0] + ends.x[1]) / 2});
    } else if (scheme === own && above) {
      lines.push({scheme, label: told, up: above[0]});
    } else {
      left.push(scheme);
    }
  });
  specification.datasets = {points, lines};
  specification.params.find((parameter) => parameter.name === "shown").value = shown;
  for (const {encoding} of specification.layer) {
    for (const [channel, figure] of [["x", across], ["y", up]]) {
      if (encoding[channel]?.axis) {
        encoding[channel].axis.title = figure.title;
        encoding[channel].scale.domain = ends[channel];
      }
    }
    for (const field of encoding.tooltip ?? []) {
      field.title = {across: across.name, up: up.name}[field.field] ?? field.title;
    }
  }
  specification.title.subtitle = [`${corners[up.better][across.better]} ${bars}`];
  const said = points.map((row) => `${row.scheme}: ${row.up} against ${row.across}`);
  specification.description = `${up.name} against ${across.name}, by scheme. ${said.join("; ")}`;
  return {specification, left};
}

// Ends of an axis that shows a figure of these schemes: what remains when others are hidden is seen closer.
function extent(figure, shown) {
  const ends = figure.values.flatMap((one, place) => shown.includes(choices.labels[place]) ? one ?? [] : []);
  const numbers = ends.filter((end) => end !== null);
  if (numbers.length === 0) {
    return [0, 1];
  }
  const [low, high] = [Math.min(...numbers), Math.max(...numbers)];
  const margin = 0.1 * (high - low || Math.abs(high) || 1);
  return [low < 0 ? low - margin : Math.max(low - margin, 0), high + margin];
}

function tellLeft(left) {
  document.getElementById("left-out").textContent =
    left.length ? `Not on the map, as one of the two was not measured: ${left.join(", ")}.` : "";
}

function chooseMap() {
  const figures = ["across", "up"].map((axis) => choices.figures[document.getElementById(`choose-${axis}`).value]);
  const boxes = [...document.querySelectorAll("#schemes input")].filter((box) => box.checked);
  return map(...figures, boxes.map((box) => box.dataset.label));
}

let drawing = Promise.resolve();
let lastMap;
async function redraw() {
  const {specification, left} = chooseMap();
  views.splice(views.indexOf(lastMap), 1);
  lastMap.finalize();
  const figure = document.querySelector("figure[data-figure=two]");
  lastMap = await draw(figure, specification);
  figure.querySelector(".live").setAttribute("aria-label", specification.description);
  tellLeft(left);
  reach();
}

document.documentElement.classList.add("scripted");
for (const figure of document.querySelectorAll("figure[data-figure]")) {
  const view = await draw(figure, specifications[figure.dataset.figure]);
  lastMap = figure.dataset.figure === "two" ? view : lastMap;
}
document.getElementById("schemes").addEventListener("change", choose);
if (choices) {
  tellLeft(chooseMap().left);
  // One after the other, however fast the reader goes through them.
  const again = () => { drawing = drawing.then(redraw); };
  document.getElementById("schemes").addEventListener("change", again);
  document.getElementById("choices").addEventListener("change", () => {
    document.querySelector("figure[data-figure=two]").classList.add("chosen");
    again();
  });
}
window.addEventListener("resize", reach);
// What stands behind others is measured once it is seen, and is all on paper.
const behind = [...document.querySelectorAll("details")];
behind.forEach((one) => one.addEventListener("toggle", reach));
let closed = [];
window.addEventListener("beforeprint", () => {
  closed = behind.filter((one) => !one.open);
  closed.forEach((one) => { one.open = true; });
});
window.addEventListener("afterprint", () => closed.forEach((one) => { one.open = false; }));
choose();
reach();
document.documentElement.classList.add("ready");
