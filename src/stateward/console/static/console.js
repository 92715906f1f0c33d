// What every page does: the token on changes, local times, the dialog, toasts, and following what happens.
"use strict";
(() => {
  const csrf = document.querySelector("meta[name=csrf]")?.content || "";
  const base = document.body.dataset.base;

  // On a phone the menu is wider than the screen: the page that is open can be seen in it.
  const menu = document.querySelector(".top nav");
  const current = menu?.querySelector("[aria-current]");
  if (current) menu.scrollLeft = current.offsetLeft - (menu.clientWidth - current.offsetWidth) / 2;

  // Changes carry the token that only our own pages know.
  document.addEventListener("htmx:configRequest", (event) => {
    event.detail.headers["X-CSRF-Token"] = csrf;
  });

  // Times: local, with UTC on hover.
  const ZONE_KEY = "stateward.zone";
  const zone = Intl.DateTimeFormat().resolvedOptions().timeZone;
  const stored = () => { try { return localStorage.getItem(ZONE_KEY); } catch { return null; } };
  let isUtc = stored() === "utc";
  let clock, day, date, past, minute;
  const shownZone = () => (isUtc ? "UTC" : zone);
  function setZone() {
    const timeZone = shownZone();
    clock = new Intl.DateTimeFormat(undefined, { hour: "2-digit", minute: "2-digit", second: "2-digit", timeZone });
    day = new Intl.DateTimeFormat(undefined, { year: "numeric", month: "short", day: "numeric", timeZone: zone });
    date = new Intl.DateTimeFormat(undefined, { month: "short", day: "numeric", timeZone });
    past = new Intl.DateTimeFormat(undefined, { year: "numeric", month: "short", day: "numeric", timeZone }); // of another year
    minute = new Intl.DateTimeFormat(undefined, { hour: "2-digit", minute: "2-digit", timeZone });
    const name = document.querySelector("[data-zone-name]");
    if (name) name.textContent = isUtc ? "UTC" : "local time";
  }
  setZone();
  const localClock = new Intl.DateTimeFormat(undefined, { hour: "2-digit", minute: "2-digit", second: "2-digit", timeZone: zone });

  function ago(ms) {
    const s = Math.round(Math.abs(ms) / 1000);
    const text = s < 5 ? "a moment" : s < 60 ? `${s} s` : s < 3600 ? `${Math.round(s / 60)} min`
      : s < 86400 ? `${Math.round(s / 3600)} h` : `${Math.round(s / 86400)} d`;
    return ms >= 0 ? `${text} ago` : `in ${text}`;
  }

  function tell(element) {
    const at = new Date(element.getAttribute("datetime"));
    if (Number.isNaN(at.getTime())) return;
    if (!element.dataset.utc) {
      element.dataset.utc = element.title;
      element.title = `${element.title} · ${day.format(at)} ${localClock.format(at)} ${zone}`;
    }
    const how = element.dataset.as;
    const since = Date.now() - at.getTime();
    const on = (at.getFullYear() === new Date().getFullYear() ? date : past).format(at);
    const short = `${on}, ${minute.format(at)}`;
    const text = how === "clock" ? `${on}, ${clock.format(at)}`
      : how === "date" ? short
      : isUtc ? `${short} UTC`
      : Math.abs(since) < 7 * 86400e3 ? ago(since) : short;
    if (element.textContent !== text) element.textContent = text;
  }
  const tellAll = (root = document) => root.querySelectorAll("time[datetime]").forEach(tell);
  tellAll();
  setInterval(() => { if (!document.hidden) tellAll(); }, 5000);
  document.addEventListener("htmx:afterSettle", (event) => tellAll(event.target instanceof Element ? event.target : document));

  document.getElementById("zone")?.addEventListener("click", () => {
    isUtc = !isUtc;
    try { localStorage.setItem(ZONE_KEY, isUtc ? "utc" : "local"); } catch { /* this page only */ }
    setZone();
    tellAll();
    document.dispatchEvent(new CustomEvent("stateward:zone"));
  });

  // Moments in sentences of the service, which are in UTC, as all others are shown.
  const withTimes = (text) => text.replace(/\b\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z/g, (found) => {
    const at = new Date(found);
    return `${date.format(at)}, ${clock.format(at)}${isUtc ? " UTC" : ""}`;
  });

  // A service that restarts, or something in between: what was pressed can be pressed again.
  const AWAY = "The service does not answer; try again.";
  const isAway = ({ status }) => status === 0 || status >= 500;

  // The session has ended: to the login, and back to this page after it.
  const signIn = () => location.assign(`${base}/login?next=${encodeURIComponent(location.pathname + location.search)}`);

  // Marks that reorder text are made visible, as they are in what the service prints: a name shows its real ending.
  const inOrder = (text) => text.replace(/[\u202a-\u202e\u2066-\u2069]/g, (mark) => `\\u${mark.charCodeAt(0).toString(16)}`);

  // Toasts
  function toast(text, kind = "", ms = 6000) {
    const line = document.createElement("p");
    line.className = `toast ${kind}`;
    line.textContent = inOrder(text);
    document.getElementById("toasts").append(line);
    setTimeout(() => line.remove(), ms);
    return line;
  }
  document.addEventListener("stateward:toast", (event) => toast(event.detail.value || "", event.detail.kind || ""));
  document.addEventListener("htmx:sendError", () => toast(AWAY, "bad"));

  // The dialog
  const dialog = document.getElementById("dialog");
  document.addEventListener("htmx:afterSwap", (event) => {
    if (event.target.id === "dialog-body" && event.target.childElementCount && !dialog.open) dialog.showModal();
  });
  document.addEventListener("click", (event) => {
    if (event.target instanceof Element && event.target.closest("[data-close]")) dialog.close();
  });
  document.addEventListener("stateward:close", () => dialog.close());
  dialog?.addEventListener("close", () => { document.getElementById("dialog-body").replaceChildren(); });

  // What was checked is not what the form says any more: it must be checked again.
  document.addEventListener("input", (event) => {
    const form = event.target instanceof Element && event.target.closest("#bulk");
    if (form && !form.querySelector("#bulk-progress")) form.querySelector("#bulk-result").replaceChildren();
  });

  // Copying
  document.addEventListener("click", async (event) => {
    const button = event.target instanceof Element && event.target.closest("[data-copy]");
    if (!button) return;
    try { await navigator.clipboard.writeText(button.dataset.copy); toast("Copied."); } catch { toast("Copying is not allowed here.", "bad"); }
  });

  // Following what happens: one stream for all windows of a session, and pages say what they want refreshed. A stream
  // keeps one of the six connections that a browser opens to a service: a seventh window would wait for ever. The window
  // that holds the lock has the stream and passes on what it says; a hidden window pauses, and gives its turn away.
  const STREAM = `stateward.stream.${csrf}`; // what one session may see, another may not
  let windows = null; // without the others, where a browser that blocks site data denies either: each has its stream
  try { if (navigator.locks) windows = new BroadcastChannel(STREAM); } catch { /* denied */ }
  const fresh = document.getElementById("fresh");
  let turn = null; // aborted when this window pauses
  let endTurn = null; // gives the lock back
  let source = null;
  let updatedAt = Date.now();
  let state = "connecting";
  const listeners = [];
  const AGAIN_MS = 5000;
  const AT_LEAST_EVERY_MS = 10_000; // claims, workers and deliveries change without a transition; an answer may be lost
  const SILENT_MS = 10_000; // a window that prints or stands at a breakpoint has the lock and says nothing
  let heardAt = Date.now();

  function say() {
    if (!listeners.length) return;
    fresh.hidden = false;
    fresh.dataset.state = state;
    const s = Math.round((Date.now() - updatedAt) / 1000);
    fresh.textContent = state === "live" ? (s < 3 ? "live" : `live · ${s} s old`) : state === "paused" ? "paused" : `reconnecting · ${s} s old`;
    fresh.title = "Changes come by themselves; a hidden page pauses.";
  }
  function take(message) {
    if (message.isRefused) { listeners.forEach((each) => each(null)); return; }
    if (message.transition) { listeners.forEach((each) => each(message.transition)); return; }
    // A window that was away, or whose stream was another one until now, may have missed something.
    if (message.state === "live" && state !== "live") listeners.forEach((each) => each(null));
    state = message.state;
    say();
  }
  function publish(message) {
    windows?.postMessage(message);
    take(message);
  }
  function connect() {
    publish({ state: "connecting" });
    source = new EventSource("/events/stream");
    source.addEventListener("open", () => publish({ state: "live" }));
    source.addEventListener("transition", (event) => publish({ transition: JSON.parse(event.data) }));
    source.addEventListener("error", () => {
      if (!turn) return;
      publish({ state: "reconnecting" });
      if (source?.readyState !== EventSource.CLOSED) return; // it comes back by itself
      source = null; // refused: perhaps the session has ended, which the next request shows
      const { signal } = turn;
      setTimeout(() => {
        if (signal.aborted) return;
        publish({ isRefused: true }); // each window asks for its part, and one that is signed out goes to sign in
        connect();
      }, AGAIN_MS);
    });
  }
  function open({ steal = false } = {}) {
    if (turn || document.hidden || !listeners.length) return;
    state = "connecting";
    heardAt = Date.now();
    turn = new AbortController();
    if (!windows) { connect(); return; }
    const { signal } = turn;
    navigator.locks.request(STREAM, steal ? { steal } : { signal }, () => new Promise((resolve) => {
      if (signal.aborted) { resolve(); return; }
      endTurn = resolve;
      connect();
    })).catch(() => {
      if (signal.aborted) return; // this window paused before its turn came
      if (endTurn) { close("connecting"); open(); return; } // it was silent, and another window took its turn
      windows?.close();
      windows = null;
      connect();
    });
    windows.postMessage({ isAsking: true });
  }
  function close(name) {
    turn?.abort();
    turn = null;
    source?.close();
    source = null;
    endTurn?.();
    endTurn = null;
    state = name;
    say();
  }
  windows?.addEventListener("message", ({ data }) => {
    if (!turn) return;
    if (!data.isAsking) { heardAt = Date.now(); take(data); }
    else if (endTurn) windows.postMessage({ state });
  });
  document.addEventListener("visibilitychange", () => (document.hidden ? close("paused") : open()));
  addEventListener("pagehide", () => close("paused"));
  addEventListener("pageshow", () => open());
  setInterval(() => {
    say();
    if (!turn || !windows) return;
    if (endTurn) windows.postMessage({ state });
    else if (Date.now() - heardAt > SILENT_MS) { close("connecting"); open({ steal: true }); }
  }, 1000);

  // Refreshing a part of the page in place, at most once in `every` ms, without flicker.
  function live(element, { every = 700, wants = () => true } = {}) {
    let timer = null;
    let isAsking = false;
    let isWanted = false;
    async function refresh() {
      timer = null;
      if (isAsking) { isWanted = true; return; }
      isAsking = true;
      try {
        const answer = await fetch(element.dataset.live, { headers: { "HX-Request": "true" }, redirect: "error" });
        if (answer.status === 401) { signIn(); return; }
        if (!answer.ok) return;
        const text = await answer.text();
        if (element.querySelector("[data-pick]:checked")) return; // what is picked stays where it is
        if (element.contains(document.activeElement) && document.activeElement.matches("input, textarea, select")) return;
        Idiomorph.morph(element, text, {
          morphStyle: "innerHTML",
          callbacks: {
            beforeNodeMorphed(old, fresh) {
              if (!(old instanceof Element)) return true;
              if (old.hasAttribute("data-chart")) {
                old.dataset.points = fresh.dataset.points;
                old.setAttribute("aria-label", fresh.getAttribute("aria-label"));
                return false;
              }
              if (old.matches("time[datetime]") && old.getAttribute("datetime") === fresh.getAttribute("datetime")) return false;
              if (old.matches("details") && old.open) fresh.setAttribute("open", "");
              return !old.hasAttribute("data-keep");
            },
            afterNodeMorphed(old) {
              if (old instanceof Element && old.matches("time[datetime]")) { delete old.dataset.utc; tell(old); }
            },
          },
        });
        updatedAt = Date.now();
        htmx.process(element);
        tellAll(element);
        element.dispatchEvent(new CustomEvent("stateward:refreshed", { bubbles: true }));
        say();
      } catch { /* tried again soon */ } finally {
        isAsking = false;
        if (isWanted) { isWanted = false; plan(); }
      }
    }
    function plan() { if (timer === null) timer = setTimeout(refresh, every); }
    listeners.push((transition) => { if (transition === null || wants(transition)) plan(); });
    setInterval(() => { if (!document.hidden) plan(); }, AT_LEAST_EVERY_MS);
    open();
    return plan;
  }

  // Cursors lead on and never back: this window remembers the pages that it came from.
  const TRAIL_KEY = "stateward.trail";
  const TRAIL_MAX = 200;
  const here = location.pathname + location.search;
  const trail = () => { try { return JSON.parse(sessionStorage.getItem(TRAIL_KEY)) || []; } catch { return []; } };
  const keepTrail = (pages) => { try { sessionStorage.setItem(TRAIL_KEY, JSON.stringify(pages.slice(-TRAIL_MAX))); } catch { /* no way back */ } };
  function leadBack() {
    const came = trail().find((step) => step.to === here);
    const previous = document.getElementById("previous-page");
    if (previous && came) { previous.href = came.from; previous.hidden = false; }
  }
  leadBack();
  document.addEventListener("stateward:refreshed", leadBack);
  document.addEventListener("click", (event) => {
    const next = event.target instanceof Element && event.target.closest("a[rel=next]");
    if (!next) return;
    const { pathname, search } = new URL(next.href);
    keepTrail([...trail().filter((step) => step.to !== pathname + search), { from: here, to: pathname + search }]);
  });

  // Arrows lead along the places of rows, from one document's row to the next.
  document.addEventListener("keydown", (event) => {
    const step = { ArrowDown: "nextElementSibling", ArrowUp: "previousElementSibling" }[event.key];
    const place = "[data-row-place], [data-place]";
    if (!step || !(event.target instanceof Element && event.target.matches(place))) return;
    event.preventDefault();
    event.target.closest("tr")[step]?.querySelector(place)?.focus();
  });

  // Counts of open work, in the menu.
  const BADGES_EVERY = 3000;
  let badgesAt = 0;
  let badgesTimer = null;
  async function badges() {
    badgesTimer = null;
    badgesAt = Date.now();
    try {
      const answer = await fetch(`${base}/badges`, { headers: { "HX-Request": "true" }, redirect: "error" });
      if (!answer.ok) return;
      for (const [name, count] of Object.entries(await answer.json())) {
        const badge = document.querySelector(`[data-badge="${name}"]`);
        if (!badge) continue;
        badge.hidden = !count;
        badge.querySelector("[data-number]").textContent = count.toLocaleString("en");
      }
    } catch { /* the next refresh asks again */ }
  }
  document.addEventListener("stateward:refreshed", () => {
    if (badgesTimer === null) badgesTimer = setTimeout(badges, Math.max(0, badgesAt + BADGES_EVERY - Date.now()));
  });

  // A person may give a shortcut another key: by the key that it has by default, kept in this browser.
  const KEYS_KEY = "stateward.keys";
  const ownKeys = () => { try { return JSON.parse(localStorage.getItem(KEYS_KEY)) || {}; } catch { return {}; } };
  const keyOf = (name) => ownKeys()[name] ?? name;
  // The default key of the shortcut that a pressed key now stands for, if it is one.
  function shortcut(pressed) {
    const own = ownKeys();
    const [name] = Object.entries(own).find(([, key]) => key === pressed) ?? [];
    return name ?? (pressed in own ? undefined : pressed);
  }
  function setKeys(own) {
    try { localStorage.setItem(KEYS_KEY, JSON.stringify(own)); } catch { /* private windows forget */ }
    labelKeys();
  }
  function labelKeys() {
    document.querySelectorAll("kbd[data-key]").forEach((each) => {
      if (each.textContent !== keyOf(each.dataset.key)) each.textContent = keyOf(each.dataset.key);
    });
  }
  labelKeys();

  // A page listens to its keys from here on. Of those that were pressed before, what only looks around is done now; what
  // decides is asked for again, because it may have been meant for what was shown before.
  function listen({ looks = "", decides = "" }) {
    document.dispatchEvent(new CustomEvent("stateward:ready"));
    const early = window.statewardEarlyKeys;
    window.statewardEarlyKeys = early.filter((key) => !(looks + decides).includes(shortcut(key)));
    for (const key of early) {
      const name = shortcut(key);
      if (name && looks.includes(name)) document.body.dispatchEvent(new KeyboardEvent("keydown", { key, bubbles: true }));
      if (name && decides.includes(name)) toast(`${key} was pressed before the page was ready: press it again.`, "bad");
    }
  }

  window.stateward = { csrf, listen, base, toast, live, tellAll, ago, shownZone, ownKeys, keyOf, setKeys, shortcut, labelKeys, AWAY, isAway, inOrder, withTimes, signIn };
  document.querySelectorAll("[data-live]").forEach((element) => {
    const of = element.dataset.liveOf;
    const refresh = live(element, { wants: (transition) => !of || transition.record_id === of });
    document.addEventListener("stateward:refresh", refresh);
  });
})();
