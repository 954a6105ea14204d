// Canvases at the screen's own resolution, and the labels on them.

const LABEL = 14;

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

/** As much of a text as fits, in the context's font. @param {CanvasRenderingContext2D} context @param {string} text @param {number} room */
export function shorten(context, text, room) {
  const letters = Array.from(text);
  let part = text;
  while (part.length > 1 && context.measureText(part).width > room) {
    letters.pop();
    part = `${letters.join("")}…`;
  }
  return part;
}

// From one set of numbers to another, at once where a person asked for less motion.

const LASTS = 160;

export class Motion {
  #frame = 0;

  stop() {
    cancelAnimationFrame(this.#frame);
  }

  /**
   * @template {string} Name
   * @param {Record<Name, number>} from @param {Record<Name, number>} goal @param {(numbers: Record<Name, number>) => void} step
   */
  start(from, goal, step) {
    this.stop();
    if (matchMedia("(prefers-reduced-motion: reduce)").matches) return step(goal);
    const began = performance.now();
    const names = /** @type {Name[]} */ (Object.keys(goal));
    /** @param {number} now */
    const frame = (now) => {
      const share = clamp((now - began) / LASTS, 0, 1);
      const eased = share * (2 - share);
      if (share < 1) this.#frame = requestAnimationFrame(frame);
      const numbers = { ...goal };
      for (const name of names) numbers[name] = from[name] + (goal[name] - from[name]) * eased;
      step(numbers);
    };
    this.#frame = requestAnimationFrame(frame);
  }
}

/** Redraws a canvas that shows a part of a longer list while it is scrolled. @param {HTMLElement} frame @param {() => void} paint */
export function onScroll(frame, paint) {
  let frameOfTime = 0;
  frame.addEventListener("scroll", () => {
    cancelAnimationFrame(frameOfTime);
    frameOfTime = requestAnimationFrame(paint);
  });
}
