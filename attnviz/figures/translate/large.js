// The alignment of the chosen model as a matrix: what it wrote down, what it read across. Pointer and keys over it.

import { markEdits, markWords, paintCells, wholePixels } from "./cells.js";
import { TEXT } from "./model.js";
import { clamp, cut, fit, fontOf, make, word } from "./paint.js";

const MOST_CELL = 44;
// So few rows keep cells of the least size that is asked for, on any window that is wide enough.
const FEW_ROWS = 16;
const BETWEEN_LABELS = 17;
const STEPS = { ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1] };

export class LargeMatrix {
  constructor(app) {
    this.app = app;
    this.canvas = make("canvas", { tabindex: "0", role: "application", class: "cells" });
    this.overlay = make("canvas", { class: "overlay", "aria-hidden": "true" });
    this.element = make("div", { class: "pane matrix" }, make("div", { class: "stack" }, this.canvas, this.overlay));
    const { canvas } = this;
    canvas.addEventListener("pointermove", (event) => this.point(this.cellAt(event)));
    canvas.addEventListener("pointerleave", () => this.point(null));
    canvas.addEventListener("blur", () => this.point(null));
    canvas.addEventListener("click", (event) => this.select(this.cellAt(event)));
    canvas.addEventListener("keydown", (event) => this.key(event));
  }

  // Margins for the labels, and the size of a cell, in so much room.
  measure(room, most, leastCell) {
    const { queries, keys } = this.app.model;
    const context = this.canvas.getContext("2d");
    context.font = fontOf(this.canvas, "bold");
    const widest = (tokens) => Math.max(...tokens.map((token) => context.measureText(cut(token[TEXT])).width));
    const left = Math.min(widest(queries) + 12, room * 0.3);
    // Labels lean at 45 degrees; the last one reaches over the right edge.
    const lean = Math.min(widest(keys) * 0.71, 110);
    const [top, right] = [lean + 18, Math.min(lean, 60)];
    const least = queries.length <= FEW_ROWS ? leastCell : 0;
    const high = Math.max((most - top) / queries.length, least);
    const cell = wholePixels(Math.min((room - left - right) / keys.length, high, MOST_CELL));
    this.size = { left, top, cell, wide: left + cell * keys.length + right, high: top + cell * queries.length + 2 };
    return this.size;
  }

  draw() {
    const { model, palette } = this.app;
    const { wide, high, left, top, cell } = this.size;
    const label = `${model.queries.length} written words down by ${model.keys.length} read ones across. Arrow keys move, Enter selects.`;
    this.canvas.setAttribute("aria-label", label);
    this.context = fit(this.canvas, wide, high);
    this.over = fit(this.overlay, wide, high);
    paintCells(this.context, model, this.size, this.app);
    markEdits(this.context, model, this.size, this.app);
    for (const [query, key] of model.links ?? []) {
      this.context.beginPath();
      this.context.arc(left + (key + 0.5) * cell, top + (query + 0.5) * cell, clamp(cell / 5, 2, 6), 0, 2 * Math.PI);
      [this.context.fillStyle, this.context.strokeStyle, this.context.lineWidth] = [palette.heads[1], palette.background, 2];
      this.context.stroke();
      this.context.fill();
    }
    this.labels();
    markWords(this.context, model, this.size, this.app.chosen, [palette.accent, 2]);
    this.drawPointed();
  }

  // Every so many labels that they can be read, and those of the chosen words.
  labels() {
    const { model, palette, chosen } = this.app;
    const step = Math.max(1, Math.ceil(BETWEEN_LABELS / this.size.cell));
    const shown = (count, selected) =>
      Array.from({ length: count }, (_, at) => at).filter((at) => at === selected || (at % step === 0 && Math.abs(at - selected) >= step));
    for (const query of shown(model.queries.length, chosen.query)) {
      this.rowLabel(this.context, query, query === chosen.query ? palette.accent : palette.text, query === chosen.query);
    }
    for (const key of shown(model.keys.length, chosen.key)) {
      this.columnLabel(this.context, key, key === chosen.key ? palette.accent : palette.text, key === chosen.key);
    }
  }

  rowLabel(context, query, colour, bold, backing = null) {
    const { left, top, cell } = this.size;
    const y = top + (query + 0.5) * cell;
    context.save();
    context.beginPath();
    context.rect(0, y - 14, left, 28);
    context.clip();
    context.font = fontOf(this.canvas, bold ? "bold" : "");
    context.textAlign = "right";
    if (backing) {
      context.fillStyle = backing;
      context.fillRect(0, y - 11, left - 2, 22);
    }
    context.fillStyle = colour;
    context.fillText(cut(this.app.model.queries[query][TEXT]), left - 7, y);
    context.restore();
  }

  columnLabel(context, key, colour, bold, backing = null) {
    const { left, top, cell } = this.size;
    const text = cut(this.app.model.keys[key][TEXT]);
    context.save();
    context.translate(left + (key + 0.5) * cell + 3, top - 8);
    context.rotate(-Math.PI / 4);
    context.font = fontOf(this.canvas, bold ? "bold" : "");
    context.textAlign = "left";
    if (backing) {
      context.fillStyle = backing;
      context.fillRect(-3, -11, context.measureText(text).width + 6, 22);
    }
    context.fillStyle = colour;
    context.fillText(text, 0, 0);
    context.restore();
  }

  // What is pointed at, here or in another picture.
  drawPointed() {
    if (!this.over) return;
    this.over.clearRect(0, 0, this.overlay.width, this.overlay.height);
    const lit = this.app.litIn(this.app.model);
    if (!this.app.pointed || (lit.query === null && lit.key === null)) return;
    const { palette } = this.app;
    markWords(this.over, this.app.model, this.size, lit, [palette.text, 1.5]);
    if (lit.query !== null) this.rowLabel(this.over, lit.query, palette.text, true, palette.background);
    if (lit.key !== null) this.columnLabel(this.over, lit.key, palette.text, true, palette.background);
  }

  cellAt(event) {
    const { left, top, cell } = this.size;
    const [query, key] = [Math.floor((event.offsetY - top) / cell), Math.floor((event.offsetX - left) / cell)];
    const { queries, keys } = this.app.model;
    return query >= 0 && key >= 0 && query < queries.length && key < keys.length ? { query, key } : null;
  }

  point(place) {
    const { app } = this;
    this.at = place;
    app.pointAt(place && { model: app.model, ...place });
    if (!place) return app.note.hide();
    const { model } = app;
    const [target, source] = [model.queries[place.query][TEXT], model.keys[place.key][TEXT]];
    const value = model.masked(place.query, place.key) ? "masked" : model.weight(place.query, place.key).toFixed(4);
    const { left, top, cell } = this.size;
    const names = [make("strong", {}, word(target)), " ← ", make("strong", {}, word(source))];
    app.note.show(this.canvas, left + (place.key + 1) * cell, top + (place.query + 1) * cell, names, [`${model.number} `, make("strong", {}, value)]);
    app.live.say(`${target} from ${source}, ${value}`);
  }

  select(place) {
    if (place) this.app.select(place.query, place.key);
  }

  key(event) {
    const at = this.at ?? this.app.chosen;
    if (event.key === "Enter" || event.key === " ") this.select(at);
    else if (event.key in STEPS) {
      const [down, right] = STEPS[event.key];
      const { queries, keys } = this.app.model;
      this.point({ query: clamp(at.query + down, 0, queries.length - 1), key: clamp(at.key + right, 0, keys.length - 1) });
    } else return;
    event.preventDefault();
  }
}
