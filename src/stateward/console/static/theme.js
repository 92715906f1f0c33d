// Sets the theme before anything is painted: what the reader chose, else what the system says.
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
})();
