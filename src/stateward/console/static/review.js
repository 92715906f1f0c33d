// The review page: the document beside the form, decisions by keyboard, some seconds to undo one, then the next.
// A decision is stored by the service when it is pressed, and takes effect there: nothing is lost with this page.
import { makeLink } from "./review_link.mjs";
import { open, point as pointAt } from "./viewer.mjs";

const { base, csrf, listen, toast, tellAll, shortcut, labelKeys, AWAY, isAway, withTimes, signIn } = window.stateward;
const SETTLE_MS = 1_000;
const work = document.getElementById("work");
const isAllowed = work.dataset.may === "yes";
const isAlone = work.dataset.alone === "yes"; // opened by a link: there is this review and no other
const DRAFTS = `stateward.review.drafts.${document.querySelector(".user")?.textContent.trim()}`; // the next person has others
const undone = new Map(drafts()); // decisions that were undone or only begun, so that nothing typed is lost
const skipped = new Set(); // left to others or to later, as long as this page is open
const held = new Map(); // decisions that can still be undone, by record
let present = null; // what is looked at: { id, version }
// The review that was asked for last, until it is shown: no key decides about another one meanwhile.
const opening = () => work.dataset.opening || null;

const article = () => work.querySelector("article");
// Whether this person may decide it so: of another group, or of whom it was submitted by, the service refuses it.
const isOffered = (action) => Boolean(article()?.dataset.actions.split(" ").includes(action));
const tasks = () => [...document.querySelectorAll("[data-task]")];
const say = (text) => {
  const line = document.getElementById("message");
  if (!line) return;
  line.textContent = text;
  line.hidden = !text;
};

// What is typed and not sent outlives the page: a session may end meanwhile, or a key lead away from it.
function drafts() {
  try {
    const kept = JSON.parse(sessionStorage.getItem(DRAFTS)) || [];
    sessionStorage.removeItem(DRAFTS);
    return kept;
  } catch { return []; }
}
function keepDraft() {
  if (!present || article()?.dataset.open !== "yes") return;
  const draft = { version: present.version, corrected: corrected(), notes: document.getElementById("notes")?.value, reason_code: document.getElementById("reason-code")?.value };
  if (draft.notes || draft.reason_code || Object.keys(draft.corrected).length) undone.set(present.id, draft);
  else undone.delete(present.id);
}

// Looking

async function begin() {
  const shown = article();
  present = shown ? { id: shown.dataset.record, version: shown.dataset.version } : null;
  tasks().forEach((row) => row.classList.toggle("on", row.dataset.task === present?.id));
  if (!shown) return;
  tellAll(work);
  const viewer = shown.querySelector("[data-viewer]");
  if (viewer) open(viewer).then(() => point(null));
  const before = undone.get(present.id);
  const opinion = [...shown.querySelectorAll("[data-opinion]")].pop();
  if (before && String(before.version ?? present.version) === present.version) refill(before);
  else if (opinion && shown.dataset.open === "yes") refill({ corrected: JSON.parse(opinion.dataset.opinion) });
  if (isClaimed()) await (claiming = claim(present.id));
}

// To look at a review keeps others away from it, unless it is another person's turn.
const isClaimed = () => article()?.dataset.open === "yes" && article().dataset.turn === "yes" && isAllowed;

function refill({ corrected: values, notes: typed, reason_code: code }) {
  for (const [name, value] of Object.entries(values || {})) {
    const values = value === null ? [""] : [value].flat();
    [...work.querySelectorAll(".field input")].filter((each) => each.name === name).forEach((input, at) => {
      input.value = values[at] ?? "";
      if (value === null) setAbsent(input, true);
    });
  }
  const notes = document.getElementById("notes");
  if (notes) notes.value = typed || "";
  const codes = document.getElementById("reason-code");
  if (codes) codes.value = code || "";
  look();
}

// What keeps others away from it, or null: a decision waits for the answer, and is not made without a claim.
let claiming = Promise.resolve(null);
async function claim(id) {
  const answer = await post(`/reviews/${encodeURIComponent(id)}/claim`);
  if (present?.id !== id) return null;
  if (!answer.ok) say(answer.message);
  else if (document.getElementById("message")?.textContent === AWAY) say("");
  // Only a refusal ends it: a service that is away comes back, and what was typed can be sent then.
  if (answer.ok || !isAway(answer)) allow(answer.ok);
  if (!answer.ok) return null;
  work.dataset.claimed = id;
  return id;
}
function allow(isClaimed) {
  work.querySelectorAll("[data-decide]").forEach((button) => { button.disabled = !isClaimed || !isOffered(button.dataset.decide); });
  if (isClaimed) look();
}
setInterval(() => { if (!document.hidden && present && !skipped.has(present.id) && isClaimed()) claiming = claim(present.id); }, Number(work.dataset.renewMs));

async function go(id, { isBack = false } = {}) {
  const left = present?.id;
  const before = claiming;
  work.dataset.opening = id;
  const answer = await fetch(`${base}/review/${encodeURIComponent(id)}/work`, { headers: { "HX-Request": "true" } }).catch(() => ({ ok: false, status: 0 }));
  const text = answer.ok ? await answer.text().catch(() => null) : null;
  if (opening() !== id) return; // the person went on: answers may come in another order
  work.dataset.opening = "";
  if (answer.status === 401 && !isAlone) { signIn(); return; }
  if (text === null) { toast(answer.ok || isAway(answer) ? AWAY : "It is not there any more.", "bad"); return; }
  keepDraft();
  work.innerHTML = text;
  labelKeys();
  history.replaceState(null, "", `${base}/review/${encodeURIComponent(id)}`);
  // After its claim was answered: one that arrives later would keep others away from a review that no one looks at.
  if (left && left !== id && !held.has(left) && !isBack) before.then(() => post(`/reviews/${encodeURIComponent(left)}/release`));
  await begin();
  work.querySelector("h2")?.scrollIntoView({ block: "nearest" });
}

function others(step) {
  const here = opening() ?? present?.id;
  const open = tasks().filter((row) => !held.has(row.dataset.task) && (row.dataset.taken === "no" || row.dataset.task === here));
  const at = open.findIndex((row) => row.dataset.task === here);
  if (at < 0) return open[0];
  return open[at + step];
}
function move(step) {
  const row = others(step);
  if (row) go(row.dataset.task);
  else toast(step > 0 ? "This is the last one." : "This is the first one.");
}

// Not now: it is unclaimed, stays in the queue, and comes last on this page.
function skip() {
  if (!present || opening()) return;
  skipped.add(present.id);
  const rows = tasks().filter((row) => !held.has(row.dataset.task) && row.dataset.taken === "no" && !skipped.has(row.dataset.task));
  if (rows.length) go(rows[0].dataset.task);
  else { skipped.clear(); toast("All others were skipped or are claimed."); }
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
  const field = event.target.closest(".field, tr[data-field]");
  if (field) point(field.dataset.field);
});
work.addEventListener("focusout", (event) => { delete event.target.dataset.for; });
work.addEventListener("click", (event) => {
  const mark = event.target.closest(".mark, .spot");
  const row = event.target.closest("tr[data-field]");
  if (mark || row) point((mark ?? row).dataset.field);
  if (mark) work.querySelector(`.field[data-field="${CSS.escape(mark.dataset.field)}"] input`)?.focus();
  const button = event.target.closest("[data-decide]");
  if (button) decide(button.dataset.decide);
  if (event.target.closest("#skip")) skip();
  if (event.target.closest("#second-opinion")) askOpinion();
  if (event.target.closest("#link") && present) makeLink({ ...present, onMade: (id) => skipped.add(id) });
});

// Correcting
function corrected() {
  const values = {};
  const inputs = [...work.querySelectorAll(".field input")];
  for (const input of inputs.filter((each) => each.value.trim() !== each.dataset.found || isAbsent(each))) {
    const all = inputs.filter((each) => each.name === input.name).map((each) => each.value.trim()).filter(Boolean);
    values[input.name] = all.length === 0 ? null : all.length === 1 ? all[0] : all;
  }
  return values;
}
// A field that was not found may not be in the document at all, which is an answer as well.
const absentOf = (input) => input.closest(".field")?.querySelector("[data-absent]");
const isAbsent = (input) => absentOf(input)?.getAttribute("aria-pressed") === "true";
function setAbsent(input, isSo) {
  absentOf(input)?.setAttribute("aria-pressed", isSo);
  input.placeholder = isSo && absentOf(input) ? "not stated in the document" : "";
}
work.addEventListener("click", (event) => {
  const button = event.target.closest("[data-absent]");
  if (!button) return;
  const input = button.closest(".field").querySelector("input");
  setAbsent(input, !isAbsent(input));
  if (isAbsent(input)) input.value = "";
  look();
  say("");
});
// A value that was found for one field belongs to another: its field is left empty, or keeps what is typed there.
work.addEventListener("change", (event) => {
  const choice = event.target.closest("[data-move]");
  if (!choice || !choice.value) return;
  const own = choice.closest(".field").querySelector("input");
  const other = [...work.querySelectorAll(".field input")].find((each) => each.name === choice.value);
  if (other && own.value.trim()) {
    other.value = own.value.trim();
    own.value = "";
    own.dataset.movedTo = other.name;
    other.focus();
  }
  choice.value = "";
  look();
});
// Those whose value still stands where it was moved to.
function moved() {
  const inputs = [...work.querySelectorAll(".field input[data-moved-to]")];
  const still = inputs.filter((each) => !each.value.trim() && inputs.every((one) => one.name !== each.dataset.movedTo)
    && [...work.querySelectorAll(".field input")].some((one) => one.name === each.dataset.movedTo && one.value.trim() === each.dataset.found));
  return Object.fromEntries(still.map((each) => [each.name, each.dataset.movedTo]));
}
function look() {
  const isChanged = Object.keys(corrected()).length > 0;
  const button = document.getElementById("correct");
  if (button) button.disabled = !isChanged || !isOffered("correct");
  const approve = document.getElementById("approve");
  if (approve) approve.disabled = isChanged || !isOffered("approve");
}
work.addEventListener("input", (event) => {
  if (event.target.matches(".field input") && event.target.value) setAbsent(event.target, false);
  look();
  say("");
});

// Deciding
async function call(method, path, body, headers = {}, isLast = false) {
  try {
    const answer = await fetch(path, {
      method,
      keepalive: isLast,
      headers: { "X-CSRF-Token": csrf, ...(body ? { "Content-Type": "application/json" } : {}), ...headers },
      body: body ? JSON.stringify(body) : undefined,
    });
    if (answer.status === 401 && !isAlone) signIn();
    const told = await answer.json().catch(() => ({}));
    const further = (told.errors || []).filter((each) => !told.detail?.includes(each.sentence)).map((each) => `${each.field}: ${each.sentence}`);
    const message = [told.detail, ...further].filter(Boolean).join(" ");
    return { ok: answer.ok, status: answer.status, told, message: withTimes(message) || (isAway(answer) ? AWAY : "It was refused.") };
  } catch {
    return { ok: false, status: 0, told: {}, message: AWAY };
  }
}
const post = (path, body, headers, isLast) => call("POST", path, body, headers, isLast);
const decisionOf = (id) => `/reviews/${encodeURIComponent(id)}/decision`;

let isDeciding = false;
let attempt = null; // what was pressed last and not answered: pressed again, it has the same key
async function decide(action) {
  if (opening()) { toast("The next review is still loading: look at it, then decide.", "bad"); return; }
  if (isDeciding || !present || !isAllowed || article().dataset.open !== "yes") return;
  if (!isOffered(action)) return;
  const notes = document.getElementById("notes").value.trim();
  const code = document.getElementById("reason-code");
  const values = corrected();
  const isChanged = Object.keys(values).length > 0;
  if (action === "reject" && code && !code.value) { say("Choose the reason of the rejection."); code.focus(); return; }
  if (action === "reject" && !notes && !code) {
    say("Say in the notes why it is rejected, then press Ctrl and Enter.");
    document.getElementById("notes").focus();
    document.getElementById("notes").dataset.for = "reject"; // until they are left: a note alone rejects nothing
    return;
  }
  if (action === "correct" && !isChanged) { say("Change a field first: e leads to the least certain one."); return; }
  if (action === "approve" && isChanged) { say("Fields were changed: send them with Ctrl and Enter, or undo them."); return; }
  const { id, version } = present;
  const name = work.querySelector("h2").textContent;
  const body = { action, ...(action === "correct" ? { corrected: values } : {}), ...(notes ? { notes } : {}), ...(code?.value ? { reason_code: code.value } : {}) };
  if (action === "correct" && Object.keys(moved()).length) body.moved = moved();
  const what = JSON.stringify([id, version, body]);
  if (attempt?.what !== what) attempt = { what, key: crypto.randomUUID() };
  isDeciding = true;
  say("");
  if ((await claiming) !== id) claiming = claim(id); // also when the service was away as it was asked last
  if ((await claiming) !== id) { isDeciding = false; return; } // the page says already who has it
  const answer = await call("PUT", decisionOf(id), body, { "If-Match": `"${version}"`, "Idempotency-Key": attempt.key });
  isDeciding = false;
  const isLeft = opening() || present?.id !== id; // the person went on before the answer came
  if (!answer.ok && isLeft) { undone.set(id, { corrected: values, notes, reason_code: code?.value }); toast(`${name}: ${answer.message}`, "bad", 30_000); return; }
  if (!answer.ok) { say(answer.message); return; } // the form is still open, with all that was typed
  attempt = null;
  undone.delete(id);
  if (!isLeft) article().dataset.open = "no"; // what was typed is sent: no draft any more
  if (answer.told.pending) hold(id, name, answer.told.pending);
  else toast(`${name} is ${WORDS[action] || "decided"}.`);
  document.dispatchEvent(new CustomEvent("stateward:refresh"));
  if (isLeft) return;
  const row = others(1) || others(-1) || tasks().find((each) => !held.has(each.dataset.task) && each.dataset.taken === "no" && each.dataset.task !== id);
  if (row && !held.has(row.dataset.task) && row.dataset.task !== id) go(row.dataset.task);
  else if (present?.id === id) {
    const message = isAlone ? "Your decision is stored. You can close this page." : "No other review is pending.";
    work.innerHTML = `<section class="panel"><p class="empty" id="nothing">${message}</p></section>`;
    present = null;
    if (!isAlone) history.replaceState(null, "", `${base}/review`);
  }
}

// A second opinion: the values that were changed go along, and the next review is shown.
function askOpinion() {
  if (!present) return;
  const { id, version } = present;
  const dialog = document.getElementById("dialog");
  document.getElementById("dialog-body").replaceChildren(document.getElementById("ask-opinion").content.cloneNode(true));
  dialog.showModal();
  dialog.querySelector("form").addEventListener("submit", async (event) => {
    event.preventDefault();
    const form = event.target;
    const body = { to: form.to.value.trim(), is_blind: form.is_blind.checked, corrected: corrected() };
    if (form.notes.value.trim()) body.notes = form.notes.value.trim();
    const answer = await post(`/reviews/${encodeURIComponent(id)}/opinion`, body, { "If-Match": `"${version}"` });
    const line = form.querySelector("#opinion-message");
    line.hidden = answer.ok;
    line.textContent = answer.ok ? "" : answer.message;
    if (!answer.ok) return;
    dialog.close();
    toast(`${body.to} decides it.`);
    document.dispatchEvent(new CustomEvent("stateward:refresh"));
    skip();
  });
}

const WORDS = { approve: "approved", correct: "corrected", reject: "rejected" };
function hold(id, name, pending) {
  if (held.has(id)) return;
  const line = document.createElement("p");
  line.className = "toast";
  line.dataset.held = id;
  const text = document.createElement("span");
  const button = document.createElement("button");
  button.type = "button";
  button.textContent = "Undo (u)";
  button.addEventListener("click", () => undo(id));
  line.append(text, button);
  document.getElementById("toasts").append(line);
  // The service counts by its own clock; this one only shows about how long is left.
  const until = Date.now() + Math.max(0, Date.parse(pending.effective_at) - Date.parse(pending.at));
  const tell = () => {
    const left = Math.max(0, Math.ceil((until - Date.now()) / 1000));
    text.textContent = `${name}: ${WORDS[pending.action] || pending.action}${left ? `, takes effect in ${left} s` : ""}`;
    if (left === 0) settle(id);
  };
  held.set(id, { name, line, action: pending.action, ticking: setInterval(tell, SETTLE_MS) });
  tell();
}
function drop(id) {
  const decision = held.get(id);
  if (!decision) return null;
  clearInterval(decision.ticking);
  decision.line.remove();
  held.delete(id);
  return decision;
}
// When the time is over, the service says the outcome.
async function settle(id) {
  const answer = await call("GET", `/reviews/${encodeURIComponent(id)}`);
  if (!held.has(id) || isAway(answer) || (answer.ok && answer.told.pending)) return; // asked again with the next tick
  const { name, action } = drop(id);
  document.dispatchEvent(new CustomEvent("stateward:refresh"));
  if (answer.status === 410) { toast(answer.message, "", 30_000); return; } // by a link, which ends with the decision
  // Of many that follow one another only the last is told: their lines would cover what is looked at.
  if (answer.ok && answer.told.decision) { if (!held.size) toast(`${name} is ${WORDS[action] || "decided"}.`); return; }
  const approvals = answer.ok ? answer.told.approvals : [];
  if (approvals.some((each) => each.is_mine)) {
    toast(`${name} is ${WORDS[action] || "decided"}: ${approvals.length} of ${answer.told.approvals_needed} approvals.`);
    return;
  }
  toast(`${name}: the decision could not take effect; look at it again.`, "bad", 30_000);
}
async function undo(id = [...held.keys()].pop()) {
  if (!id || !held.has(id)) return;
  const answer = await call("DELETE", decisionOf(id));
  if (isAway(answer)) { toast(answer.message, "bad"); return; }
  drop(id);
  document.dispatchEvent(new CustomEvent("stateward:refresh"));
  if (!answer.ok) { toast(answer.message, "bad"); return; }
  undone.set(id, answer.told);
  toast("Undone.");
  go(id, { isBack: true });
}
// What was decided before the page was loaded can be undone as well.
function resume() {
  tasks().filter((row) => row.dataset.pending && !row.dataset.batch).forEach((row) => {
    hold(row.dataset.task, row.querySelector(".doc").textContent, { action: row.dataset.pending, at: new Date().toISOString(), effective_at: row.dataset.effective });
  });
}
addEventListener("pagehide", () => {
  keepDraft();
  try { if (undone.size) sessionStorage.setItem(DRAFTS, JSON.stringify([...undone])); } catch { /* denied: it is lost */ }
  if (present && article()?.dataset.open === "yes" && isAllowed) post(`/reviews/${encodeURIComponent(present.id)}/release`, null, {}, true);
});

// Keys
document.addEventListener("keydown", (event) => {
  if (document.getElementById("dialog").open) return; // its forms have their own keys: Enter sends them
  const isTyping = event.target.matches("input, textarea, select");
  if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) { event.preventDefault(); decide(event.target.dataset.for ?? "correct"); return; }
  if (isTyping && event.key === "Escape") { event.target.blur(); point(null); return; }
  if (isTyping && event.key === "Enter") {
    event.preventDefault();
    const inputs = [...work.querySelectorAll(".field input")];
    inputs[inputs.indexOf(event.target) + 1]?.focus();
    return;
  }
  if (isTyping || event.ctrlKey || event.metaKey || event.altKey) return;
  const act = { j: () => move(1), k: () => move(-1), a: () => decide("approve"), r: () => decide("reject"), u: () => undo(), e: edit, s: skip }[shortcut(event.key)];
  if (act) { event.preventDefault(); act(); }
});
function edit() {
  if (opening()) return;
  const fields = [...work.querySelectorAll(".field")];
  const sure = (field) => (field.querySelector(".note.bad") ? -1 : parseInt(field.querySelector(".sure").textContent, 10) || 0);
  const [first] = fields.sort((one, other) => sure(one) - sure(other));
  first?.querySelector("input").focus();
  first?.querySelector("input").select();
}
document.addEventListener("click", (event) => {
  const link = event.target instanceof Element && event.target.closest("[data-task] a.doc");
  if (!link || event.ctrlKey || event.metaKey || event.shiftKey) return;
  event.preventDefault();
  go(link.closest("[data-task]").dataset.task);
});
document.addEventListener("stateward:refreshed", () => tasks().forEach((row) => {
  row.classList.toggle("on", row.dataset.task === present?.id);
}));
resume();
begin();
listen({ looks: "jkes", decides: "aru" });
