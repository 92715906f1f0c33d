// One decision on several reviews: picked in the queue, checked, confirmed, and undone as one.
// What is confirmed is what was checked: the reviews with the versions that were seen, and nothing else.
const { base, csrf, toast, shortcut, AWAY, isAway } = window.stateward;
const SETTLE_MS = 1_000;
const PAST = { approve: "approved", reject: "rejected" };
const picked = new Map(); // record to the version that was seen when it was picked
const queue = document.getElementById("queue");
const dialog = document.getElementById("dialog");

const rows = () => [...queue.querySelectorAll("[data-task]")];
const boxes = () => [...queue.querySelectorAll("[data-pick-review]")];
const nameOf = (id) => rows().find((row) => row.dataset.task === id)?.querySelector(".doc")?.textContent || id;
const several = (n) => `${n} review${n === 1 ? "" : "s"}`;

// Picking. The queue is drawn again whenever something happens: what was picked stays picked.
function show() {
  const free = new Set(boxes().map((box) => box.dataset.pickReview));
  [...picked.keys()].filter((id) => !free.has(id)).forEach((id) => picked.delete(id));
  boxes().forEach((box) => { box.checked = picked.has(box.dataset.pickReview); });
  const all = document.getElementById("pick-all-reviews");
  if (all) all.checked = free.size > 0 && picked.size === free.size;
  const button = document.getElementById("decide-picked");
  if (!button) return;
  button.hidden = picked.size === 0;
  button.textContent = `Decide ${several(picked.size)}…`;
}
function pick(id, isOn) {
  const row = rows().find((each) => each.dataset.task === id);
  if (isOn && row) picked.set(id, Number(row.dataset.version));
  else picked.delete(id);
}
queue.addEventListener("change", (event) => {
  if (event.target.id === "pick-all-reviews") boxes().forEach((box) => pick(box.dataset.pickReview, event.target.checked));
  else if (event.target.dataset.pickReview) pick(event.target.dataset.pickReview, event.target.checked);
  else return;
  show();
});
document.addEventListener("stateward:refreshed", show);
document.addEventListener("keydown", (event) => {
  if (shortcut(event.key) !== "x" || event.ctrlKey || event.metaKey || event.altKey || dialog.open || event.target.matches("input, textarea, select")) return;
  // Keys may come faster than pages: what was asked for last is meant.
  const present = document.getElementById("work").dataset.opening || document.querySelector("#work article")?.dataset.record;
  if (!present || !boxes().some((box) => box.dataset.pickReview === present)) return;
  event.preventDefault();
  pick(present, !picked.has(present));
  show();
});

// Checking and confirming
async function call(method, path, body, key) {
  try {
    const answer = await fetch(path, {
      method,
      headers: { "X-CSRF-Token": csrf, ...(body ? { "Content-Type": "application/json" } : {}), ...(key ? { "Idempotency-Key": key } : {}) },
      body: body ? JSON.stringify(body) : undefined,
    });
    const told = await answer.json().catch(() => ({}));
    return { ok: answer.ok, status: answer.status, told, message: told.detail || (isAway(answer) ? AWAY : "It was refused.") };
  } catch {
    return { ok: false, status: 0, told: {}, message: AWAY };
  }
}
const line = (text, name = "p", kind = "") => {
  const made = document.createElement(name);
  made.textContent = text;
  made.className = kind;
  return made;
};
const result = (...parts) => document.getElementById("several-result")?.replaceChildren(...parts);

queue.addEventListener("click", (event) => {
  if (!event.target.closest("#decide-picked")) return;
  const form = document.getElementById("decide-several").content.cloneNode(true);
  form.querySelector("[data-count]").textContent = several(picked.size);
  document.getElementById("dialog-body").replaceChildren(form);
  dialog.showModal();
});
document.addEventListener("input", (event) => { if (event.target.closest("#several")) result(); });
document.addEventListener("submit", async (event) => {
  if (event.target.id !== "several") return;
  event.preventDefault();
  const form = new FormData(event.target);
  const notes = String(form.get("notes")).trim();
  const body = { action: form.get("action"), reviews: [...picked].map(([record_id, version]) => ({ record_id, version })), ...(notes ? { notes } : {}), ...(form.get("reason_code") ? { reason_code: form.get("reason_code") } : {}) };
  const answer = await call("POST", "/reviews/batches", { ...body, dry_run: true });
  if (!answer.ok) { result(line(answer.message, "p", "problem")); return; }
  const refused = answer.told.results.filter((each) => each.problem);
  const parts = [line(`${answer.told.applied} of ${several(body.reviews.length)} would be ${PAST[body.action]}.`)];
  if (refused.length) {
    const list = document.createElement("ul");
    list.append(...refused.map((each) => line(`${nameOf(each.record_id)}: ${each.detail}`, "li")));
    parts.push(list);
  }
  if (answer.told.applied) {
    const wanted = new Set(answer.told.results.filter((each) => !each.problem).map((each) => each.record_id));
    const frozen = { ...body, reviews: body.reviews.filter((each) => wanted.has(each.record_id)) };
    const key = crypto.randomUUID();
    const yes = line(`Yes, ${body.action} ${several(wanted.size)}`, "button", body.action === "reject" ? "danger" : "primary");
    yes.type = "button";
    yes.id = "several-yes";
    yes.addEventListener("click", () => confirm(frozen, key));
    parts.push(yes);
  }
  result(...parts);
});
async function confirm(frozen, key) {
  const answer = await call("POST", "/reviews/batches", frozen, key);
  // Without an answer the same can be sent again, and under the same key it counts once.
  if (isAway(answer)) { away(answer.message); return; }
  if (!answer.ok) { result(line(answer.message, "p", "problem")); return; }
  // The page may show one of them: it is loaded again, and finds what can be undone in the queue.
  location.assign(`${base}/review`);
}

function away(text) {
  const shown = document.querySelector("#several-result .problem") ?? line("", "p", "problem");
  shown.textContent = text;
  document.getElementById("several-result").append(shown);
}

// Undoing. The service counts by its own clock; the page only shows about how long is left.
function resume() {
  const batches = Map.groupBy(rows().filter((row) => row.dataset.batch), (row) => row.dataset.batch);
  for (const [id, held] of batches) hold(id, held[0].dataset.pending, held.length, Date.parse(held[0].dataset.effective));
}
function hold(id, action, count, until) {
  const shown = document.createElement("p");
  shown.className = "toast";
  shown.dataset.batch = id;
  const text = document.createElement("span");
  const button = line("Undo all", "button");
  button.type = "button";
  button.addEventListener("click", () => undo(id, shown));
  shown.append(text, button);
  document.getElementById("toasts").append(shown);
  const tell = () => {
    const left = Math.max(0, Math.ceil((until - Date.now()) / 1000));
    text.textContent = `${several(count)}: ${PAST[action] || action}${left ? `, takes effect in ${left} s` : ""}`;
    if (left === 0 || !shown.isConnected) { clearInterval(ticking); shown.remove(); document.dispatchEvent(new CustomEvent("stateward:refresh")); }
  };
  const ticking = setInterval(tell, SETTLE_MS);
  tell();
}
async function undo(id, shown) {
  const answer = await call("DELETE", `/reviews/batches/${encodeURIComponent(id)}`);
  if (isAway(answer)) { toast(answer.message, "bad"); return; }
  shown.remove();
  document.dispatchEvent(new CustomEvent("stateward:refresh"));
  toast(answer.ok ? `${several(answer.told.undone.length)}: undone.` : answer.message, answer.ok ? "" : "bad");
}
resume();
show();
