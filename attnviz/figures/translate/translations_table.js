// The translations, a row a model: what differs from the others is marked. With one model, its translation in large type.

import { around, make } from "../drawing/elements.js";
import { AlignmentPart } from "./view.js";

/**
 * @import { Model } from "./model_translation.js"
 * @import { Parts } from "./view.js"
 */

export class TranslationsTable extends AlignmentPart {
  /** @param {Parts} parts */
  constructor(parts) {
    super(parts);
    this.element = make("div", { class: "translations" });
    this.element.addEventListener("pointerover", (event) => this.point(around(event, "[data-row]")));
    this.element.addEventListener("pointerleave", () => this.actions.pointAt(null));
  }

  /** @param {HTMLElement | null} element */
  point(element) {
    const row = /** @type {HTMLElement | null | undefined} */ (element?.closest("[data-slot]"));
    const model = row && this.modelOf(row);
    this.actions.pointAt(model ? { model, query: Number(element?.dataset.row), key: null } : null);
  }

  get rows() {
    return /** @type {HTMLElement[]} */ (Array.from(this.element.querySelectorAll("[data-slot]")));
  }

  /** @param {HTMLElement} row */
  modelOf(row) {
    return this.state.models.find(({ slot }) => slot === Number(row.dataset.slot));
  }

  draw() {
    const { models, name, model } = this.state;
    if (this.changes(name)) this.element.replaceChildren(models.length === 1 ? this.alone(models[0]) : this.table(models));
    for (const row of this.rows) {
      const isChosen = Number(row.dataset.slot) === model.slot;
      row.classList.toggle("chosen", isChosen);
      row.querySelector("button")?.setAttribute("aria-pressed", String(isChosen));
    }
    this.drawPointed();
  }

  /** @param {Model} model */
  alone({ slot, said }) {
    const facts = [said.name, said.head].filter(Boolean).join(" · ");
    return make("p", { class: "answer", "data-slot": slot }, sentence(said), " ", make("small", {}, facts));
  }

  /** @param {Model[]} models */
  table(models) {
    const more = models.some(({ said }) => said.parts.some(([, , differs]) => differs)) ? " · marked: the models chose different words" : "";
    const heads = [make("th", { scope: "col" }, "Model"), make("th", { scope: "col" }, "Translation", make("small", {}, more))];
    return make("table", {}, make("thead", {}, make("tr", {}, ...heads)), make("tbody", {}, ...models.map((each) => this.row(each))));
  }

  /** @param {Model} model */
  row({ slot, said }) {
    const name = make("button", { type: "button" }, make("bdi", {}, said.name), make("small", {}, said.head ? ` ${said.head}` : ""));
    return make("tr", { "data-slot": slot, onclick: () => this.actions.show(slot) },
      make("th", { scope: "row" }, name), make("td", { class: "answer" }, sentence(said)));
  }

  // The same words light up in all translations.
  drawPointed() {
    for (const row of this.rows) {
      const model = this.modelOf(row);
      const query = model && this.state.litIn(model).query;
      const parts = /** @type {NodeListOf<HTMLElement>} */ (row.querySelectorAll("[data-row]"));
      for (const part of parts) part.classList.toggle("lit", Number(part.dataset.row) === query);
    }
  }
}

/** @param {Model["said"]} said */
function sentence({ parts, directions }) {
  const words = parts.map(([text, row, differs]) => {
    if (row === null && !differs) return text;
    return make(differs ? "mark" : "span", row === null ? {} : { "data-row": row }, text);
  });
  return make("bdi", { dir: directions[0] }, ...(words.length ? words : [make("em", {}, "nothing")]));
}
