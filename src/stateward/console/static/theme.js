// Before anything is painted: sets the theme, what the reader chose or else what the system says; and keeps what is pressed
// on a page whose other scripts are not loaded yet.
"use strict";
(() => {
  const system = matchMedia("(prefers-color-scheme: dark)");
  const chosen = () => {
    try { return localStorage.getItem("stateward.theme") || "auto"; } catch { return "auto"; }
  };
  const apply = () => {
    const name = chosen();
    const isDark = name === "dark" || (name === "auto" && system.matches);
    document.documentElement.dataset.theme = isDark ? "dark" : "light";
    document.querySelectorAll("[data-theme-name]").forEach((each) => { each.textContent = name; });
    document.dispatchEvent(new CustomEvent("stateward:theme"));
  };
  system.addEventListener("change", apply);
  document.addEventListener("DOMContentLoaded", () => {
    apply();
    document.getElementById("theme")?.addEventListener("click", () => {
      const order = ["auto", "light", "dark"];
      const next = order[(order.indexOf(chosen()) + 1) % order.length];
      try { localStorage.setItem("stateward.theme", next); } catch { /* private windows forget */ }
      apply();
    });
  });
  apply();

  const KEPT_MAX = 20;
  window.statewardEarlyKeys = [];
  const keep = (event) => {
    const isOurs = event.key.length === 1 && !event.ctrlKey && !event.metaKey && !event.altKey && !event.target.matches?.("input, textarea, select");
    if (isOurs && window.statewardEarlyKeys.length < KEPT_MAX) window.statewardEarlyKeys.push(event.key);
  };
  document.addEventListener("keydown", keep);
  document.addEventListener("stateward:ready", () => document.removeEventListener("keydown", keep));
})();
