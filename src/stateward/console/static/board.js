// The board: sending files with progress, and the small charts.
"use strict";
document.addEventListener("DOMContentLoaded", () => {
  const { csrf, toast, base, shownZone, inOrder } = window.stateward;

  // Charts
  const charts = new Map();
  const colour = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();
  const CHART_PX = 88;
  const seconds = (value) => (value === null || value === undefined ? "–" : value < 1 ? `${Math.round(value * 1000)} ms` : value < 120 ? `${Math.round(value * 10) / 10} s` : `${Math.round(value / 60)} min`);
  // What the chart says at the pointer, in words.
  const minute = () => new Intl.DateTimeFormat(undefined, { hour: "2-digit", minute: "2-digit", timeZone: shownZone() });
  const LABEL_FONT = "12px system-ui, sans-serif";
  // "08:00 PM" is wider than "20:00": how a time is written depends on the reader's language.
  function lastLabelPx() {
    const pen = document.createElement("canvas").getContext("2d");
    pen.font = LABEL_FONT;
    return Math.ceil(pen.measureText(minute().format(new Date())).width);
  }
  function hint(element, name, plot) {
    let tip = element.querySelector(".tip");
    if (!tip) {
      tip = document.createElement("span");
      tip.className = "tip";
      tip.setAttribute("role", "status"); // read out as the arrow keys lead along the minutes
      element.append(tip);
    }
    const at = plot.cursor.idx;
    const [times, first, second] = plot.data;
    tip.hidden = at === null || at === undefined;
    if (tip.hidden) return;
    const text = name === "ended" ? `${first[at] - second[at]} finished, ${second[at] ?? 0} failed` : first[at] === null ? "nothing finished" : `p95 ${seconds(first[at])}`;
    tip.textContent = `${minute().format(new Date(times[at] * 1000))}: ${text}`;
  }
  // The arrow keys lead along a chart as the pointer does, from the last minute on.
  document.addEventListener("keydown", (event) => {
    const { target, key } = event;
    const plot = target instanceof Element && charts.get(target)?.plot;
    const last = plot ? plot.data[0].length - 1 : 0;
    const at = plot?.cursor.idx ?? null;
    const to = { ArrowLeft: at === null ? last : Math.max(0, at - 1), ArrowRight: at === null ? last : Math.min(last, at + 1), Home: 0, End: last }[key];
    if (!plot || to === undefined) return;
    event.preventDefault();
    plot.setCursor({ left: plot.valToPos(plot.data[0][to], "x"), top: 0 });
  });
  document.addEventListener("focusout", ({ target }) => charts.get(target)?.plot.setCursor({ left: -10, top: -10 }));
  const orNone = (count) => count || null; // a bar of no height would be drawn as a dash
  function draw(element) {
    const points = JSON.parse(element.dataset.points);
    const name = element.dataset.chart;
    const data = name === "ended" ? [points.at, points.all.map(orNone), points.failed.map(orNone)] : [points.at, points.p95];
    const kept = charts.get(element);
    const drawn = `${document.documentElement.dataset.theme} ${shownZone()}`;
    if (kept && kept.drawn === drawn) {
      kept.plot.setData(data);
      return;
    }
    kept?.plot.destroy();
    const bars = uPlot.paths.bars({ size: [0.8, 12, 2] });
    const line = (label, hue, fill, paths) => ({ label, stroke: colour(hue), fill: fill && colour(fill), width: 1.5, points: { show: false }, paths, spanGaps: true });
    const series = name === "ended"
      ? [{ label: "minute" }, line("finished or failed", "--accent", "--accent-soft", bars), line("failed", "--bad", "--bad", bars)]
      : [{ label: "minute" }, { ...line("p95", "--accent", "", undefined), value: (_, value) => seconds(value), points: { show: true, size: 4, fill: colour("--accent") } }];
    const plot = new uPlot({
      width: Math.max(80, element.clientWidth),
      height: CHART_PX,
      series,
      axes: [
        { stroke: colour("--soft"), grid: { show: false }, ticks: { stroke: colour("--line") }, size: 26, space: 60, font: LABEL_FONT, values: (_, ticks) => ticks.map((tick) => minute().format(new Date(tick * 1000))) },
        { stroke: colour("--soft"), grid: { stroke: colour("--line") }, ticks: { show: false }, size: 52, space: 24, values: (_, ticks) => ticks.map((tick) => (name === "ended" ? (Number.isInteger(tick) ? tick : "") : tick ? seconds(tick) : "0")) },
      ],
      tzDate: (at) => uPlot.tzDate(new Date(at * 1000), shownZone()),
      legend: { show: false },
      cursor: { show: true, y: false, points: { show: false } },
      hooks: { setCursor: [(plot) => hint(element, name, plot)] },
      padding: [6, lastLabelPx() / 2 + 2, 0, 0], // the last label of the axis is centred on its tick
      scales: { x: { time: true }, y: { range: (_, __, max) => [0, Math.max(1e-3, max || 1) * 1.1] } },
    }, data, element);
    charts.set(element, { plot, drawn });
  }
  function drawAll() {
    for (const element of charts.keys()) if (!element.isConnected) { charts.get(element).plot.destroy(); charts.delete(element); }
    document.querySelectorAll("[data-chart]").forEach(draw);
  }
  drawAll();
  document.addEventListener("stateward:refreshed", drawAll);
  document.addEventListener("stateward:theme", drawAll);
  document.addEventListener("stateward:zone", drawAll);
  let width = innerWidth;
  addEventListener("resize", () => {
    if (width === innerWidth) return;
    width = innerWidth;
    charts.forEach(({ plot }, element) => plot.setSize({ width: Math.max(80, element.clientWidth), height: CHART_PX }));
  });

  // Sending
  const list = document.getElementById("sending");
  const AT_ONCE = 3;
  const waiting = [];
  let sending = 0;

  // What became of the files, in one line; a refused one stays, also on another machine, until it is dismissed.
  const count = { total: 0, submitted: 0, duplicate: 0, refused: 0 };
  const summary = document.getElementById("sent-summary");
  function summarize() {
    if (!summary) return;
    const done = count.submitted + count.duplicate + count.refused;
    const parts = [["submitted", count.submitted], ["duplicate", count.duplicate], ["refused", count.refused]].filter(([, n]) => n).map(([name, n]) => `${n} ${name}`);
    summary.textContent = `${done} of ${count.total} file${count.total === 1 ? "" : "s"} uploaded${parts.length ? `: ${parts.join(", ")}` : ""}`;
    summary.hidden = !count.total;
  }
  const refusals = document.getElementById("refused");
  function addButton(line, word, name, act) {
    const button = document.createElement("button");
    button.type = "button";
    button.className = "quiet";
    button.textContent = word;
    button.setAttribute("aria-label", `${word} ${name}`);
    button.addEventListener("click", act);
    line.append(button);
  }
  const dismissable = (line, name, dismiss) => addButton(line, "Dismiss", name, dismiss);
  const repeatable = (line, name, send) => addButton(line, "Send again", name, send);
  async function dismiss(path) {
    const answer = await fetch(path, { method: "DELETE", headers: { "X-CSRF-Token": csrf } }).catch(() => null);
    if (!answer?.ok && answer?.status !== 404) toast("It could not be dismissed; try again.", "bad");
    await showRefused();
  }
  // The service stores them; the lines of this page give way to those that it tells of.
  async function showRefused() {
    if (!refusals) return [];
    const answer = await fetch("/refused-uploads").catch(() => null);
    if (!answer?.ok) return [];
    const { items } = await answer.json();
    refusals.hidden = !items.length;
    refusals.querySelector("[data-count]").textContent = `${items.length} file${items.length === 1 ? "" : "s"}, shown until dismissed`;
    refusals.querySelector("[data-dismiss-all]").hidden = items.length < 2;
    refusals.querySelector("ul").replaceChildren(...items.map(({ id, name, reason }) => {
      const line = document.createElement("li");
      line.innerHTML = '<span class="name"></span><span class="message"></span>';
      line.querySelector(".name").textContent = inOrder(name);
      line.querySelector(".name").title = name;
      line.querySelector(".message").textContent = inOrder(reason);
      dismissable(line, name, () => dismiss(`/refused-uploads/${encodeURIComponent(id)}`));
      return line;
    }));
    return items;
  }
  refusals?.querySelector("[data-dismiss-all]").addEventListener("click", () => dismiss("/refused-uploads"));
  showRefused();

  // A file that is sent to a machine of a person's choice: `fields` are those of the form besides it.
  function add(fields, file) {
    const line = document.createElement("li");
    line.innerHTML = '<span class="name"></span><progress max="100" value="0"></progress><span class="message">waits</span>';
    line.querySelector(".name").textContent = inOrder(file.name);
    line.querySelector(".name").title = file.name;
    line.querySelector("progress").setAttribute("aria-label", `sending ${file.name}`);
    list.append(line);
    count.total += 1;
    summarize();
    waiting.push({ fields, file, line });
    next();
  }
  function next() {
    while (sending < AT_ONCE && waiting.length) send(waiting.shift());
  }
  function send({ fields: given, file, line }) {
    sending += 1;
    const bar = line.querySelector("progress");
    const message = line.querySelector(".message");
    const fields = new FormData();
    for (const [name, value] of Object.entries(given)) if (value) fields.set(name, value);
    fields.set("file", file, file.name);
    const request = new XMLHttpRequest();
    request.open("POST", "/records");
    request.setRequestHeader("X-CSRF-Token", csrf);
    request.setRequestHeader("Idempotency-Key", `console-${crypto.getRandomValues(new Uint32Array(4)).join("")}`);
    request.upload.addEventListener("progress", (event) => {
      if (event.lengthComputable) bar.value = (100 * event.loaded) / event.total;
      message.textContent = `${Math.round(bar.value)} %`;
    });
    request.addEventListener("loadend", () => {
      sending -= 1;
      bar.value = 100;
      let answer = {};
      try { answer = JSON.parse(request.responseText); } catch { /* said below */ }
      const id = answer.record?.id || answer.record_id;
      line.dataset.state = request.status === 201 ? "sent" : request.status === 409 ? "known" : "refused";
      const members = answer.members || [];
      const refused = members.filter((each) => each.problem);
      const inside = members.length ? `${members.length - refused.length} of ${members.length} files submitted${refused.map((each) => `; ${each.name}: ${each.problem}`).join("")}` : "submitted";
      message.textContent = request.status === 201 ? inside : request.status === 409 ? "duplicate: already submitted" : answer.detail || "could not be sent; try again";
      if (id) {
        const link = document.createElement("a");
        link.href = `${base}/records/${encodeURIComponent(id)}`;
        link.textContent = "open";
        line.append(link);
      }
      count[{ sent: "submitted", known: "duplicate", refused: "refused" }[line.dataset.state]] += 1;
      summarize();
      if (line.dataset.state === "refused") {
        const reason = message.textContent;
        showRefused().then((items) => {
          if (items.some((each) => each.name === file.name && each.reason === reason)) line.remove();
          else { // such as too many at once or a full disk, which is no fault of the file
            repeatable(line, file.name, () => { count.refused -= 1; count.total -= 1; line.remove(); add(given, file); });
            dismissable(line, file.name, () => line.remove());
          }
        });
        toast(`${file.name}: ${message.textContent}`, "bad");
      }
      else if (request.status === 201 && !refused.length) setTimeout(() => line.remove(), 30000);
      document.dispatchEvent(new CustomEvent("stateward:refresh"));
      next();
    });
    request.send(fields);
  }
  const chosen = (form) => ({
    pipeline: form.dataset.machine,
    source_type: form.elements.namedItem("source_type")?.value,
    priority: form.elements.namedItem("priority")?.value,
  });

  // What is this file? The server says; a person may say otherwise, and gives the labels that its kind needs.
  const WHOLE_BYTES_MAX = 32 * 1024 * 1024; // of larger ones the beginning is asked about; all of it is checked when it is sent
  const BEGINNING_BYTES = 1024 * 1024;
  const found = document.getElementById("detected");
  const kinds = found ? JSON.parse(found.dataset.kinds) : [];
  const sameKind = (one, other) => one.machine === other.machine && one.source_type === other.source_type;

  // Of an archive that is no document itself each file is one, and what it is the service finds out.
  const EACH_FILE = { title: "Archive: each file in it", is_likely: true };
  const ZIP = [0x50, 0x4b, 0x03, 0x04];
  async function isZip(file) {
    const beginning = new Uint8Array(await file.slice(0, ZIP.length).arrayBuffer());
    return ZIP.every((byte, at) => beginning[at] === byte);
  }

  async function ask(file) {
    const fields = new FormData();
    fields.set("file", file.size > WHOLE_BYTES_MAX ? file.slice(0, BEGINNING_BYTES) : file, file.name);
    const answer = await fetch("/detect", { method: "POST", headers: { "X-CSRF-Token": csrf }, body: fields });
    const body = await answer.json().catch(() => ({}));
    if (!answer.ok) throw new Error(body.detail || "could not be looked at; try again");
    return body.items;
  }
  async function detect(file) {
    const line = document.createElement("li");
    line.innerHTML = '<span class="name"></span><span class="message">what is it?</span><span class="evidence muted"></span><select hidden></select><span class="labels"></span><button type="button" data-send disabled>Send</button><button type="button" class="quiet" data-drop-line>Leave out</button>';
    line.querySelector(".name").textContent = inOrder(file.name);
    line.querySelector(".name").title = file.name;
    line.file = file;
    found.append(line);
    await look(line);
  }
  // What could not be looked at, such as while the disk of the service is full, can be tried again with the same button.
  async function look(line) {
    const button = line.querySelector("[data-send]");
    Object.assign(button, { textContent: "Send", disabled: true });
    line.dataset.state = "";
    line.querySelector(".message").textContent = "what is it?";
    tellBar();
    try {
      const items = await ask(line.file);
      choose(line, !items.some((each) => each.is_likely) && (await isZip(line.file)) ? [EACH_FILE, ...items] : items);
    } catch (error) {
      line.dataset.state = "refused";
      line.querySelector(".message").textContent = error.message;
      button.textContent = "Try again";
    }
    tellBar();
  }
  function choose(line, items) {
    const select = line.querySelector("select");
    const likely = items.filter((each) => each.is_likely);
    const groups = [["Detected", items], ["Other", kinds.filter((kind) => !items.some((each) => sameKind(each, kind)))]];
    line.choices = groups.flatMap(([, of]) => of);
    select.setAttribute("aria-label", `What ${line.file.name} is`);
    if (!likely.length) select.append(new Option("choose what it is", ""));
    let at = 0;
    for (const [label, of] of groups) {
      if (!of.length) continue;
      const group = document.createElement("optgroup");
      group.label = label;
      for (const each of of) {
        const to = each.machine ? ` (${each.machine})` : "";
        group.append(new Option(`${each.title}${to}${each.confidence === undefined ? "" : `, ${each.confidence} %`}`, String(at)));
        at += 1;
      }
      select.append(group);
    }
    select.hidden = false;
    line.querySelector(".message").textContent = likely.length ? "detected" : "not recognised";
    line.dataset.state = likely.length ? "detected" : "unknown";
    askLabels(line);
  }
  // What speaks for the choice stands behind the name of the file, so that a person can judge it.
  function tellEvidence(line) {
    const evidence = choice(line)?.evidence ?? [];
    line.querySelector(".evidence").textContent = evidence.length ? `by ${evidence.join(", ")}` : "";
  }
  const choice = (line) => line.choices?.[Number(line.querySelector("select").value || NaN)];
  function askLabels(line) {
    const asked = Object.entries(choice(line)?.labels ?? {}).map(([name, why]) => {
      const input = document.createElement("input");
      Object.assign(input, { name, placeholder: why, maxLength: 255 });
      input.setAttribute("aria-label", `${name}: ${why}`);
      return input;
    });
    line.querySelector(".labels").replaceChildren(...asked);
    tellEvidence(line);
    tellBar();
  }
  const isReady = (line) => Boolean(choice(line)) && [...line.querySelectorAll(".labels input")].every((each) => each.value.trim());
  function tellBar() {
    const lines = [...found.children];
    lines.forEach((line) => { line.querySelector("[data-send]").disabled = !isReady(line) && line.dataset.state !== "refused"; });
    document.getElementById("detected-bar").hidden = lines.filter(isReady).length < 2;
  }
  function sendLine(line) {
    const { machine, source_type: sourceType } = choice(line);
    const labels = [...line.querySelectorAll(".labels input")].map((each) => [`label.${each.name}`, each.value.trim()]);
    add({ pipeline: machine, source_type: sourceType, ...Object.fromEntries(labels) }, line.file);
    line.remove();
    tellBar();
  }
  found?.addEventListener("change", (event) => { if (event.target.matches("select")) askLabels(event.target.closest("li")); });
  found?.addEventListener("input", tellBar);
  found?.addEventListener("click", (event) => {
    const line = event.target.closest("li");
    if (event.target.closest("[data-send]")) (isReady(line) ? sendLine : look)(line);
    if (event.target.closest("[data-drop-line]")) { line.remove(); tellBar(); }
  });
  document.querySelector("[data-send-all]")?.addEventListener("click", () => [...found.children].filter(isReady).forEach(sendLine));

  document.querySelectorAll("[data-drop], [data-detect]").forEach((form) => {
    const take = (file) => ("detect" in form.dataset ? detect(file) : add(chosen(form), file));
    const input = form.querySelector("input[type=file]");
    input.addEventListener("change", () => {
      [...input.files].forEach(take);
      input.value = "";
    });
    form.addEventListener("submit", (event) => event.preventDefault());
    for (const name of ["dragenter", "dragover"]) {
      form.addEventListener(name, (event) => { event.preventDefault(); form.classList.add("over"); });
    }
    form.addEventListener("dragleave", (event) => { if (!form.contains(event.relatedTarget)) form.classList.remove("over"); });
    form.addEventListener("drop", (event) => {
      event.preventDefault();
      form.classList.remove("over");
      [...event.dataTransfer.files].forEach(take);
    });
  });
  for (const name of ["dragover", "drop"]) addEventListener(name, (event) => event.preventDefault());
  // Leaving would lose files that were chosen and not sent, and those that are being sent.
  addEventListener("beforeunload", (event) => {
    if (sending || waiting.length || [...(found?.children ?? [])].some((line) => line.dataset.state !== "refused")) event.preventDefault();
  });
});
