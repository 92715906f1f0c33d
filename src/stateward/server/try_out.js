// The page of the API: each operation can be tried out here. The key stays in this page and is stored nowhere.
"use strict";
const described = fetch("/openapi.json").then((answer) => answer.json());
const key = document.getElementById("key");
const made = (name, props = {}, ...inside) => {
  const element = Object.assign(document.createElement(name), props);
  element.append(...inside);
  return element;
};
function found(whole, id) {
  for (const [path, methods] of Object.entries(whole.paths))
    for (const [method, operation] of Object.entries(methods))
      if (operation.operationId === id) return { path, method: method.toUpperCase(), operation };
  return null;
}
async function build(place) {
  const whole = await described;
  const { path, method, operation } = found(whole, place.dataset.try);
  const form = made("form");
  for (const each of operation.parameters || []) {
    const input = made("input", { name: each.name, required: Boolean(each.required), placeholder: each.description || "" });
    input.dataset.in = each.in;
    form.append(made("label", {}, `${each.name} (${each.in})`, input));
  }
  const content = operation.requestBody?.content || {};
  let body = null;
  if (content["multipart/form-data"]) body = made("input", { type: "file", name: "file" });
  else if (content["application/json"]) body = made("textarea", { rows: 5, value: place.dataset.sample });
  if (body) form.append(made("label", {}, "body", body));
  const answer = made("pre", { hidden: true });
  form.append(made("button", { textContent: `Send ${method}` }), answer);
  form.addEventListener("submit", (event) => { event.preventDefault(); send(form, { path, method, body, answer }); });
  place.append(form);
}
async function send(form, { path, method, body, answer }) {
  const query = new URLSearchParams();
  const headers = key.value ? { Authorization: `Bearer ${key.value.trim()}` } : {};
  for (const input of form.querySelectorAll("[data-in]")) {
    if (!input.value) continue;
    if (input.dataset.in === "path") path = path.replace(`{${input.name}}`, encodeURIComponent(input.value));
    else if (input.dataset.in === "query") query.append(input.name, input.value);
    else headers[input.name] = input.value;
  }
  let sent;
  if (body?.type === "file") { sent = new FormData(); if (body.files[0]) sent.append("file", body.files[0]); }
  else if (body?.value.trim()) { sent = body.value; headers["Content-Type"] = "application/json"; }
  answer.hidden = false;
  try {
    const got = await fetch(`${path}${query.size ? `?${query}` : ""}`, { method, headers, body: sent });
    const text = await got.text();
    let shown = text;
    try { shown = JSON.stringify(JSON.parse(text), null, 2); } catch { /* no JSON: as it is */ }
    answer.textContent = `${got.status} ${got.statusText}\n${[...got.headers].map(([name, value]) => `${name}: ${value}`).join("\n")}\n\n${shown.slice(0, 100_000)}`;
  } catch (error) { answer.textContent = `no answer: ${error.message}`; }
}
// The variables of the examples: where this page is, the key that was typed, and the newest thing of each kind.
const shell = document.getElementById("shell");
const LISTS = { "/records?limit=1": ["RECORD_ID"], "/uploads?limit=1": ["UPLOAD_ID"], "/webhooks": ["WEBHOOK_ID"],
  "/batches?limit=1": ["BATCH_ID"] };
function put(name, value) {
  shell.textContent = shell.textContent.split("\n")
    .map((line) => line.startsWith(`export ${name}=`) ? `export ${name}=${value}` : line).join("\n");
}
async function fill() {
  put("STATEWARD_SERVER", location.origin);
  const typed = key.value.trim();
  if (/^[\w-]+$/.test(typed)) put("STATEWARD_KEY", typed);
  const headers = typed ? { Authorization: `Bearer ${typed}` } : {};
  for (const [path, names] of Object.entries(LISTS)) {
    const got = await fetch(path, { headers }).catch(() => null);
    const first = got?.ok ? (await got.json()).items?.[0] : null;
    const id = first && (first.id || first.upload_id);
    if (id && /^[\w-]+$/.test(id)) for (const name of names) put(name, id);
  }
}
key.addEventListener("change", fill);
fill();
for (const place of document.querySelectorAll("details[data-try]"))
  place.addEventListener("toggle", () => { if (place.open && place.childElementCount === 1) build(place); });
