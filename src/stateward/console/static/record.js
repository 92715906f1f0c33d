// A record: its items anew when its status changes, and its PDF, drawn by pdf.js when it is scrolled into view.
"use strict";
document.addEventListener("DOMContentLoaded", () => {
  const status = () => document.getElementById("status")?.dataset.status;
  let last = status();
  document.addEventListener("stateward:refreshed", () => {
    if (status() === last) return;
    last = status();
    htmx.trigger("#items", "stale");
  });

  const begin = async (element) => {
    if (element.dataset.begun) return;
    element.dataset.begun = "yes";
    const { show } = await import(`${document.body.dataset.static}/pdf.mjs`);
    await show(element);
  };
  const look = () => document.querySelectorAll("[data-pdf]").forEach(begin);
  document.addEventListener("htmx:afterSettle", look);
  look();

  // Where an item comes from: a box on a page, a line, or a range of characters.
  const still = matchMedia("(prefers-reduced-motion: reduce)").matches ? "auto" : "smooth";
  const toPage = (sheet, place) => {
    document.querySelectorAll(".mark.place").forEach((each) => each.remove());
    sheet.scrollIntoView({ block: "nearest", behavior: still });
    if (!place.box) return;
    const [x0, y0, x1, y1] = place.box;
    const { width, height } = sheet.dataset;
    const mark = document.createElement("div");
    mark.className = "mark on place";
    mark.style.left = `${(100 * x0) / width}%`;
    mark.style.top = `${(100 * y0) / height}%`;
    mark.style.width = `${(100 * (x1 - x0)) / width}%`;
    mark.style.height = `${(100 * (y1 - y0)) / height}%`;
    sheet.append(mark);
    mark.scrollIntoView({ block: "center", behavior: still });
  };
  const toText = (element, place) => {
    const text = element.textContent;
    let [start, end] = [place.start, place.end];
    const line = place.line ?? place.row;
    if (start === undefined && line !== undefined) {
      const lines = text.split("\n");
      if (line > lines.length) return;
      start = lines.slice(0, line - 1).reduce((sum, each) => sum + each.length + 1, 0);
      end = start + lines[line - 1].length;
    }
    if (start === undefined || end === undefined || end > text.length) return;
    const mark = document.createElement("mark");
    mark.className = "spot on";
    mark.textContent = text.slice(start, end);
    element.replaceChildren(text.slice(0, start), mark, text.slice(end));
    mark.scrollIntoView({ block: "center", behavior: still });
  };
  document.addEventListener("click", (event) => {
    const link = event.target.closest("[data-place]");
    if (!link) return;
    const place = JSON.parse(link.dataset.place);
    const sheet = document.querySelector(`.sheet[data-page="${place.page ?? 1}"]`);
    const text = document.getElementById("document-text");
    if (!sheet && !text) return;
    event.preventDefault();
    if (sheet) toPage(sheet, place);
    else toText(text, place);
  });
});
