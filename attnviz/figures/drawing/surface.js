// Where a picture is drawn: its element, the colours, the note beside the pointer, and how much room there is. It lives until
// its element has left the page.

import { contextOf, fontOf } from "./canvas.js";
import { cut, make } from "./elements.js";
import { Palette } from "./palette.js";
import { THEMES } from "./themes.js";

const COLOURS = /** @type {const} */ (["background", "panel", "text", "faint", "border", "accent", "masked"]);

export class Surface {
  /** @type {Palette} */
  palette = /** @type {any} */ (null);
  theme = "";
  #laidOut = "";
  #leaving = new AbortController();
  /** @type {WeakMap<object, number>} */
  #widths = new WeakMap();

  /** @param {HTMLElement} root @param {() => void} layOut called when the room, the theme or the font has changed */
  constructor(root, layOut) {
    this.root = root;
    this.note = new Note(root);
    this.live = new LiveRegion();
    const { leaving: signal } = this;
    // The picture's own height is what it makes itself: only its width counts, and the window's height.
    const resize = () => this.#laidOut === this.#room() || requestAnimationFrame(layOut);
    const observer = new ResizeObserver(resize);
    observer.observe(root);
    signal.addEventListener("abort", () => observer.disconnect());
    window.addEventListener("resize", resize, { signal });
    this.media = matchMedia("(prefers-color-scheme: dark)");
    const onMedia = () => {
      if (this.theme) this.setTheme(this.theme);
      layOut();
    };
    this.media.addEventListener("change", onMedia, { signal });
    // Labels are measured: in the page's own font, which may come late.
    const remeasure = () => {
      this.#widths = new WeakMap();
      layOut();
    };
    document.fonts.addEventListener("loadingdone", remeasure, { signal });
  }

  // Aborted when the picture leaves its page.
  get leaving() {
    return this.#leaving.signal;
  }

  get hasLeft() {
    return this.leaving.aborted;
  }

  end() {
    this.#leaving.abort();
  }

  /** Takes the colours of a theme, or with "auto" of the one that the reader's system is set to. @param {string} theme */
  setTheme(theme) {
    this.theme = theme;
    const name = theme === "auto" ? (this.media.matches ? "dark" : "light") : theme;
    if (this.palette?.theme.name !== name) this.palette = new Palette(THEMES[name]);
    for (const part of COLOURS) this.root.style.setProperty(`--${part}`, this.colours[part]);
    this.root.style.colorScheme = name;
  }

  get colours() {
    return this.palette.theme;
  }

  #room() {
    return `${this.root.clientWidth} ${window.innerHeight} ${this.presentedHeight}`;
  }

  // Called when the picture has been laid out for the room there is.
  noteRoom() {
    this.#laidOut = this.#room();
  }

  // What the page leaves to the picture while it presents; else 0.
  get presentedHeight() {
    return Number.parseFloat(getComputedStyle(this.root).getPropertyValue("--picture-height")) || 0;
  }

  /** How wide the widest label of some tokens is, in bold. @param {HTMLCanvasElement} canvas @param {readonly [string, ...any][]} tokens */
  widest(canvas, tokens) {
    if (!this.#widths.has(tokens)) {
      const context = contextOf(canvas);
      context.font = fontOf(canvas, "bold");
      this.#widths.set(tokens, Math.max(...tokens.map(([text]) => context.measureText(cut(text)).width)));
    }
    return /** @type {number} */ (this.#widths.get(tokens));
  }
}

// What is said of what is pointed at: in the note beside the pointer, and to a screen reader.

const SAY_AFTER = 150;

/** @typedef {string | (Node | string)[]} Line */

// A bold line, and lines below it.
export class Note {
  /** @param {HTMLElement} root */
  constructor(root) {
    this.element = make("div", { class: "note", hidden: true, "aria-hidden": "true" });
    this.root = root;
  }

  /** `x`, `y`: a point of `place`, in its CSS pixels. @param {Element} place @param {number} x @param {number} y @param {Line[]} lines */
  show(place, x, y, ...lines) {
    const { element, root } = this;
    element.replaceChildren(...lines.map((line) => make("div", {}, ...[line].flat())));
    element.hidden = false;
    const from = place.getBoundingClientRect();
    const frame = root.getBoundingClientRect();
    const left = from.left - frame.left + x + 14;
    const top = from.top - frame.top + y + 14;
    const fits = left + element.offsetWidth <= frame.width;
    const room = frame.top + top + element.offsetHeight <= window.innerHeight;
    element.style.left = `${Math.max(0, fits ? left : left - element.offsetWidth - 28)}px`;
    element.style.top = `${room ? top : top - element.offsetHeight - 28}px`;
  }

  hide() {
    this.element.hidden = true;
  }
}

// Says to a screen reader only what one rests on.
export class LiveRegion {
  /** @type {number | undefined} */
  #timer;

  constructor() {
    this.element = make("p", { class: "live", "aria-live": "polite" });
  }

  /** @param {string} text */
  say(text) {
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => (this.element.textContent = text), SAY_AFTER);
  }
}
