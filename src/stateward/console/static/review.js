// The review page: the document beside the form, decisions by keyboard, ten seconds to take one back, then the next.
import { open, point as pointAt } from "./viewer.mjs";

const { base, csrf, toast, tellAll } = window.stateward;
const UNDO_MS = 10_000;
const RENEW_MS = 60_000;
const work = document.getElementById("work");
const isAllowed = work.dataset.may === "yes";
const refused = new Map(); // decisions that were refused, so that nothing typed is lost
const held = new Map(); // decisions that can still be taken back, by record
let present = null; // what is looked at: { id, version }

const article = () => work.querySelector("article");
const tasks = () => [...document.querySelectorAll("[data-task]")];
const say = (text) => {
  const line = document.getElementById("said");
  if (!line) return;
  line.textContent = text;
  line.hidden = !text;
};

// Looking

async function begin() {
  const shown = article();
  present = shown ? { id: shown.dataset.record, version: shown.dataset.version } : null;
  tasks().forEach((row) => row.classList.toggle("on", row.dataset.task === present?.id));
  if (!shown) return;
  tellAll(work);
  const viewer = shown.querySelector("[data-viewer]");
  if (viewer) open(viewer).then(() => point(null));
  const before = refused.get(present.id);
  if (before) refill(before);
  if (shown.dataset.open === "yes" && isAllowed) await claim();
}

function refill({ body, said }) {
  for (const [name, value] of Object.entries(body.corrected || {})) {
    const values = value === null ? [""] : [value].flat();
    [...work.querySelectorAll(".field input")].filter((each) => each.name === name).forEach((input, at) => { input.value = values[at] ?? ""; });
  }
  const notes = document.getElementById("notes");
  if (notes) notes.value = body.notes || "";
  look();
  say(said);
}

async function claim() {
  if (!present) return;
  const answer = await post(`/reviews/${encodeURIComponent(present.id)}/claim`);
  if (!answer.ok) {
    say(answer.said);
    work.querySelectorAll("[data-decide]").forEach((button) => { button.disabled = true; });
  } else {
    work.dataset.claimed = present.id;
  }
}
setInterval(() => { if (!document.hidden && article()?.dataset.open === "yes" && isAllowed) claim(); }, RENEW_MS);

async function go(id, { isBack = false } = {}) {
  const left = present?.id;
  const answer = await fetch(`${base}/review/${encodeURIComponent(id)}/work`, { headers: { "HX-Request": "true" } });
  if (!answer.ok) { toast("It is not there any more.", "bad"); return; }
  work.innerHTML = await answer.text();
  history.replaceState(null, "", `${base}/review/${encodeURIComponent(id)}`);
  if (left && left !== id && !held.has(left) && !isBack) post(`/reviews/${encodeURIComponent(left)}/release`);
  await begin();
  work.querySelector("h2")?.scrollIntoView({ block: "nearest" });
}

function others(step) {
  const open = tasks().filter((row) => !held.has(row.dataset.task) && (row.dataset.taken === "no" || row.dataset.task === present?.id));
  const at = open.findIndex((row) => row.dataset.task === present?.id);
  if (at < 0) return open[0];
  return open[at + step];
}
function move(step) {
  const row = others(step);
  if (row) go(row.dataset.task);
  else toast(step > 0 ? "This is the last one." : "This is the first one.");
}

// The place of a field on the page
function point(field) {
  work.querySelectorAll(".field.on, tr.on").forEach((each) => each.classList.remove("on"));
  const viewer = work.querySelector("[data-viewer]");
  if (viewer) pointAt(viewer, field);
  if (!field) return;
  const name = CSS.escape(field);
  work.querySelectorAll(`.field[data-field="${name}"], tr[data-field="${name}"]`).forEach((each) => each.classList.add("on"));
}
work.addEventListener("focusin", (event) => {
  const field = event.target.closest(".field");
  if (field) point(field.dataset.field);
});
work.addEventListener("click", (event) => {
  const mark = event.target.closest(".mark, .spot");
  const row = event.target.closest("tr[data-field]");
  if (mark || row) point((mark ?? row).dataset.field);
  if (mark) work.querySelector(`.field[data-field="${CSS.escape(mark.dataset.field)}"] input`)?.focus();
  const button = event.target.closest("[data-decide]");
  if (button) decide(button.dataset.decide);
});

// Correcting
function corrected() {
  const values = {};
  const inputs = [...work.querySelectorAll(".field input")];
  for (const input of inputs.filter((each) => each.value.trim() !== each.dataset.found)) {
    const all = inputs.filter((each) => each.name === input.name).map((each) => each.value.trim()).filter(Boolean);
    values[input.name] = all.length === 0 ? null : all.length === 1 ? all[0] : all;
  }
  return values;
}
function look() {
  const isChanged = Object.keys(corrected()).length > 0;
  const button = document.getElementById("correct");
  if (button) button.disabled = !isChanged;
  const approve = document.getElementById("approve");
  if (approve) approve.disabled = isChanged;
}
work.addEventListener("input", () => { look(); say(""); });

// Deciding
async function post(path, body, headers = {}, isLast = false) {
  try {
    const answer = await fetch(path, {
      method: "POST",
      keepalive: isLast,
      headers: { "X-CSRF-Token": csrf, ...(body ? { "Content-Type": "application/json" } : {}), ...headers },
      body: body ? JSON.stringify(body) : undefined,
    });
    const said = answer.ok ? "" : await answer.json().then((problem) => [problem.detail, ...(problem.errors || []).map((each) => `${each.field}: ${each.sentence}`)].filter(Boolean).join(" "), () => "");
    return { ok: answer.ok, status: answer.status, said: said || "It was refused." };
  } catch {
    return { ok: false, status: 0, said: "The service does not answer; try again." };
  }
}

function decide(action) {
  if (!present || !isAllowed || article().dataset.open !== "yes") return;
  if (!article().dataset.actions.split(" ").includes(action)) return;
  const notes = document.getElementById("notes").value.trim();
  const values = corrected();
  const isChanged = Object.keys(values).length > 0;
  if (action === "reject" && !notes) { say("Say in the notes why it is rejected."); document.getElementById("notes").focus(); return; }
  if (action === "correct" && !isChanged) { say("Change a field first: e leads to the least certain one."); return; }
  if (action === "approve" && isChanged) { say("Fields were changed: send them with Ctrl and Enter, or undo them."); return; }
  hold({ id: present.id, version: present.version, name: work.querySelector("h2").textContent, body: { action, ...(action === "correct" ? { corrected: values } : {}), ...(notes ? { notes } : {}) } });
  const row = others(1) || others(-1) || tasks().find((each) => !held.has(each.dataset.task) && each.dataset.taken === "no");
  if (row && !held.has(row.dataset.task)) go(row.dataset.task);
  else {
    work.innerHTML = '<section class="panel"><p class="empty" id="nothing">Nothing else waits for a decision.</p></section>';
    present = null;
    history.replaceState(null, "", `${base}/review`);
  }
}

const WORDS = { approve: "approved", correct: "corrected", reject: "rejected" };
function hold(decision) {
  const line = document.createElement("p");
  line.className = "toast";
  line.dataset.held = decision.id;
  const text = document.createElement("span");
  const undo = document.createElement("button");
  undo.type = "button";
  undo.textContent = "Take back (u)";
  undo.addEventListener("click", () => takeBack(decision.id));
  line.append(text, undo);
  document.getElementById("toasts").append(line);
  const until = Date.now() + UNDO_MS;
  const tell = () => { text.textContent = `${decision.name}: ${WORDS[decision.body.action] || decision.body.action} in ${Math.max(0, Math.ceil((until - Date.now()) / 1000))} s`; };
  tell();
  const ticking = setInterval(tell, 500);
  const timer = setTimeout(() => send(decision.id), UNDO_MS);
  held.set(decision.id, { ...decision, line, ticking, timer });
  document.querySelector(`[data-task="${CSS.escape(decision.id)}"]`)?.setAttribute("data-held", "yes");
}
function drop(id) {
  const decision = held.get(id);
  if (!decision) return null;
  clearTimeout(decision.timer);
  clearInterval(decision.ticking);
  decision.line.remove();
  held.delete(id);
  return decision;
}
async function send(id, isLast = false) {
  const decision = drop(id);
  if (!decision) return;
  const answer = await post(`/records/${encodeURIComponent(id)}/review`, decision.body, { "If-Match": `"${decision.version}"`, "Idempotency-Key": `review-${id}-${decision.version}-${decision.body.action}-${Date.now()}` }, isLast);
  if (isLast) return;
  document.dispatchEvent(new CustomEvent("stateward:refresh"));
  if (answer.ok) { refused.delete(id); toast(`${decision.name} is ${WORDS[decision.body.action] || "decided"}.`); return; }
  refused.set(id, { body: decision.body, said: answer.said });
  const line = toast(`${decision.name}: ${answer.said}`, "bad", 30_000);
  const link = document.createElement("a");
  link.href = `${base}/review/${encodeURIComponent(id)}`;
  link.textContent = "open it";
  link.addEventListener("click", (event) => { event.preventDefault(); line.remove(); go(id); });
  line.append(" ", link);
}
function takeBack(id = [...held.keys()].pop()) {
  const decision = id && drop(id);
  if (decision) { toast("Taken back."); go(decision.id, { isBack: true }); }
}
// Leaving the page is a decision: what is still held is sent at once.
addEventListener("pagehide", () => {
  for (const id of [...held.keys()]) send(id, true);
  if (present && article()?.dataset.open === "yes" && isAllowed) post(`/reviews/${encodeURIComponent(present.id)}/release`, null, {}, true);
});

// Keys
document.addEventListener("keydown", (event) => {
  const isTyping = event.target.matches("input, textarea, select");
  if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) { event.preventDefault(); decide(event.target.id === "notes" && !Object.keys(corrected()).length ? "reject" : "correct"); return; }
  if (isTyping && event.key === "Escape") { event.target.blur(); point(null); return; }
  if (isTyping && event.key === "Enter") {
    event.preventDefault();
    const inputs = [...work.querySelectorAll(".field input")];
    inputs[inputs.indexOf(event.target) + 1]?.focus();
    return;
  }
  if (isTyping || event.ctrlKey || event.metaKey || event.altKey || document.getElementById("dialog").open) return;
  const act = { j: () => move(1), k: () => move(-1), a: () => decide("approve"), r: () => decide("reject"), u: () => takeBack(), e: edit }[event.key];
  if (act) { event.preventDefault(); act(); }
});
function edit() {
  const fields = [...work.querySelectorAll(".field")];
  const sure = (field) => (field.querySelector(".note.bad") ? -1 : parseInt(field.querySelector(".sure").textContent, 10) || 0);
  const [first] = fields.sort((one, other) => sure(one) - sure(other));
  first?.querySelector("input").focus();
  first?.querySelector("input").select();
}
document.addEventListener("click", (event) => {
  const link = event.target instanceof Element && event.target.closest("[data-task] a");
  if (!link || event.ctrlKey || event.metaKey || event.shiftKey) return;
  event.preventDefault();
  go(link.closest("[data-task]").dataset.task);
});
document.addEventListener("stateward:refreshed", () => tasks().forEach((row) => {
  row.classList.toggle("on", row.dataset.task === present?.id);
}));
begin();
