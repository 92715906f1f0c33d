// The board: sending files with progress, and the small charts.
"use strict";
document.addEventListener("DOMContentLoaded", () => {
  const { csrf, toast, base } = window.stateward;

  // Charts
  const charts = new Map();
  const colour = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();
  function draw(element) {
    const points = JSON.parse(element.dataset.points);
    const name = element.dataset.chart;
    const data = name === "ended" ? [points.at, points.all, points.failed] : [points.at, points.p95];
    const kept = charts.get(element);
    if (kept && kept.theme === document.documentElement.dataset.theme) {
      kept.plot.setData(data);
      return;
    }
    kept?.plot.destroy();
    const bars = uPlot.paths.bars({ size: [0.8, 12, 2] });
    const line = (label, hue, fill, paths) => ({ label, stroke: colour(hue), fill: fill && colour(fill), width: 1.5, points: { show: false }, paths, spanGaps: true });
    const series = name === "ended"
      ? [{}, line("ended", "--accent", "--accent-soft", bars), line("failed", "--bad", "--bad", bars)]
      : [{}, { ...line("p95", "--accent", "", undefined), points: { show: true, size: 4, fill: colour("--accent") } }];
    const plot = new uPlot({
      width: Math.max(80, element.clientWidth),
      height: 44,
      series,
      axes: [{ show: false }, { show: false }],
      legend: { show: false },
      cursor: { show: false },
      padding: [4, 6, 2, 4],
      scales: { x: { time: true }, y: { range: (_, __, max) => [0, Math.max(1e-3, max || 1) * 1.1] } },
    }, data, element);
    charts.set(element, { plot, theme: document.documentElement.dataset.theme });
  }
  function drawAll() {
    for (const element of charts.keys()) if (!element.isConnected) { charts.get(element).plot.destroy(); charts.delete(element); }
    document.querySelectorAll("[data-chart]").forEach(draw);
  }
  drawAll();
  document.addEventListener("stateward:refreshed", drawAll);
  document.addEventListener("stateward:theme", drawAll);
  let width = innerWidth;
  addEventListener("resize", () => {
    if (width === innerWidth) return;
    width = innerWidth;
    charts.forEach(({ plot }, element) => plot.setSize({ width: Math.max(80, element.clientWidth), height: 44 }));
  });

  // Sending
  const list = document.getElementById("sending");
  const AT_ONCE = 3;
  const waiting = [];
  let sending = 0;

  function add(form, file) {
    const line = document.createElement("li");
    line.innerHTML = '<span class="name"></span><progress max="100" value="0"></progress><span class="said">waits</span>';
    line.querySelector(".name").textContent = file.name;
    line.querySelector("progress").setAttribute("aria-label", `sending ${file.name}`);
    list.append(line);
    waiting.push({ form, file, line });
    next();
  }
  function next() {
    while (sending < AT_ONCE && waiting.length) send(waiting.shift());
  }
  function send({ form, file, line }) {
    sending += 1;
    const bar = line.querySelector("progress");
    const said = line.querySelector(".said");
    const fields = new FormData();
    fields.set("pipeline", form.dataset.machine);
    for (const name of ["source_type", "priority"]) {
      const value = form.elements.namedItem(name)?.value;
      if (value) fields.set(name, value);
    }
    fields.set("file", file, file.name);
    const request = new XMLHttpRequest();
    request.open("POST", "/records");
    request.setRequestHeader("X-CSRF-Token", csrf);
    request.setRequestHeader("Idempotency-Key", `console-${crypto.getRandomValues(new Uint32Array(4)).join("")}`);
    request.upload.addEventListener("progress", (event) => {
      if (event.lengthComputable) bar.value = (100 * event.loaded) / event.total;
      said.textContent = `${Math.round(bar.value)} %`;
    });
    request.addEventListener("loadend", () => {
      sending -= 1;
      bar.value = 100;
      let answer = {};
      try { answer = JSON.parse(request.responseText); } catch { /* said below */ }
      const id = answer.record?.id || answer.record_id;
      line.dataset.state = request.status === 201 ? "sent" : request.status === 409 ? "known" : "refused";
      said.textContent = request.status === 201 ? "taken in" : request.status === 409 ? "was here already" : answer.detail || "could not be sent; try again";
      if (id) {
        const link = document.createElement("a");
        link.href = `${base}/records/${encodeURIComponent(id)}`;
        link.textContent = "open";
        line.append(link);
      }
      if (request.status >= 400 && request.status !== 409) toast(`${file.name}: ${said.textContent}`, "bad");
      else if (request.status === 201) setTimeout(() => line.remove(), 30000);
      document.dispatchEvent(new CustomEvent("stateward:refresh"));
      next();
    });
    request.send(fields);
  }
  document.querySelectorAll("[data-drop]").forEach((form) => {
    const input = form.querySelector("input[type=file]");
    input.addEventListener("change", () => {
      [...input.files].forEach((file) => add(form, file));
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
      [...event.dataTransfer.files].forEach((file) => add(form, file));
    });
  });
  for (const name of ["dragover", "drop"]) addEventListener(name, (event) => event.preventDefault());
});
