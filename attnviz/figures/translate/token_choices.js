// The popover at the chosen word: each token that it was written with, its probability, and what could stand in its place.

import { clamp } from "../drawing/canvas.js";
import { make, word } from "../drawing/elements.js";
import { AlignmentPart } from "./view.js";

/**
 * @import { Choice } from "./model_translation.js"
 * @import { Parts } from "./view.js"
 * @import { WordPair } from "./word_pair.js"
 */

export class Choices extends AlignmentPart {
  /** @param {Parts} parts @param {WordPair} pair */
  constructor(parts, pair) {
    super(parts);
    this.pair = pair;
    this.element = make("div", { class: "choices", role: "dialog", hidden: true });
    this.element.addEventListener("keydown", (event) => this.key(event));
    /** @param {Event} event */
    const onPress = (event) => {
      const path = event.composedPath();
      const isWord = path.some((each) => each instanceof Element && each.matches("[data-pick]"));
      const isOutside = !path.includes(this.element) && !(isWord && path.includes(this.surface.root));
      if (!this.element.hidden && isOutside) this.actions.closeChoices();
    };
    document.addEventListener("pointerdown", onPress, { signal: this.surface.leaving });
  }

  draw() {
    const { element, state } = this;
    const { choices, chosen, model } = state;
    element.hidden = !state.isOpen || !choices.length;
    this.pair.markOpen(element.hidden ? null : chosen.query);
    if (element.hidden) return;
    if (this.changes(`${state.drawn} ${chosen.query}`)) {
      const onclick = () => this.actions.closeChoices({ focus: true });
      const close = make("button", { type: "button", class: "close", "aria-label": "Close", onclick }, "×");
      const canSteer = choices.some(({ alternatives }) => alternatives.some(([, , can]) => can));
      const hint = canSteer ? "Click one: the model goes on from there." : "The target was typed: change it there.";
      element.setAttribute("aria-label", `What could stand in place of ${model.queries[chosen.query][0]}`);
      element.replaceChildren(close, make("p", {}, hint), make("div", { class: "steps" }, ...choices.map((each) => this.step(each))));
    }
    this.place();
  }

  /** @param {Choice} choice */
  step({ step, text, p, fixed, alternatives }) {
    const buttons = alternatives.map(([name, value, can], place) => {
      const attributes = { type: "button", class: "alternative", disabled: !can, "data-choice": `${step}:${place}` };
      const share = make("i");
      share.style.width = `${100 * clamp(value, 0, 1)}%`;
      const onclick = () => this.actions.steer(step, place);
      return make("button", { ...attributes, onclick }, share, word(name), make("em", {}, value.toFixed(2)));
    });
    const written = make("div", { class: "written" }, word(text), make("em", {}, p.toFixed(2)));
    return make("div", { class: fixed ? "step fixed" : "step" }, written, ...buttons);
  }

  // Below its word, or above it where the picture ends; never over the edge.
  place() {
    const { element } = this;
    const at = this.pair.wordAt(this.state.chosen.query);
    const [frame, anchor] = [this.surface.root.getBoundingClientRect(), at.getBoundingClientRect()];
    const left = clamp(anchor.left - frame.left, 0, Math.max(0, frame.width - element.offsetWidth));
    const below = anchor.bottom - frame.top + 4;
    const above = anchor.top - frame.top - element.offsetHeight - 4;
    element.style.left = `${left}px`;
    element.style.top = `${below + element.offsetHeight > frame.height + 40 && above > 0 ? above : below}px`;
  }

  /** @returns {HTMLElement[]} */
  get open() {
    return Array.from(this.element.querySelectorAll(".alternative:enabled"));
  }

  focus() {
    /** @type {HTMLElement | null} */
    const close = this.element.querySelector(".close");
    (this.open[0] ?? close)?.focus({ preventScroll: true });
  }

  /** @param {KeyboardEvent} event */
  key(event) {
    if (event.key === "Escape") this.actions.closeChoices({ focus: true });
    else if (event.key === "ArrowDown" || event.key === "ArrowUp") {
      const all = this.open;
      const from = all.findIndex((each) => each.contains(/** @type {Node} */ (event.target)));
      const to = from + (event.key === "ArrowDown" ? 1 : -1);
      all[(to + all.length) % all.length]?.focus();
    } else return;
    event.preventDefault();
  }
}
