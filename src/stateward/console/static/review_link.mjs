// The dialog that makes an approver link: its address is shown once; those that were made can be revoked.
const { csrf, AWAY } = window.stateward;

export async function makeLink({ id, onMade }) {
  const path = `/reviews/${encodeURIComponent(id)}/links`;
  const dialog = document.getElementById("dialog");
  document.getElementById("dialog-body").replaceChildren(document.getElementById("make-link").content.cloneNode(true));
  dialog.showModal();
  const form = dialog.querySelector("form");
  const say = (text) => {
    const line = form.querySelector("#link-message");
    line.textContent = text;
    line.hidden = !text;
  };
  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    const answer = await ask("POST", path, { person: form.person.value.trim(), hours: Number(form.hours.value) });
    say(answer.ok ? "" : answer.message);
    if (!answer.ok) return;
    onMade(id); // the claim ended with it: it is left to the person whom the link is for
    form.querySelector("#link-made").hidden = false;
    form.querySelector("#link-url").value = answer.told.url;
    form.querySelector("#link-copy").dataset.copy = answer.told.url;
    form.querySelector("#link-url").select();
    await list();
  });
  form.addEventListener("click", async (event) => {
    const button = event.target.closest("[data-revoke]");
    if (!button) return;
    const answer = await ask("DELETE", `${path}/${encodeURIComponent(button.dataset.revoke)}`);
    say(answer.ok ? "" : answer.message);
    await list();
  });
  async function list() {
    const answer = await ask("GET", path);
    form.querySelector("#links").replaceChildren(...(answer.told.items || []).map(row));
  }
  await list();
}

function row({ id, person, state, expires_at: until }) {
  const line = document.createElement("li");
  const isLive = state === "unopened" || state === "opened";
  line.textContent = `${person}: ${state}${isLive ? `, until ${new Date(until).toLocaleString()}` : ""} `;
  if (!isLive) return line;
  const button = document.createElement("button");
  button.type = "button";
  button.dataset.revoke = id;
  button.textContent = "Revoke";
  button.setAttribute("aria-label", `Revoke the link for ${person}`);
  line.append(button);
  return line;
}

async function ask(method, path, body) {
  try {
    const answer = await fetch(path, {
      method,
      headers: { "X-CSRF-Token": csrf, ...(body ? { "Content-Type": "application/json" } : {}) },
      body: body ? JSON.stringify(body) : undefined,
    });
    const told = await answer.json().catch(() => ({}));
    return { ok: answer.ok, told, message: told.detail || "It was refused." };
  } catch {
    return { ok: false, told: {}, message: AWAY };
  }
}
