// Canvases at the screen's own resolution, and the labels on them.

const LABEL = 14;
const LONGEST_LABEL = 24;

/** @param {number} value @param {number} low @param {number} high */
export const clamp = (value, low, high) => Math.min(Math.max(value, low), high);

/** @param {HTMLCanvasElement} canvas */
export const contextOf = (canvas) => /** @type {CanvasRenderingContext2D} */ (canvas.getContext("2d"));

/** Device pixels of a CSS pixel; the page that presents enlarges them. @param {Element} element */
export const pixelRatio = (element) => (window.devicePixelRatio || 1) * (element.currentCSSZoom || 1);

/** A canvas of so many CSS pixels, cleared; its context draws in CSS pixels.
 * @param {HTMLCanvasElement} canvas @param {number} width @param {number} height */
export function fit(canvas, width, height) {
  const ratio = pixelRatio(canvas);
  canvas.width = Math.round(width * ratio);
  canvas.height = Math.round(height * ratio);
  canvas.style.width = `${width}px`;
  canvas.style.height = `${height}px`;
  const context = contextOf(canvas);
  context.setTransform(ratio, 0, 0, ratio, 0, 0);
  context.imageSmoothingEnabled = false;
  context.textBaseline = "middle";
  context.font = fontOf(canvas);
  return context;
}

/** @param {Element} element */
export const fontOf = (element, style = "") => `${style} ${LABEL}px ${getComputedStyle(element).fontFamily}`;

/** @param {string} text */
export const cut = (text) => (text.length > LONGEST_LABEL ? `${text.slice(0, LONGEST_LABEL - 1)}…` : text);

/** As much of a text as fits, in the context's font. @param {CanvasRenderingContext2D} context @param {string} text @param {number} room */
export function shorten(context, text, room) {
  let part = text;
  while (part.length > 1 && context.measureText(part).width > room) part = `${part.slice(0, part.endsWith("…") ? -2 : -1)}…`;
  return part;
}
