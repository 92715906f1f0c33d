// Draws a PDF page by page with pdf.js: pictures of pages only; no script, no form and no link of the file is alive.
import * as pdfjs from "./vendor/pdf.min.mjs";

const base = document.body.dataset.static;
const PAGES_MAX = 200;
pdfjs.GlobalWorkerOptions.workerSrc = `${base}/vendor/pdf.worker.min.mjs`;

export async function show(element) {
  let file;
  try {
    file = await pdfjs.getDocument({
      url: element.dataset.pdf,
      isEvalSupported: false,
      enableXfa: false,
      stopAtErrors: false,
      useSystemFonts: false,
      standardFontDataUrl: `${base}/vendor/fonts/`,
      disableRange: true,
      disableStream: true,
      verbosity: 0,
    }).promise;
  } catch (error) {
    element.replaceChildren();
    const line = document.createElement("p");
    line.className = "problem";
    line.textContent = error?.name === "PasswordException" ? "This PDF is locked with a password." : "This PDF cannot be drawn; save it to look at it.";
    element.append(line);
    element.dataset.drawn = "no";
    return null;
  }
  element.replaceChildren();
  const sheets = [];
  const seen = new IntersectionObserver((entries) => entries.forEach((entry) => { if (entry.isIntersecting) draw(entry.target); }), { root: element, rootMargin: "400px" });

  async function draw(sheet) {
    seen.unobserve(sheet);
    const page = await file.getPage(Number(sheet.dataset.page));
    const scale = (sheet.clientWidth / page.getViewport({ scale: 1 }).width) * (devicePixelRatio || 1);
    const viewport = page.getViewport({ scale });
    const canvas = sheet.querySelector("canvas");
    canvas.width = Math.ceil(viewport.width);
    canvas.height = Math.ceil(viewport.height);
    await page.render({ canvas, canvasContext: canvas.getContext("2d"), viewport, annotationMode: pdfjs.AnnotationMode.DISABLE }).promise;
    sheet.dataset.drawn = "yes";
    element.dataset.drawn = "yes";
  }

  for (let number = 1; number <= Math.min(file.numPages, PAGES_MAX); number += 1) {
    const page = await file.getPage(number);
    const { width, height } = page.getViewport({ scale: 1 });
    const sheet = document.createElement("div");
    sheet.className = "sheet";
    sheet.dataset.page = String(number);
    sheet.dataset.width = String(width);
    sheet.dataset.height = String(height);
    sheet.style.maxWidth = "900px";
    sheet.style.aspectRatio = `${width} / ${height}`;
    const canvas = document.createElement("canvas");
    canvas.setAttribute("role", "img");
    canvas.setAttribute("aria-label", `Page ${number} of ${file.numPages}`);
    sheet.append(canvas);
    element.append(sheet);
    sheets.push(sheet);
    seen.observe(sheet);
  }
  return { file, sheets };
}
