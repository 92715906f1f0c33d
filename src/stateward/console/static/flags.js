// Flagged results: the row that is looked at shows its place; keys decide, and lead through the queue.
import { open, point } from "./viewer.mjs";

const { listen, shortcut, toast } = window.stateward;
const viewer = document.querySelector("[data-viewer]");
const rows = [...document.querySelectorAll("#checked tr[data-field]")];
const reason = document.getElementById("reason");

function show(row) {
  rows.forEach((each) => each.classList.toggle("on", each === row));
  if (viewer?.dataset.ready === "yes") point(viewer, row.dataset.field);
}

rows.forEach((row) => {
  row.addEventListener("mouseenter", () => show(row));
  row.addEventListener("click", () => show(row));
  row.addEventListener("focusin", () => show(row));
});
if (viewer) open(viewer);

// Keys
function move(step) {
  const all = [...document.querySelectorAll("#flagged tbody tr")];
  const at = all.findIndex((row) => row.classList.contains("on"));
  const row = at < 0 ? all[0] : all[at + step];
  if (row) location.assign(row.querySelector("a").href);
  else toast(step > 0 ? "This is the last one." : "This is the first one.");
}
// A decision that was made is changed by hand alone: its form is closed.
function press(id) {
  const button = document.getElementById(id);
  if (button?.checkVisibility()) button.click();
}
function reject() {
  if (reason?.checkVisibility() && !reason.value.trim()) reason.focus();
  else press("reject");
}
document.addEventListener("keydown", (event) => {
  if (event.key === "Enter" && event.target === reason) {
    event.preventDefault(); // by itself it would press the first button, which confirms
    if (event.ctrlKey || event.metaKey) press("reject");
    return;
  }
  if (event.target.matches("input, textarea, select")) { if (event.key === "Escape") event.target.blur(); return; }
  if (event.ctrlKey || event.metaKey || event.altKey || document.getElementById("dialog").open) return;
  const act = { j: () => move(1), k: () => move(-1), a: () => press("confirm"), e: () => press("correct-it"), r: reject }[shortcut(event.key)];
  if (act) { event.preventDefault(); act(); }
});
listen({ looks: "jke", decides: "ar" });
