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

  const picks = () => [...document.querySelectorAll("[data-pick]")];
  function count() {
    const picked = picks().filter((each) => each.checked).map((each) => each.dataset.pick);
    const ids = document.getElementById("picked-ids");
    if (!ids) return;
    ids.value = picked.join(",");
    document.getElementById("picked").textContent = picked.length ? `${picked.length} picked` : "";
  }
  document.getElementById("pick-all")?.addEventListener("change", (event) => {
    picks().forEach((each) => { each.checked = event.target.checked; });
    count();
  });
  picks().forEach((each) => each.addEventListener("change", count));
  document.addEventListener("click", (event) => {
    if (event.target instanceof Element && event.target.closest("[data-reload]")) location.reload();
  });
});
