// The correction screen: the document beside what is said about it, or its columns, each picked by a click into it.
import { open } from "./viewer.mjs";

const viewer = document.querySelector("[data-viewer]");
if (viewer) open(viewer);

document.querySelector("#raw tbody")?.addEventListener("click", (event) => {
  const cell = event.target.closest("td");
  const choice = cell && document.querySelectorAll("#raw thead select")[cell.cellIndex];
  choice?.focus();
  choice?.showPicker?.();
});
