// The matrix of one head in large, and those of all heads in small; the cells of both are filled by the same function.

import { clamp, fit, contextOf } from "../drawing/canvas.js";
import { ARROWS, layered, make, word, listen } from "../drawing/elements.js";
import { counted } from "../drawing/numbers.js";
import { drawEdits, drawLines, columnLabel, drawCross, labelled, marginBelow, margins, rowLabel } from "../drawing/matrix_marks.js";
import { AlignmentPart } from "./alignment_part.js";

/**
 * @import { Frame } from "../drawing/matrix_marks.js"
 * @import { Surface } from "../drawing/surface.js"
 * @import { Model } from "./alignment_state.js"
 * @import { Parts } from "./alignment_part.js"
 */

// The cells of an alignment in the colours of their weights, large or small.

const LINES_FROM = 6;

/** Where the cells of a model stand. @param {Model} model @param {number} left @param {number} top @param {number} cell @returns {Frame} */
function frameOf({ queries, keys }, left, top, cell) {
  return { left, top, cell, width: cell * keys.length, height: cell * queries.length, x: 0, y: 0, ratio: devicePixelRatio };
}

/** @param {CanvasRenderingContext2D} context @param {Model} model @param {Frame} frame @param {Surface} surface @param {number} highest */
function drawAlignment(context, model, frame, { palette, colours }, highest) {
  // Under a pixel a cell, they mix.
  context.imageSmoothingEnabled = frame.cell * devicePixelRatio < 1;
  context.drawImage(model.image(palette, highest), frame.left, frame.top, frame.width, frame.height);
  if (frame.cell >= LINES_FROM) drawLines(context, frame, colours.background);
  drawEdits(context, frame, model.edits, colours);
}

/** Whole pixels of the screen, where a cell has four: then all cells are alike. Smaller ones would lose much of the room.
 * @param {number} cell */
function wholePixels(cell) {
  return cell * devicePixelRatio >= 4 ? Math.floor(cell * devicePixelRatio) / devicePixelRatio : cell;
}

// The alignment of the chosen model as a matrix: what it wrote down, what it read across. Pointer and keys over it.

/**
 * @typedef {{ query: number, key: number }} Cell
 */

const MOST_CELL = 44;
const MOST_LEAN = 110;
// So few rows keep cells of the least size that is asked for, on any window that is wide enough.
const FEW_ROWS = 16;
const BETWEEN_LABELS = 17;

export class LargeMatrix extends AlignmentPart {
  /** @type {(Frame & { wide: number, high: number }) | null} */
  size = null;
  /** @type {Cell | null} */
  at = null;
  /** @type {CanvasRenderingContext2D | null} */
  over = null;

  /** @param {Parts} parts */
  constructor(parts) {
    super(parts);
    const { canvas, overlay, stack } = layered("cells");
    this.canvas = canvas;
    this.overlay = overlay;
    this.element = make("div", { class: "pane matrix" }, stack);
    listen(this.canvas, {
      point: (event) => this.point(event && this.cellAt(event)),
      click: (event) => this.select(this.cellAt(event)),
      key: (event) => this.key(event),
    });
  }

  /** Margins for the labels, and the size of a cell, in so much room. @param {number} room @param {number} most @param {number} leastCell */
  measure(room, most, leastCell) {
    const { model } = this.state;
    const { left, top, right, wide } = margins(this.surface, this.canvas, model, room, MOST_LEAN);
    const least = model.queries.length <= FEW_ROWS ? leastCell : 0;
    const high = Math.max((most - top) / model.queries.length, least);
    const cell = wholePixels(Math.min((room - left - right) / model.keys.length, high, MOST_CELL));
    const frame = frameOf(model, left, top, cell);
    this.size = { ...frame, wide: wide(frame.width), high: top + frame.height + marginBelow(cell) };
    return this.size;
  }

  draw() {
    const { size, state, surface } = this;
    if (!size) return;
    const { model, chosen } = state;
    const { wide, high, left, top, cell } = size;
    const label = `${counted(model.queries.length, "written word")} down by ${counted(model.keys.length, "read one")} across. Arrow keys move, Enter selects.`;
    this.canvas.setAttribute("aria-label", label);
    const context = fit(this.canvas, wide, high);
    this.over = fit(this.overlay, wide, high);
    drawAlignment(context, model, size, surface, state.highest);
    for (const [query, key] of model.links) {
      context.beginPath();
      context.arc(left + (key + 0.5) * cell, top + (query + 0.5) * cell, clamp(cell / 5, 2, 6), 0, 2 * Math.PI);
      [context.fillStyle, context.strokeStyle, context.lineWidth] = [surface.colours.heads[1], surface.colours.background, 2];
      context.stroke();
      context.fill();
    }
    this.drawLabels(context, size);
    drawCross(context, size, chosen, surface.colours.accent, 2);
    this.drawPointed();
  }

  /** Every so many labels that they can be read, and those of the chosen words. @param {CanvasRenderingContext2D} context @param {Frame} frame */
  drawLabels(context, frame) {
    const { model: { queries, keys }, chosen } = this.state;
    const { accent, text } = this.surface.colours;
    /** @param {boolean} isChosen */
    const style = (isChosen) => ({ colour: isChosen ? accent : text, bold: isChosen });
    for (const query of labelled(queries.length, 0, queries.length, chosen.query, frame.cell, BETWEEN_LABELS)) {
      rowLabel(context, frame, query, queries[query][0], style(query === chosen.query));
    }
    for (const key of labelled(keys.length, 0, keys.length, chosen.key, frame.cell, BETWEEN_LABELS)) {
      columnLabel(context, frame, key, keys[key][0], style(key === chosen.key));
    }
  }

  // What is pointed at, here or in another picture.
  drawPointed() {
    const { over, size, state, surface: { colours } } = this;
    if (!over || !size) return;
    over.clearRect(0, 0, this.overlay.width, this.overlay.height);
    if (!state.pointed) return;
    const { model } = state;
    const lit = state.litIn(model);
    const style = { colour: colours.text, bold: true, backing: colours.background };
    drawCross(over, size, lit, colours.text, 1.5);
    if (lit.query !== null) rowLabel(over, size, lit.query, model.queries[lit.query][0], style);
    if (lit.key !== null) columnLabel(over, size, lit.key, model.keys[lit.key][0], style);
  }

  /** @param {MouseEvent} event @returns {Cell | null} */
  cellAt(event) {
    if (!this.size) return null;
    const { left, top, cell } = this.size;
    const [query, key] = [Math.floor((event.offsetY - top) / cell), Math.floor((event.offsetX - left) / cell)];
    const { queries, keys } = this.state.model;
    return query >= 0 && key >= 0 && query < queries.length && key < keys.length ? { query, key } : null;
  }

  /** @param {Cell | null} place */
  point(place) {
    const { actions, surface, size, state: { model } } = this;
    this.at = place;
    actions.pointAt(place && { model, ...place });
    if (!place || !size) return surface.note.hide();
    const [target, source] = [model.queries[place.query][0], model.keys[place.key][0]];
    const value = model.masked(place.query, place.key) ? "masked" : model.weight(place.query, place.key).toFixed(4);
    const [x, y] = [size.left + (place.key + 1) * size.cell, size.top + (place.query + 1) * size.cell];
    const names = [make("strong", {}, word(target)), " ← ", make("strong", {}, word(source))];
    surface.note.show(this.canvas, x, y, names, [`${model.said.number} `, make("strong", {}, value)]);
    surface.live.say(`${target} from ${source}, ${value}`);
  }

  /** @param {Cell | null} place */
  select(place) {
    if (place) this.actions.select(place.query, place.key);
  }

  /** @param {KeyboardEvent} event */
  key(event) {
    const at = this.at ?? this.state.chosen;
    if (event.key === "Enter" || event.key === " ") this.select(at);
    else if (event.key in ARROWS) {
      const [down, right] = ARROWS[event.key];
      const { queries, keys } = this.state.model;
      this.point({ query: clamp(at.query + down, 0, queries.length - 1), key: clamp(at.key + right, 0, keys.length - 1) });
    } else return;
    event.preventDefault();
  }
}

// The other models' matrices, small, on the same scale of colours. A click makes one the large picture.

/**
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
