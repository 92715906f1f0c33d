// What is looked at (pages of a PDF, a picture, text), and the marks on it: one set of rules for every pipeline.
// A mark is the `where` of an item, with `field`, which tells it from the others: a page and a box on it, a line or a
// row, or a range of characters. Boxes are in points on pages and in pixels on pictures, from the upper left corner.
import { show } from "./pdf.mjs";

const behaviour = matchMedia("(prefers-reduced-motion: reduce)").matches ? "auto" : "smooth";

// Draw it, once, and put the marks on it that came with it.
export async function open(viewer) {
  if (viewer.dataset.begun) return;
  viewer.dataset.begun = "yes";
  if (viewer.dataset.form === "pdf") await show(viewer);
  if (viewer.dataset.form === "image") await measure(viewer);
  mark(viewer, JSON.parse(viewer.dataset.marks || "[]"));
  viewer.dataset.ready = "yes";
}

async function measure(viewer) {
  const sheet = viewer.querySelector(".picture");
  const image = sheet.querySelector("img");
  try {
    await image.decode();
  } catch {
    const line = document.createElement("p");
    line.className = "problem";
    line.textContent = "This picture cannot be shown; save it to look at it.";
    viewer.replaceChildren(line);
    return;
  }
  sheet.dataset.width = String(image.naturalWidth);
  sheet.dataset.height = String(image.naturalHeight);
  sheet.style.maxWidth = `${image.naturalWidth}px`;
}

// Replace the marks that are on it.
export function mark(viewer, marks) {
  viewer.querySelectorAll(".mark").forEach((each) => each.remove());
  for (const each of marks.filter((one) => one.box)) {
    const sheet = viewer.querySelector(`.sheet[data-page="${each.page ?? 1}"]`);
    if (sheet?.dataset.width) sheet.append(box(sheet, each));
  }
  viewer.querySelectorAll("pre.text").forEach((pre) => {
    const own = marks.filter((each) => !each.box && (each.page ?? 1) === Number(pre.dataset.page ?? 1));
    spots(pre, own);
  });
}

function box(sheet, { field, box: [x0, y0, x1, y1] }) {
  const { width, height } = sheet.dataset;
  const element = document.createElement("div");
  element.className = "mark";
  element.dataset.field = field;
  element.style.left = `${(100 * x0) / width}%`;
  element.style.top = `${(100 * y0) / height}%`;
  element.style.width = `${(100 * (x1 - x0)) / width}%`;
  element.style.height = `${(100 * (y1 - y0)) / height}%`;
  return element;
}

// Of places that overlap, the first is marked, and stands for the others too: many values may come from one line.
function spots(pre, marks) {
  const text = pre.textContent;
  const where = finder(text);
  const ranges = marks
    .map((each) => ({ field: each.field, range: where(each) }))
    .filter((each) => each.range !== null)
    .sort((one, other) => one.range[0] - other.range[0] || other.range[1] - one.range[1]);
  const pieces = [];
  let at = 0;
  for (const { field, range: [start, end] } of ranges) {
    if (end <= start || end > text.length) continue;
    if (start < at) {
      pieces.at(-1).fields.push(field);
      continue;
    }
    const element = document.createElement("mark");
    element.className = "spot";
    element.dataset.field = field;
    element.fields = [field];
    element.textContent = text.slice(start, end);
    pieces.push(text.slice(at, start), element);
    at = end;
  }
  pre.replaceChildren(...pieces, text.slice(at));
}

// From a place to indexes of a string. Pipelines count characters, a string of JavaScript counts UTF-16 units; a row of
// CSV may have line ends inside quotes.
function finder(text) {
  let units = null;
  const unit = (at) => {
    if (!/[\ud800-\udbff]/.test(text)) return at;
    if (units === null) {
      units = [0];
      for (const character of text) units.push(units[units.length - 1] + character.length);
    }
    return units[at] ?? Infinity;
  };
  const known = {};
  const line = (kind, number) => {
    known[kind] ??= kind === "row" ? rows(text) : lines(text);
    return known[kind][number - 1] ?? null;
  };
  return (place) => {
    if (place.start !== undefined) return [unit(place.start), unit(place.end ?? place.start)];
    if (place.line !== undefined) return line("line", place.line);
    return place.row === undefined || place.sheet !== undefined ? null : line("row", place.row);
  };
}

function lines(text) {
  const found = [];
  let at = 0;
  for (const end of text.matchAll(/\r\n|\n|\r|$/g)) {
    if (end.index < at) continue;
    found.push([at, end.index]);
    at = end.index + Math.max(1, end[0].length);
  }
  return found;
}

function rows(text) {
  const found = [];
  let first = null;
  let isOpen = false;
  for (const [start, end] of lines(text)) {
    first ??= start;
    const quotes = text.slice(start, end).split('"').length - 1;
    isOpen = quotes % 2 === 1 ? !isOpen : isOpen;
    if (isOpen) continue;
    found.push([first, end]);
    first = null;
  }
  return isOpen ? lines(text) : found; // a quote that never ends is no quote
}

// Show one mark more than the others; whether it is there. A place with a page alone leads to the page.
export function point(viewer, field, place = {}) {
  viewer.querySelectorAll(".mark.on, .spot.on").forEach((each) => each.classList.remove("on"));
  if (field === null) return false;
  const marks = [...viewer.querySelectorAll(".mark, .spot")];
  const found = marks.filter((each) => each.dataset.field === field || each.fields?.includes(field));
  found.forEach((each) => each.classList.add("on"));
  const target = found[0] ?? (place.page && viewer.querySelector(`[data-page="${place.page}"]`));
  if (!target) return false;
  viewer.scrollIntoView({ block: "nearest", behavior: behaviour });
  const frame = viewer.getBoundingClientRect();
  const spot = target.getBoundingClientRect();
  const middle = found.length ? (frame.height - spot.height) / 2 : 8;
  viewer.scrollBy({ top: spot.top - frame.top - Math.max(0, middle), left: Math.min(0, spot.left - frame.left), behavior: behaviour });
  return true;
}
