// Records: picking rows, views of one's own, and the way back. A view is only an address: send it on.
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

  // Cursors lead on and never back: this window remembers the pages that it came from.
  const TRAIL_KEY = "stateward.trail";
  const TRAIL_MAX = 200;
  const trail = () => { try { return JSON.parse(sessionStorage.getItem(TRAIL_KEY)) || []; } catch { return []; } };
  const keepTrail = (pages) => { try { sessionStorage.setItem(TRAIL_KEY, JSON.stringify(pages.slice(-TRAIL_MAX))); } catch { /* no way back */ } };
  const here = location.pathname + location.search;
  const came = trail().find((step) => step.to === here);
  const previous = document.getElementById("previous-page");
  if (previous && came) { previous.href = came.from; previous.hidden = false; }
  document.getElementById("next-page")?.addEventListener("click", (event) => {
    const to = new URL(event.currentTarget.href);
    keepTrail([...trail().filter((step) => step.to !== to.pathname + to.search), { from: here, to: to.pathname + to.search }]);
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
