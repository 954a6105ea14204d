// The other models' matrices, small, on the same scale of colours. A click makes one the large picture.

import { markEdits, markWords, paintCells, wholePixels } from "./cells.js";
import { fit, make } from "./paint.js";

const [SIDE, MOST_SMALL_CELL] = [172, 18];

export class SmallMatrices {
  constructor(app) {
    this.app = app;
    this.element = make("div", { class: "small", role: "group", "aria-label": "The other models" });
    this.shown = [];
  }

  // So wide is the place of one, and so high that of all, one above the other; in a row they may be as high as they like.
  draw(width, height) {
    const { models, model, name } = this.app;
    const others = models.filter((each) => each !== model);
    this.element.hidden = !others.length;
    const drawn = `${name} ${model.slot}`;
    if (this.drawn !== drawn) {
      this.drawn = drawn;
      this.shown = others.map((each) => this.button(each));
      this.element.replaceChildren(...this.shown.map(({ button }) => button));
    }
    const side = Math.min(width, SIDE);
    const room = height / Math.max(others.length, 1) - 40;
    for (const each of this.shown) {
      const { queries, keys } = each.model;
      each.cell = wholePixels(Math.max(Math.min(side / keys.length, room / queries.length, MOST_SMALL_CELL), 0.5));
      each.context = fit(each.canvas, each.cell * keys.length + 2, each.cell * queries.length + 2);
    }
    this.drawPointed();
  }

  button(model) {
    const canvas = make("canvas", { class: "thumb" });
    const button = make("button", { type: "button", title: `Show ${model.name} large`, "data-slot": model.slot, onclick: () => this.app.show(model.slot) },
      make("span", {}, make("bdi", {}, model.name)), canvas);
    button.addEventListener("pointermove", (event) => this.point(model, event.target === canvas ? event : null));
    button.addEventListener("pointerleave", () => this.app.pointAt(null));
    return { model, button, canvas };
  }

  point(model, event) {
    const { cell } = this.shown.find((each) => each.model === model);
    const [query, key] = event ? [Math.floor((event.offsetY - 1) / cell), Math.floor((event.offsetX - 1) / cell)] : [-1, -1];
    const isThere = query >= 0 && key >= 0 && query < model.queries.length && key < model.keys.length;
    this.app.pointAt(isThere ? { model, query, key } : null);
  }

  drawPointed() {
    const { app } = this;
    for (const { model, context, canvas, cell } of this.shown) {
      const size = { left: 1, top: 1, cell };
      context.clearRect(0, 0, canvas.width, canvas.height);
      paintCells(context, model, size, app);
      markEdits(context, model, size, app);
      markWords(context, model, size, app.litIn(model), [app.pointed ? app.palette.text : app.palette.accent, 1.5]);
    }
  }
}
