// The popover at the chosen word: each token that it was written with, its probability, and what could stand in its place.

import { clamp, make, word } from "./paint.js";

export class Choices {
  constructor(app) {
    this.app = app;
    this.element = make("div", { class: "choices", role: "dialog", hidden: true });
    this.element.addEventListener("keydown", (event) => this.key(event));
    this.onPress = (event) => {
      const path = event.composedPath();
      const isWord = path.some((each) => each.matches?.("[data-pick]"));
      if (!this.element.hidden && !path.includes(this.element) && !(isWord && path.includes(app.root))) app.closeChoices();
    };
    document.addEventListener("pointerdown", this.onPress);
  }

  destroy() {
    document.removeEventListener("pointerdown", this.onPress);
  }

  draw() {
    const { app, element } = this;
    const { model, chosen, name } = app;
    const choices = model.choices[chosen.query];
    element.hidden = !app.isOpen || !choices.length;
    for (const each of app.pair.target.children) {
      if (each.ariaHasPopup) each.setAttribute("aria-expanded", !element.hidden && Number(each.dataset.row) === chosen.query);
    }
    if (element.hidden) return;
    const drawn = `${name} ${model.slot} ${chosen.query}`;
    if (this.drawn !== drawn) {
      this.drawn = drawn;
      const close = make("button", { type: "button", class: "close", "aria-label": "Close", onclick: () => app.closeChoices({ focus: true }) }, "×");
      const canSteer = choices.some(({ alternatives }) => alternatives.some(([, , can]) => can));
      const hint = canSteer ? "Click one: the model goes on from there." : "The target was typed: change it there.";
      element.setAttribute("aria-label", `What could stand in place of ${model.queries[chosen.query][0]}`);
      element.replaceChildren(close, make("p", {}, hint), make("div", { class: "steps" }, ...choices.map((each) => this.step(each))));
    }
    this.place();
  }

  step({ step, text, p, fixed, alternatives }) {
    const buttons = alternatives.map(([name, value, can], place) =>
      make("button", { type: "button", class: "alternative", disabled: !can, "data-choice": `${step}:${place}`, onclick: () => this.app.steer(step, place) },
        make("i", { style: `width:${100 * clamp(value, 0, 1)}%` }), word(name), make("em", {}, value.toFixed(2))));
    const written = make("div", { class: "written" }, word(text), make("em", {}, p.toFixed(2)));
    return make("div", { class: fixed ? "step fixed" : "step" }, written, ...buttons);
  }

  // Below its word, or above it where the picture ends; never over the edge.
  place() {
    const { app, element } = this;
    const at = app.pair.wordAt(app.chosen.query);
    const [frame, anchor] = [app.root.getBoundingClientRect(), at.getBoundingClientRect()];
    const left = clamp(anchor.left - frame.left, 0, Math.max(0, frame.width - element.offsetWidth));
    const below = anchor.bottom - frame.top + 4;
    const above = anchor.top - frame.top - element.offsetHeight - 4;
    element.style.left = `${left}px`;
    element.style.top = `${below + element.offsetHeight > frame.height + 40 && above > 0 ? above : below}px`;
  }

  focus() {
    const { element } = this;
    (element.querySelector(".alternative:enabled") ?? element.querySelector(".close"))?.focus({ preventScroll: true });
  }

  key(event) {
    if (event.key === "Escape") this.app.closeChoices({ focus: true });
    else if (event.key === "ArrowDown" || event.key === "ArrowUp") {
      const all = Array.from(this.element.querySelectorAll(".alternative:enabled"));
      const at = all.indexOf(event.target.closest(".alternative")) + (event.key === "ArrowDown" ? 1 : -1);
      all[(at + all.length) % all.length]?.focus();
    } else return;
    event.preventDefault();
  }
}
