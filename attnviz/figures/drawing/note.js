// What is said of what is pointed at: in the note beside the pointer, and to a screen reader.

import { make } from "./elements.js";

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
