// The page of flagged results: the document beside its rows; a row that is pointed at shows its place.
import { open, point } from "./viewer.mjs";

const viewer = document.querySelector("[data-viewer]");
const rows = [...document.querySelectorAll("#checked tr[data-field]")];

function show(row) {
  rows.forEach((each) => each.classList.toggle("on", each === row));
  if (viewer?.dataset.ready === "yes") point(viewer, row.dataset.field);
}

rows.forEach((row) => {
  row.addEventListener("mouseenter", () => show(row));
  row.addEventListener("click", () => show(row));
});
if (viewer) open(viewer);
