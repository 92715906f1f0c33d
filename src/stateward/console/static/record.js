// A record: its document beside the results, each row with its place; items anew when its status changes.
import { mark, open, point } from "./viewer.mjs";

const { base, listen, toast, shortcut, keyOf } = window.stateward;
const body = document.getElementById("document-body");
const items = document.getElementById("items");
const status = () => document.getElementById("status")?.dataset.status;
const viewer = () => body.querySelector("[data-viewer]");
const links = () => [...items.querySelectorAll("[data-place]")];
let last = status();
let wanted = null; // a place in another file, until that is open
let isAsked = false;
let extra = []; // marks that no row has: the place that a link from elsewhere leads to

// A graph that is larger than its place is scrolled to where the record is.
function showPresent() {
  const drawing = document.querySelector(".drawing");
  const present = drawing?.querySelector(".sw-present");
  if (!present) return;
  const [own, box] = [drawing.getBoundingClientRect(), present.getBoundingClientRect()];
  drawing.scrollLeft += box.left + box.width / 2 - own.left - own.width / 2;
  drawing.scrollTop += box.top + box.height / 2 - own.top - own.height / 2;
}
showPresent();

document.addEventListener("stateward:refreshed", () => {
  if (status() === last) return;
  last = status();
  htmx.trigger(items, "stale");
  showPresent();
});

const place = (link) => JSON.parse(link.dataset.place);
const isHere = (each) => (each.file ?? "") === (viewer()?.dataset.file ?? "");

function markRows() {
  const shown = viewer();
  if (shown?.dataset.ready !== "yes") return;
  const rows = links().map((link) => ({ ...place(link), field: link.dataset.mark }));
  mark(shown, [...extra, ...rows].filter(isHere));
  if (wanted) pointTo(...wanted);
  else if (isAsked) point(shown, "asked", extra[0]); // rows that came later have replaced all marks
}

function pointTo(field, where) {
  wanted = null;
  isAsked = field === "asked";
  items.querySelectorAll("tr.on").forEach((row) => row.classList.remove("on"));
  items.querySelector(`[data-mark="${CSS.escape(field)}"]`)?.closest("tr").classList.add("on");
  if (!point(viewer(), field, where) && viewer().querySelector("[data-cut]")) {
    toast("This place is after the part that is shown; save the document to see it.");
  }
}

function go(field, where) {
  if (isHere(where) && viewer()?.dataset.ready === "yes") { pointTo(field, where); return; }
  wanted = [field, where];
  if (isHere(where)) return; // it is being drawn
  const file = where.file ? `?file=${encodeURIComponent(where.file)}` : "";
  htmx.ajax("GET", `${body.getAttribute("hx-get")}${file}`, { target: body, swap: "innerHTML" });
}

async function begin() {
  const shown = viewer();
  if (!shown) return;
  await open(shown);
  if (shown === viewer()) markRows();
}
body.addEventListener("htmx:afterSettle", begin);
items.addEventListener("htmx:afterSettle", markRows);
begin();

items.addEventListener("click", (event) => {
  const link = event.target.closest("[data-place]") ?? event.target.closest("tr")?.querySelector("[data-place]");
  if (!link || !viewer() || (event.target.closest("a, button, summary") ?? link) !== link) return;
  event.preventDefault();
  go(link.dataset.mark, place(link));
});
body.addEventListener("click", (event) => {
  const field = event.target.closest(".mark, .spot")?.dataset.field;
  if (!field) return;
  pointTo(field, {});
  items.querySelector("tr.on")?.scrollIntoView({ block: "nearest" });
});

// A link from elsewhere leads to a place: #place={"page":2,"box":[…]}
const asked = /^#place=(.*)$/.exec(location.hash);
if (asked) {
  try {
    const where = JSON.parse(decodeURIComponent(asked[1]));
    extra = [{ ...where, field: "asked" }];
    go("asked", where);
  } catch { /* no place of ours */ }
}

// The list that it was opened from: those before and after it, without the way back.
function around() {
  let list = null;
  try { list = JSON.parse(sessionStorage.getItem("stateward.list")); } catch { /* opened by itself */ }
  const at = list?.ids.indexOf(document.getElementById("record").dataset.liveOf) ?? -1;
  return at < 0 ? null : { at, ...list };
}
const list = around();
if (list) {
  const nav = document.getElementById("in-list");
  const link = (text, href) => Object.assign(document.createElement("a"), { textContent: text, href });
  const parts = [link(list.q ? `Records: ${list.q}` : "Records", list.address), ` ${list.at + 1} of ${list.ids.length} on that page `];
  for (const [name, key, step] of [["previous", "k", -1], ["next", "j", 1]]) {
    const id = list.ids[list.at + step];
    if (id === undefined) continue;
    const hint = Object.assign(document.createElement("kbd"), { textContent: keyOf(key) });
    hint.dataset.key = key;
    const to = link(` ${name}`, `${base}/records/${encodeURIComponent(id)}`);
    to.prepend(hint);
    Object.assign(to.dataset, { shortcut: key, meaning: `${name} record of the list`, step: String(step) });
    parts.push(to);
  }
  nav.replaceChildren(...parts);
  nav.hidden = false;
}
document.addEventListener("keydown", (event) => {
  if (event.target.matches("input, textarea, select") || event.ctrlKey || event.metaKey || event.altKey || document.getElementById("dialog").open) return;
  const step = { j: 1, k: -1 }[shortcut(event.key)];
  document.querySelector(`#in-list [data-step="${step}"]`)?.click();
});
listen({ looks: "jk" });
