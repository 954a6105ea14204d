// The other models' matrices, small, on the same scale of colours. A click makes one the large picture.

import { contextOf, fit } from "../drawing/canvas.js";
import { make } from "../drawing/elements.js";
import { drawCross } from "../drawing/matrix.js";
import { drawAlignment, frameOf, wholePixels } from "./cells.js";
import { AlignmentPart } from "./view.js";

/**
 * @import { Model } from "./model_translation.js"
 * @import { Parts } from "./view.js"
 * @typedef {{ model: Model, button: HTMLButtonElement, canvas: HTMLCanvasElement, cell: number }} SmallMatrix
 */

const [SIDE, MOST_SMALL_CELL] = [172, 18];

export class SmallMatrices extends AlignmentPart {
  /** @type {SmallMatrix[]} */
  matrices = [];

  /** @param {Parts} parts */
  constructor(parts) {
    super(parts);
    this.element = make("div", { class: "small", role: "group", "aria-label": "The other models" });
  }

  /** So wide is the place of one, and so high that of all, one above the other; in a row they may be as high as they like.
   * @param {number} width @param {number} height */
  draw(width, height) {
    const { models, model, drawn } = this.state;
    const others = models.filter((each) => each !== model);
    this.element.hidden = !others.length;
    if (this.changes(drawn)) {
      this.matrices = others.map((each) => this.matrix(each));
      this.element.replaceChildren(...this.matrices.map(({ button }) => button));
    }
    const side = Math.min(width, SIDE);
    const room = height / Math.max(others.length, 1) - 40;
    for (const each of this.matrices) {
      const { queries, keys } = each.model;
      each.cell = wholePixels(Math.max(Math.min(side / keys.length, room / queries.length, MOST_SMALL_CELL), 0.5));
      fit(each.canvas, each.cell * keys.length + 2, each.cell * queries.length + 2);
    }
    this.drawPointed();
  }

  /** @param {Model} model @returns {SmallMatrix} */
  matrix(model) {
    const canvas = make("canvas", { class: "thumb" });
    const { slot, said: { name } } = model;
    const attributes = { type: "button", title: `Show ${name} large`, "data-slot": slot, onclick: () => this.actions.show(slot) };
    const button = make("button", attributes, make("span", {}, make("bdi", {}, name)), canvas);
    const matrix = { model, button, canvas, cell: 0 };
    button.addEventListener("pointermove", (event) => this.point(matrix, event));
    button.addEventListener("pointerleave", () => this.actions.pointAt(null));
    return matrix;
  }

  /** @param {SmallMatrix} matrix @param {PointerEvent} event */
  point({ model, canvas, cell }, event) {
    const [query, key] = [Math.floor((event.offsetY - 1) / cell), Math.floor((event.offsetX - 1) / cell)];
    const isIn = query >= 0 && key >= 0 && query < model.queries.length && key < model.keys.length;
    this.actions.pointAt(event.target === canvas && isIn ? { model, query, key } : null);
  }

  drawPointed() {
    const { state, surface } = this;
    const { accent, text } = surface.colours;
    for (const { model, canvas, cell } of this.matrices) {
      const context = contextOf(canvas);
      const frame = frameOf(model, 1, 1, cell);
      context.clearRect(0, 0, canvas.width, canvas.height);
      drawAlignment(context, model, frame, surface, state.highest);
      drawCross(context, frame, state.litIn(model), state.pointed ? text : accent, 1.5);
    }
  }
}
