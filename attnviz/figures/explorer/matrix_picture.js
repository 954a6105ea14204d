// The picture of one head: queries down, keys across. Cells that share a pixel show the largest of them.

import { clamp, fit, pixelRatio } from "../drawing/canvas.js";
import { drawEdits } from "../drawing/edit_marks.js";
import { layered, make } from "../drawing/elements.js";
import { columnLabel, drawCross, drawLines, labelled, Legend, margins, rowLabel } from "../drawing/matrix.js";
import { endOf } from "./colour_limit.js";
import { headTitle } from "./head_names.js";
import { MASKED } from "./head_store.js";
import { matrixHeight, visiblePart } from "./heights.js";
import { poolRegion } from "./pooling.js";
import { View } from "./view.js";
import { rowMeaning } from "./wording.js";

/**
 * @import { Frame } from "../drawing/matrix.js"
 * @import { Head } from "./head_store.js"
 * @import { Thumbnails } from "./thumbnails.js"
 * @import { Parts } from "./view.js"
 * @typedef {{ query: number, key: number }} Cell
 * @typedef {Frame & { right: number, shown: { keys: number, queries: number } }} MatrixSize  shown: how many rows and columns
 */

const MOST_CELL = 40;
const MOST_LEAN = 120;
const LABEL_STEP = 16;
// Leaning labels stand closer to each other than their cells do.
const LEANING_STEP = 21;
const GAP_FROM = 8;
// A smaller cell is marked by a box around it.
const LEAST_MARKED = 4;

export class MatrixPicture extends View {
  /** @type {Cell | null} */
  pointed = null;
  /** @type {MatrixSize | null} */
  size = null;
  /** @type {CanvasRenderingContext2D | null} Of what is pointed at, over the cells. */
  over = null;

  /** @param {Parts} parts @param {Thumbnails} thumbnails */
  constructor(parts, thumbnails) {
    super(parts);
    this.thumbnails = thumbnails;
    const { canvas, overlay, stack } = layered("cells");
    this.canvas = canvas;
    this.overlay = overlay;
    this.place = stack;
    this.caption = make("p", { class: "caption" });
    this.legend = new Legend();
    this.buttons = make("div", { class: "zoom", role: "group", "aria-label": "Zoom" });
    const head = make("div", { class: "row" }, this.caption, this.buttons, this.legend.element);
    this.element = make("div", { class: "pane matrix" }, head, this.place);
  }

  // Margins for the labels, and the size of a cell; the longer side of the picture sets it, so that cells are square.
  measure() {
    const { state, surface, canvas } = this;
    const { queries, keys } = state.overview;
    const room = this.element.clientWidth;
    const { left, top, right } = margins(surface, canvas, state.overview, room, MOST_LEAN);
    const most = matrixHeight(state.view, surface.presentedHeight, window.innerHeight);
    const largest = surface.presentedHeight ? Infinity : MOST_CELL;
    const fitting = Math.min((room - left - right) / keys.length, (most - top) / queries.length, largest);
    const ratio = pixelRatio(canvas);
    // Whole device pixels, where a cell has at least four: then all cells are alike. Smaller ones would lose much of the room.
    const whole = fitting * ratio >= 4 ? Math.floor(fitting * ratio) / ratio : fitting;
    const { zoom, x, y } = state.zoom;
    // From the back of a room a row without its label says nothing: fewer rows are shown there, around the chosen one.
    const isPart = surface.presentedHeight > 0 && whole < LABEL_STEP;
    const least = isPart ? LABEL_STEP : whole;
    const columns = visiblePart(keys.length, Number(state.key), least, isPart ? room - left - right : Infinity);
    const rows = visiblePart(queries.length, state.query, least, isPart ? most - top : Infinity);
    const cell = least * zoom;
    const width = Math.max(least * columns.shown, 1);
    const height = Math.max(least * rows.shown, 1);
    const shown = { keys: width / cell, queries: height / cell };
    // What was chosen, as far as the edges allow at this size.
    const [column, row] = zoom === 1 ? [columns.first, rows.first] : [x, y];
    const corner = { x: clamp(column, 0, Math.max(0, keys.length - shown.keys)), y: clamp(row, 0, Math.max(0, queries.length - shown.queries)) };
    return { left, top, right, cell, width, height, ratio, shown, ...corner };
  }

  draw() {
    if (!this.element.clientWidth) return;
    const { state, surface: { palette, colours } } = this;
    const head = state.current;
    const size = this.measure();
    this.size = size;
    const [wide, high] = [size.left + size.width + size.right, size.top + size.height + 1];
    const context = fit(this.canvas, wide, high);
    this.over = fit(this.overlay, wide, high);
    const off = state.isOff(state.layer, state.head) ? ", switched off" : "";
    const count = state.overview.queries.length;
    const part = state.zoom.zoom === 1 && size.shown.queries < count ? `; ${Math.round(size.shown.queries)} of ${count} rows` : "";
    this.caption.textContent = `${headTitle(state.layer, state.head)}${off}: ${rowMeaning(state.overview)}${part}`;
    this.buttons.hidden = size.cell >= 14 && state.zoom.zoom === 1;
    this.place.classList.toggle("waiting", !head);
    if (head) {
      this.drawCells(context, head, size);
      this.legend.draw(palette, endOf(head.scaleEnd(state.fullScale), state.fullScale ? 1 : head.highest / head.one), head);
    } else {
      // While a head is on its way: its small picture, enlarged.
      const thumb = this.thumbnails.picture(state.layer, state.head);
      if (thumb) context.drawImage(thumb, size.left, size.top, size.width, size.height);
    }
    this.drawMarks(context, size);
    this.drawLabels(context, size);
    if (state.query !== null) this.mark(context, size, { query: state.query, key: Number(state.key) }, colours.accent, 2);
    this.drawPointed();
  }

  /** @param {CanvasRenderingContext2D} context @param {Head} head @param {MatrixSize} size */
  drawCells(context, head, size) {
    const { palette, colours } = this.surface;
    const { left, top, width, height, cell, ratio, x, y } = size;
    const table = pixelsOf(palette, head, this.state.fullScale);
    const columns = Math.round(width * ratio);
    const rows = Math.round(height * ratio);
    const image = new ImageData(columns, rows);
    const pixels = new Uint32Array(image.data.buffer);
    const pooled = poolRegion(head, { x, y, step: 1 / (cell * ratio), columns, rows });
    for (let pixel = 0; pixel < pixels.length; pixel++) {
      pixels[pixel] = pooled[pixel] === MASKED ? palette.maskedPixel : table[pooled[pixel]];
    }
    context.putImageData(image, Math.round(left * ratio), Math.round(top * ratio));
    if (cell >= GAP_FROM) drawLines(context, size, colours.background, true);
  }

  /** Links that are cut, weights that were typed, words that nobody looks at. @param {CanvasRenderingContext2D} context @param {MatrixSize} size */
  drawMarks(context, size) {
    context.save();
    context.beginPath();
    context.rect(size.left, size.top, size.width, size.height);
    context.clip();
    drawEdits(context, size, this.state.headEdits, this.surface.colours, this.state.overview.signed);
    context.restore();
  }

  /** Labels of rows and columns, every so many that they can be read; those of the selected cell always.
   * @param {CanvasRenderingContext2D} context @param {MatrixSize} size */
  drawLabels(context, size) {
    const { queries, keys } = this.state.overview;
    const { query: chosenQuery, key: chosenKey } = this.state;
    const { accent, text } = this.surface.colours;
    for (const query of labelled(queries.length, size.y, size.shown.queries, chosenQuery, size.cell, LABEL_STEP)) {
      const isChosen = query === chosenQuery;
      rowLabel(context, size, query, queries[query][0], { colour: isChosen ? accent : text, bold: isChosen });
    }
    const struck = this.state.headEdits.columns;
    for (const key of labelled(keys.length, size.x, size.shown.keys, chosenKey, size.cell, LEANING_STEP)) {
      const isChosen = key === chosenKey;
      const style = { colour: isChosen ? accent : text, bold: isChosen, struck: struck.includes(key) };
      columnLabel(context, size, key, keys[key][0], style);
    }
  }

  /** @param {CanvasRenderingContext2D} context @param {MatrixSize} size @param {Cell} cell @param {string} colour @param {number} thickness */
  mark(context, size, { query, key }, colour, thickness) {
    if (size.cell >= LEAST_MARKED) return drawCross(context, size, { query, key }, colour, thickness);
    context.save();
    context.beginPath();
    context.rect(size.left - 2, size.top - 2, size.width + 4, size.height + 4);
    context.clip();
    context.strokeStyle = colour;
    context.lineWidth = thickness;
    context.strokeRect(size.left + (key + 0.5 - size.x) * size.cell - 5, size.top + (query + 0.5 - size.y) * size.cell - 5, 10, 10);
    context.restore();
  }

  /** Marks the cell that is pointed at; false where it is marked already. @param {Cell | null} place */
  repoint(place) {
    if (place?.query === this.pointed?.query && place?.key === this.pointed?.key) return false;
    this.pointed = place;
    this.drawPointed();
    return true;
  }

  drawPointed() {
    const { size, over, pointed, surface: { colours } } = this;
    if (!size || !over) return;
    over.clearRect(0, 0, this.overlay.width, this.overlay.height);
    if (!pointed) return;
    const { left, top, width, height, cell, x, y } = size;
    const { queries, keys } = this.state.overview;
    if (cell >= LEAST_MARKED) this.mark(over, size, pointed, colours.text, 1.5);
    else {
      over.fillStyle = colours.text;
      over.fillRect(left, top + (pointed.query + 0.5 - y) * cell - 0.5, width, 1);
      over.fillRect(left + (pointed.key + 0.5 - x) * cell - 0.5, top, 1, height);
    }
    const style = { colour: colours.text, bold: true, backing: colours.background };
    rowLabel(over, size, pointed.query, queries[pointed.query][0], style);
    const struck = this.state.headEdits.columns.includes(pointed.key);
    columnLabel(over, size, pointed.key, keys[pointed.key][0], { ...style, struck });
  }
}

/** The pixel of every code of a head; the scale ends at a weight of 1, or at the head's largest.
 * @param {import("../drawing/palette.js").Palette} palette @param {Head} head @param {boolean} fullScale */
function pixelsOf(palette, head, fullScale) {
  if (head.signed) return palette.signedPixels(2 * head.one, fullScale ? 1 : head.one / Math.max(head.highest, 1));
  return palette.pixels(head.highest, head.highest / head.one / head.scaleEnd(fullScale));
}

