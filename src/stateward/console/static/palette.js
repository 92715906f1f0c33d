// Two dialogs of every page: `?` lists the keys that work here, Ctrl K leads anywhere without the mouse.
"use strict";
(() => { // at once: what a page loads as modules may take a while
  const { base, ownKeys, keyOf, setKeys } = window.stateward;
  const dialog = document.getElementById("dialog");
  const body = document.getElementById("dialog-body");
  if (!dialog) return; // the login has neither
  const EVERYWHERE = [["?", "this list"], ["Ctrl K", "go to a page, a record or a search, or do what the page offers"], ["/", "search documents"], ["Esc", "close a dialog"]];
  const isTyping = (event) => event.target instanceof Element && event.target.matches("input, textarea, select");

  const made = (name, properties = {}, ...children) => {
    const element = Object.assign(document.createElement(name), properties);
    element.append(...children);
    return element;
  };
  function show(...children) {
    body.replaceChildren(...children);
    if (!dialog.open) dialog.showModal();
  }
  const close = () => made("button", { type: "button", textContent: "Close", onclick: () => dialog.close() });

  // Shortcuts
  function help() {
    const own = [...document.querySelectorAll("[data-shortcut]")].map((each) => [each.dataset.shortcut, each.dataset.meaning]);
    const all = [...own, ...EVERYWHERE];
    const changeable = all.flatMap(([keys]) => keys.split(" ")).filter((key) => /^[a-z]$/.test(key));
    const message = made("p", { className: "muted", id: "keys-message", textContent: changeable.length ? "Type another letter or digit over a key to change it; kept in this browser." : "" });
    message.setAttribute("role", "status");
    const rows = all.map(([keys, meaning]) => {
      const names = keys.split(" ");
      const meanings = meaning.split(", ");
      const cells = names.flatMap((key, at) => [
        changeable.includes(key) ? field(key, names.length === meanings.length ? meanings[at] : meaning, changeable, message) : made("kbd", { textContent: key }), " "]);
      return made("tr", {}, made("td", {}, ...cells), made("td", { textContent: meaning }));
    });
    const table = made("table", { className: "rows", id: "shortcuts" }, made("tbody", {}, ...rows));
    const bar = made("div", { className: "bar" }, close());
    if (changeable.length) bar.prepend(made("button", { type: "button", className: "quiet", textContent: "Default keys", onclick: () => { setKeys({}); help(); } }));
    show(made("h2", { textContent: "Keyboard shortcuts" }), message, table, bar);
    bar.lastChild.focus();
  }
  // The key of a shortcut, which can be typed over.
  function field(name, meaning, changeable, message) {
    const input = made("input", { className: "key", value: keyOf(name), maxLength: 1, autocomplete: "off" });
    input.setAttribute("aria-label", `Key for ${meaning}`);
    input.addEventListener("focus", () => input.select());
    input.addEventListener("change", () => {
      const key = input.value.toLowerCase();
      const isTaken = changeable.some((other) => other !== name && keyOf(other) === key);
      if (!/^[a-z0-9]$/.test(key) || isTaken) {
        message.textContent = isTaken ? `${key} is the key of another shortcut.` : "A key is a letter or a digit.";
        input.value = keyOf(name);
        return;
      }
      setKeys({ ...ownKeys(), [name]: key });
      input.value = key;
      message.textContent = `${key}: ${meaning}`;
    });
    return input;
  }

  // The palette
  function labelOf(button) {
    const copy = button.cloneNode(true);
    copy.querySelectorAll("kbd").forEach((each) => each.remove());
    return copy.textContent.trim();
  }
  function choices(text) {
    const pages = [...document.querySelectorAll("header.top nav a")].map((each) => [each.firstChild.textContent.trim(), each.getAttribute("href")]);
    const views = [["Failed records", "is:failed"], ["Records in progress", "is:waiting,running"], ["Records waiting for review", "is:suspended"], ["Overdue records", "is:overdue"], ["Cancelled records", "is:cancelled"]]
      .map(([name, q]) => [name, `${base}/records?q=${encodeURIComponent(q)}`]);
    // What the page offers can be done from here, too: it asks before it does anything that matters.
    const acts = [...document.querySelectorAll("#actions button, #actions a, .decide button, .decide a, #decide button, #decide a, #statistics, #theme, #zone, #help")]
      .filter((each) => !each.disabled && each.checkVisibility())
      .map((each) => [each.getAttribute("aria-label") ?? labelOf(each), () => each.click()]);
    const words = text.trim();
    const found = [...pages, ...views, ...acts].filter(([name]) => name.toLowerCase().includes(words.toLowerCase()));
    if (!words) return found;
    const asked = [[`Find records: ${words}`, `${base}/records?q=${encodeURIComponent(words)}`], [`Search documents: ${words}`, `${base}/search?q=${encodeURIComponent(words)}`]];
    const isId = /^[A-Z]{1,8}_[0-9a-z]{20,}$/.test(words);
    return isId ? [[`Open record ${words}`, `${base}/records/${encodeURIComponent(words)}`], ...found, ...asked] : [...found, ...asked];
  }
  function palette() {
    const input = made("input", { type: "text", id: "palette", autocomplete: "off", spellcheck: false, placeholder: "a page, an action, an id, or words" });
    input.setAttribute("role", "combobox");
    input.setAttribute("aria-label", "Go to");
    input.setAttribute("aria-controls", "palette-list");
    input.setAttribute("aria-expanded", "true");
    const list = made("ul", { id: "palette-list", className: "palette" });
    list.setAttribute("role", "listbox");
    list.setAttribute("aria-label", "Where to");
    let at = 0;
    const tell = () => {
      const options = choices(input.value).map(([name, to], number) => {
        const option = made("li", { id: `palette-${number}`, textContent: name, onclick: () => { if (typeof to === "string") location.assign(to); else { dialog.addEventListener("close", to, { once: true }); dialog.close(); } } });
        option.setAttribute("role", "option");
        option.setAttribute("aria-selected", String(number === at));
        return option;
      });
      list.replaceChildren(...options);
      input.setAttribute("aria-activedescendant", `palette-${at}`);
    };
    input.addEventListener("input", () => { at = 0; tell(); });
    input.addEventListener("keydown", (event) => {
      const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
      if (step) { event.preventDefault(); at = (at + step + list.children.length) % list.children.length; tell(); }
      if (event.key === "Enter") { event.preventDefault(); list.children[at]?.click(); }
    });
    tell();
    show(made("h2", { textContent: "Go to", className: "hidden" }), input, list);
    input.focus();
  }

  document.addEventListener("keydown", (event) => {
    if ((event.ctrlKey || event.metaKey) && event.key.toLowerCase() === "k") { event.preventDefault(); palette(); return; }
    if (isTyping(event) || event.ctrlKey || event.metaKey || event.altKey || dialog.open) return;
    if (event.key === "?") { event.preventDefault(); help(); }
    if (event.key === "/") { event.preventDefault(); document.querySelector("#q, .find input")?.focus(); }
  });
  document.getElementById("help")?.addEventListener("click", help);
})();
