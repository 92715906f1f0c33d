// A record: its items anew when its status changes, and its PDF, drawn by pdf.js when it is scrolled into view.
"use strict";
document.addEventListener("DOMContentLoaded", () => {
  const status = () => document.getElementById("status")?.dataset.status;
  let last = status();
  document.addEventListener("stateward:refreshed", () => {
    if (status() === last) return;
    last = status();
    htmx.trigger("#items", "stale");
  });

  const begin = async (element) => {
    if (element.dataset.begun) return;
    element.dataset.begun = "yes";
    const { show } = await import(`${document.body.dataset.static}/pdf.mjs`);
    await show(element);
  };
  const look = () => document.querySelectorAll("[data-pdf]").forEach(begin);
  document.addEventListener("htmx:afterSettle", look);
  look();
});
