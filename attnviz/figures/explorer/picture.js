// The picture of one head: queries down, keys across. Cells that share a pixel show the largest of them.

import { matrixHeight, roomHeight } from "./heights.js";
import { clamp, cut, fit, fontOf, make, pixelRatio, shorten } from "./paint.js";
import { poolRegion } from "./pool.js";
import { headTitle, MASKED } from "./store.js";

const MOST_CELL = 40;
const LABEL_STEP = 16;
// Leaning labels stand closer to each other than their cells do.
const LEANING_STEP = 21;
const GAP_FROM = 8;

export class MatrixPicture {
  constructor(explorer) {
    Object.assign(this, { explorer, pointed: null, widths: null });
    this.canvas = make("canvas", { tabindex: "0", role: "application", class: "cells" });
    this.overlay = make("canvas", { class: "overlay", "aria-hidden": "true" });
    this.place = make("div", { class: "stack" }, this.canvas, this.overlay);
    this.caption = make("p", { class: "caption" });
    this.legend = new Legend();
    this.buttons = make("div", { class: "zoom", role: "group", "aria-label": "Zoom" });
    const head = make("div", { class: "row" }, this.caption, this.buttons, this.legend.element);
    this.element = make("div", { class: "pane matrix" }, head, this.place);
  }

  // The part that is looked at, as it was chosen: how often it is enlarged, and the cell at its top left.
  get chosen() {
    const { state, mark } = this.explorer;
    return state.zoom?.of === mark ? state.zoom : { zoom: 1, x: 0, y: 0 };
  }

  // The same, as far as the edges allow at this size.
  get window() {
    const { zoom, x, y } = this.chosen;
    if (!this.size) return { zoom, x, y };
    const { queries, keys } = this.explorer.overview;
    const { shown } = this.size;
    return { zoom, x: clamp(x, 0, Math.max(0, keys.length - shown.keys)), y: clamp(y, 0, Math.max(0, queries.length - shown.queries)) };
  }

  // Margins for the labels, and the size of a cell; the longer side of the picture sets it, so that cells are square.
  measure() {
    const { queries, keys, height: most } = { ...this.explorer.overview, height: matrixHeight(this.explorer) };
    const room = this.element.clientWidth;
    const context = this.canvas.getContext("2d");
    context.font = fontOf(this.canvas, "bold");
    const widest = (tokens) => Math.max(...tokens.map(([text]) => context.measureText(cut(text)).width));
    this.widths ??= { queries: widest(queries), keys: widest(keys) };
    const left = Math.min(this.widths.queries + 12, room * 0.3);
    // Labels lean at 45 degrees; the last one reaches over the right edge.
    const lean = Math.min(this.widths.keys * 0.71, 120);
    const top = lean + 18;
    const right = Math.min(lean, 60);
    const largest = roomHeight(this.explorer.root) ? Infinity : MOST_CELL;
    const fitting = Math.min((room - left - right) / keys.length, (most - top) / queries.length, largest);
    const ratio = pixelRatio(this.canvas);
    // Whole device pixels, where a cell has at least four: then all cells are alike. Smaller ones would lose much of the room.
    const whole = fitting * ratio >= 4 ? Math.floor(fitting * ratio) / ratio : fitting;
    const cell = whole * this.chosen.zoom;
    const width = Math.max(whole * keys.length, 1);
    const height = Math.max(whole * queries.length, 1);
    return { left, top, right, cell, width, height, shown: { keys: width / cell, queries: height / cell } };
  }

  draw() {
    const { overview, palette, state, editing } = this.explorer;
    if (!this.element.clientWidth) return;
    const head = this.explorer.current();
    const size = this.measure();
    this.size = size;
    const wide = size.left + size.width + size.right;
    const high = size.top + size.height + 1;
    this.context = fit(this.canvas, wide, high);
    this.over = fit(this.overlay, wide, high);
    const off = editing.isSet(state.layer, state.head) ? ", switched off" : "";
    const what = overview.signed ? "after less before, who looks (rows) at whom (columns)" : "who looks (rows) at whom (columns)";
    this.caption.textContent = `${headTitle(state.layer, state.head)}${off}: ${what}`;
    this.buttons.hidden = size.cell >= 14 && this.window.zoom === 1;
    this.place.classList.toggle("waiting", !head);
    if (head) this.drawCells(head, palette, state.fullScale);
    else this.drawThumb();
    if (head) this.legend.draw(head, palette, state.fullScale);
    editing.drawMarks(this);
    this.labels(this.context, overview.queries, overview.keys, null);
    if (state.query !== null) this.mark(this.context, state.query, state.key, palette.accent, 2);
    this.drawPointed();
  }

  // While a head is on its way: its small picture, enlarged.
  drawThumb() {
    const { state, grid } = this.explorer;
    const thumb = grid.picture(state.layer, state.head);
    const { left, top, width, height } = this.size;
    if (thumb) this.context.drawImage(thumb, left, top, width, height);
  }

  drawCells(head, palette, fullScale) {
    const { left, top, width, height, cell } = this.size;
    const ratio = pixelRatio(this.canvas);
    const table = palette.table(head, fullScale);
    const { x, y } = this.window;
    const columns = Math.round(width * ratio);
    const rows = Math.round(height * ratio);
    const image = new ImageData(columns, rows);
    const pixels = new Uint32Array(image.data.buffer);
    const pooled = poolRegion(head, { x, y, step: 1 / (cell * ratio), columns, rows });
    for (let pixel = 0; pixel < pixels.length; pixel++) {
      pixels[pixel] = pooled[pixel] === MASKED ? palette.maskedPixel : table[pooled[pixel]];
    }
    this.context.putImageData(image, Math.round(left * ratio), Math.round(top * ratio));
    if (cell >= GAP_FROM) this.gaps(palette);
  }

  gaps(palette) {
    const { left, top, width, height, cell } = this.size;
    const ratio = pixelRatio(this.canvas);
    const crisp = (value) => (Math.round(value * ratio) + 0.5) / ratio;
    const { context } = this;
    context.strokeStyle = palette.background;
    context.lineWidth = 1 / ratio;
    context.beginPath();
    for (let column = Math.ceil(this.window.x); column <= this.window.x + width / cell; column++) {
      const at = crisp(left + (column - this.window.x) * cell);
      context.moveTo(at, top);
      context.lineTo(at, top + height);
    }
    for (let row = Math.ceil(this.window.y); row <= this.window.y + height / cell; row++) {
      const at = crisp(top + (row - this.window.y) * cell);
      context.moveTo(left, at);
      context.lineTo(left + width, at);
    }
    context.stroke();
  }

  // Labels of rows and columns, every so many that they can be read; those of the selected cell always.
  labels(context, queries, keys) {
    const { state, palette } = this.explorer;
    const { cell } = this.size;
    const shown = (count, first, size, selected, apart) => {
      const step = Math.max(1, Math.ceil(apart / cell));
      const from = Math.ceil(first / step) * step;
      const labelled = [];
      for (let index = from; index < Math.min(count, first + size); index += step) {
        if (selected === null || index === selected || Math.abs(index - selected) >= step) labelled.push(index);
      }
      if (selected !== null && !labelled.includes(selected) && selected >= first && selected < first + size) labelled.push(selected);
      return labelled;
    };
    for (const query of shown(queries.length, this.window.y, this.size.shown.queries, state.query, LABEL_STEP)) {
      this.rowLabel(context, query, query === state.query ? palette.accent : palette.text, query === state.query);
    }
    for (const key of shown(keys.length, this.window.x, this.size.shown.keys, state.key, LEANING_STEP)) {
      this.columnLabel(context, key, key === state.key ? palette.accent : palette.text, key === state.key);
    }
  }

  rowLabel(context, query, colour, bold, backing = null) {
    const { left, top, cell } = this.size;
    const whole = cut(this.explorer.overview.queries[query][0]);
    const y = top + (query + 0.5 - this.window.y) * cell;
    context.font = fontOf(this.canvas, bold ? "bold" : "");
    const room = left - 9;
    // The one that is pointed at is whole: over the cells, where it is wider than its margin.
    const width = backing ? context.measureText(whole).width : 0;
    if (backing) {
      context.fillStyle = backing;
      context.fillRect(0, y - 11, Math.max(left - 2, width + 6), 22);
    }
    context.fillStyle = colour;
    context.textAlign = width > room ? "left" : "right";
    context.fillText(backing ? whole : shorten(context, whole, room), width > room ? 2 : left - 7, y);
  }

  columnLabel(context, key, colour, bold, backing = null) {
    const { left, top, cell } = this.size;
    const text = cut(this.explorer.overview.keys[key][0]);
    context.font = fontOf(this.canvas, bold ? "bold" : "");
    context.textAlign = "left";
    context.save();
    context.translate(left + (key + 0.5 - this.window.x) * cell + 3, top - 8);
    context.rotate(-Math.PI / 4);
    if (backing) {
      context.fillStyle = backing;
      context.fillRect(-3, -11, context.measureText(text).width + 6, 22);
    }
    context.fillStyle = colour;
    context.fillText(text, 0, 0);
    if (this.explorer.editing.isHidden(key)) context.fillRect(0, -0.5, context.measureText(text).width, 1.5);
    context.restore();
  }

  // A row and a column that cross in a cell.
  mark(context, query, key, colour, thickness) {
    const { left, top, width, height, cell } = this.size;
    const x = left + (key - this.window.x) * cell;
    const y = top + (query - this.window.y) * cell;
    context.save();
    context.beginPath();
    context.rect(left - 2, top - 2, width + 4, height + 4);
    context.clip();
    context.strokeStyle = colour;
    context.lineWidth = thickness;
    if (cell >= 4) {
      context.strokeRect(left, y, width, cell);
      context.strokeRect(x, top, cell, height);
    } else {
      context.strokeRect(x + cell / 2 - 5, y + cell / 2 - 5, 10, 10);
    }
    context.restore();
  }

  drawPointed() {
    const { over, pointed } = this;
    if (!over) return;
    over.clearRect(0, 0, this.overlay.width, this.overlay.height);
    if (!pointed) return;
    const { palette } = this.explorer;
    const { left, top, width, height, cell } = this.size;
    const x = left + (pointed.key + 0.5 - this.window.x) * cell;
    const y = top + (pointed.query + 0.5 - this.window.y) * cell;
    if (cell >= 4) this.mark(over, pointed.query, pointed.key, palette.text, 1.5);
    else {
      over.fillStyle = palette.text;
      over.fillRect(left, y - 0.5, width, 1);
      over.fillRect(x - 0.5, top, 1, height);
    }
    this.rowLabel(over, pointed.query, palette.text, true, palette.background);
    this.columnLabel(over, pointed.key, palette.text, true, palette.background);
  }
}

// What the colours say: from 0 to the scale's end, and masked where a head has such cells.
class Legend {
  constructor() {
    this.ramp = make("canvas", { width: "256", height: "1", "aria-hidden": "true" });
    this.end = make("span");
    this.masked = make("span", { class: "masked-key", hidden: true }, make("i"), "masked");
    this.start = make("span");
    this.element = make("p", { class: "legend" }, this.start, this.ramp, this.end, this.masked);
  }

  draw(head, palette, fullScale) {
    const image = new ImageData(256, 1);
    new Uint32Array(image.data.buffer).set(head.signed ? palette.signedPixels(255) : palette.pixels(255));
    this.ramp.getContext("2d").putImageData(image, 0, 0);
    const end = fullScale ? "1" : (head.highest / head.one).toPrecision(2);
    this.start.textContent = head.signed ? `−${end}` : "0";
    this.end.textContent = head.signed ? `+${end}` : end;
    this.masked.hidden = !head.anyMasked;
  }
}
