// The toolbar at the picture: download, copy the link, show it as a QR code, present.

import { make } from "../../figures/drawing/elements.js";
import { downloadButtons } from "./downloads.js";
import { sentenceOf, importFrom } from "./fetch_files.js";

/**
 * @import { BlockPage } from "./block_page.js"
 * @import { SitePage } from "./site.js"
 */

const SAID = 2500;
const TOO_LONG = "This link is too long for a QR code: shorten the text, or copy the link.";

/** @param {SitePage | BlockPage} sitePage */
export function drawToolbar(sitePage) {
  const bar = /** @type {HTMLElement} */ (document.getElementById("toolbar"));
  const copy = make("button", { type: "button", onclick: () => copyLink(copy) }, "Copy link");
  const present = make("button", { type: "button", title: "Fills the screen with the picture. F does it too; Escape returns." }, "Present");
  present.addEventListener("click", () => turnPresent(sitePage, true));
  const downloads = !("panel" in sitePage) || sitePage.config.page === "compute" ? [] : [folded("Download", (box) => downloadButtons(sitePage, box))];
  bar.replaceChildren(...downloads, copy, folded("QR code", (box) => drawCode(sitePage, box)), present);
  document.addEventListener("keydown", (event) => press(sitePage, event));
  addEventListener("attnviz-address", () => showPresent(Boolean(sitePage.values.present)));
  // A browser gives its whole screen late.
  addEventListener("resize", fitPicture);
  // Its lines come one after the other.
  new ResizeObserver(fitPicture).observe(/** @type {HTMLElement} */ (document.getElementById("hero")));
}

/** A button that opens a box, which is filled anew each time. @param {string} name @param {(box: HTMLElement) => void} fill */
function folded(name, fill) {
  const box = make("div", { class: "box" });
  const details = make("details", {}, make("summary", {}, name), box);
  details.addEventListener("toggle", () => (details.open ? fill(box) : box.replaceChildren()));
  details.addEventListener("focusout", (event) => {
    if (event.relatedTarget && !details.contains(/** @type {Node} */ (event.relatedTarget))) details.open = false;
  });
  details.addEventListener("keydown", (event) => event.key === "Escape" && (details.open = false));
  return details;
}

/** @param {HTMLButtonElement} button */
async function copyLink(button) {
  const isCopied = await navigator.clipboard?.writeText(location.href).then(() => true, () => false);
  button.textContent = isCopied ? "Copied" : "Copy it from the address bar";
  setTimeout(() => (button.textContent = "Copy link"), SAID);
}

/** @param {SitePage | BlockPage} sitePage @param {HTMLElement} box */
async function drawCode({ modelFiles }, box) {
  const script = await importFrom(new URL("vendor/uqr/index.js", modelFiles)).catch((error) => void box.replaceChildren(make("p", {}, sentenceOf(error.message))));
  if (!script) return;
  try {
    const { data } = script.encode(location.href, { ecc: "L", border: 4 });
    box.replaceChildren(drawModules(data), make("p", {}, "Opens this very picture: point a phone's camera at it."));
  } catch {
    box.replaceChildren(make("p", {}, TOO_LONG));
  }
}

/** Black on white in any theme: that is what cameras read. @param {boolean[][]} rows */
function drawModules(rows) {
  const scale = Math.max(2, Math.floor(320 / rows.length));
  const canvas = make("canvas", { class: "qr", width: rows.length * scale, height: rows.length * scale, role: "img", "aria-label": "QR code of this link" });
  const context = /** @type {CanvasRenderingContext2D} */ (canvas.getContext("2d"));
  context.fillStyle = "#fff";
  context.fillRect(0, 0, canvas.width, canvas.height);
  context.fillStyle = "#000";
  for (const [y, row] of rows.entries()) for (const [x, isDark] of row.entries()) if (isDark) context.fillRect(x * scale, y * scale, scale, scale);
  return canvas;
}

/** @param {SitePage | BlockPage} sitePage @param {KeyboardEvent} event */
function press(sitePage, event) {
  if (event.ctrlKey || event.metaKey || event.altKey || event.isComposing) return;
  const isTyping = /** @type {Element} */ (event.target).matches("input, textarea, select");
  if (event.key === "Escape" && sitePage.values.present) turnPresent(sitePage, false);
  else if (event.key.toLowerCase() === "f" && !isTyping) turnPresent(sitePage, !sitePage.values.present);
}

/** @param {SitePage | BlockPage} sitePage @param {boolean} on */
function turnPresent(sitePage, on) {
  if (on) document.documentElement.requestFullscreen?.().catch(() => {});
  else if (document.fullscreenElement) document.exitFullscreen().catch(() => {});
  sitePage.change({ present: on }, { redraw: false }).catch(console.warn);
}

// A window of this size shows letters as they are; a larger screen enlarges them, so that 14 px are 28 at 1920 × 1080.
const PLAIN = { width: 960, height: 540 };

const MARGIN = 8;

/** @param {boolean} on */
function showPresent(on) {
  const page = document.documentElement;
  const hasChanged = page.classList.contains("presenting") !== on;
  page.classList.toggle("presenting", on);
  for (const { shadowRoot } of document.querySelectorAll("#picture, #passage div")) {
    for (const root of shadowRoot?.querySelectorAll(".explorer, .alignment, .compute, .markup") ?? []) root.toggleAttribute("data-presenting", on);
  }
  if (!on) page.style.removeProperty("--picture-height");
  if (hasChanged) dispatchEvent(new Event("resize"));
  fitPicture();
}

/** A picture that takes its height from the room there is gets all that the rest leaves, as in attnviz/ui/frame/present.js. */
function fitPicture() {
  const page = document.documentElement, isOn = page.classList.contains("presenting");
  const zoom = isOn ? Math.max(1, Math.min(innerWidth / PLAIN.width, innerHeight / PLAIN.height)) : 1;
  page.style.setProperty("--zoom", String(zoom));
  const hero = /** @type {HTMLElement} */ (document.getElementById("hero"));
  const canvases = [...(document.getElementById("picture")?.shadowRoot?.querySelectorAll("canvas[tabindex]") ?? [])];
  if (!isOn || !canvases.length) return;
  const heightOf = (/** @type {Element} */ element) => element.getBoundingClientRect().height;
  const rest = heightOf(hero) - Math.max(...canvases.map((each) => heightOf(each.closest(".picture") ?? each)));
  const height = `${Math.max(120, Math.floor((innerHeight - rest) / zoom - 2 * MARGIN))}px`;
  if (page.style.getPropertyValue("--picture-height") === height) return;
  page.style.setProperty("--picture-height", height);
  dispatchEvent(new Event("resize"));
}
