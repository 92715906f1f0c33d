// Records: picking rows, and views of one's own. A view is only an address: send it on.
"use strict";
document.addEventListener("DOMContentLoaded", () => {
  // Views are kept by the service, for each key; the form appears where its button was.
  const form = document.getElementById("view-form");
  document.getElementById("save-view")?.addEventListener("click", (event) => {
    event.currentTarget.hidden = true;
    form.hidden = false;
    form.querySelector("input[name=name]").focus();
  });
  form?.addEventListener("htmx:afterRequest", (event) => { if (event.detail.successful && event.target === form) form.hidden = true; });

  // A record that is opened leads on to those around it, as they stood here.
  document.addEventListener("click", (event) => {
    if (!(event.target instanceof Element && event.target.closest("#records a.doc"))) return;
    const ids = [...document.querySelectorAll("#records [data-record]")].map((row) => row.dataset.record);
    const q = document.getElementById("views").dataset.q;
    try { sessionStorage.setItem("stateward.list", JSON.stringify({ ids, q, address: location.pathname + location.search })); } catch { /* no way on */ }
  });

  const picks = () => [...document.querySelectorAll("[data-pick]")];
  function count() {
    const picked = picks().filter((each) => each.checked).map((each) => each.dataset.pick);
    const ids = document.getElementById("picked-ids");
    if (!ids) return;
    ids.value = picked.join(",");
    document.getElementById("picked").textContent = picked.length ? `${picked.length} picked` : "";
  }
  document.addEventListener("change", (event) => {
    if (event.target.id !== "pick-all") return;
    picks().forEach((each) => { each.checked = event.target.checked; });
    count();
  });
  document.addEventListener("change", (event) => { if (event.target.matches("[data-pick]")) count(); });
  document.addEventListener("click", (event) => {
    if (event.target instanceof Element && event.target.closest("[data-reload]")) location.reload();
  });
});
