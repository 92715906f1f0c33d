// Records: picking rows, and views of one's own, which stay in this browser. A view is only an address: send it on.
"use strict";
document.addEventListener("DOMContentLoaded", () => {
  const { base, toast } = window.stateward;
  const KEY = "stateward.views";
  const VIEWS_MAX = 50;
  const read = () => { try { return JSON.parse(localStorage.getItem(KEY)) || []; } catch { return []; } };
  const write = (views) => { try { localStorage.setItem(KEY, JSON.stringify(views.slice(0, VIEWS_MAX))); } catch { toast("This browser keeps nothing.", "bad"); } };
  const bar = document.getElementById("views");
  const own = document.getElementById("own-views");

  function show() {
    own.replaceChildren(...read().map(({ name, q }) => {
      const view = document.createElement("span");
      view.className = "view";
      const link = document.createElement("a");
      link.href = `${base}/records?q=${encodeURIComponent(q)}`;
      link.textContent = name;
      link.title = q;
      if (q === bar.dataset.q) link.setAttribute("aria-current", "true");
      const remove = document.createElement("button");
      remove.type = "button";
      remove.textContent = "×";
      remove.setAttribute("aria-label", `Forget the view ${name}`);
      remove.addEventListener("click", () => { write(read().filter((each) => each.name !== name)); show(); });
      view.append(link, remove);
      return view;
    }));
  }
  show();
  document.getElementById("save-view")?.addEventListener("click", (event) => {
    const form = document.createElement("form");
    form.className = "bar";
    const input = document.createElement("input");
    input.setAttribute("aria-label", "Name of the view");
    input.placeholder = "name";
    input.maxLength = 40;
    const save = document.createElement("button");
    save.textContent = "Save";
    form.append(input, save);
    event.currentTarget.replaceWith(form);
    input.focus();
    form.addEventListener("submit", (submitted) => {
      submitted.preventDefault();
      const name = input.value.trim();
      if (!name) return;
      write([...read().filter((each) => each.name !== name), { name, q: bar.dataset.q }]);
      form.remove();
      show();
    });
  });

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
