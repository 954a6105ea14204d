// Pointer and keys over the picture of one head: pointing, selecting, zooming, moving.

import { clamp, fit, pixelRatio, Motion } from "../drawing/canvas.js";
import { endOf } from "../drawing/palette.js";
import { layered, make, ARROWS, word, listen } from "../drawing/elements.js";
import { counted } from "../drawing/numbers.js";
import { drawEdits, columnLabel, drawCross, drawLines, labelled, Legend, marginBelow, margins, rowLabel } from "../drawing/matrix_marks.js";
import { headTitle, MASKED } from "./head_store.js";
import { View } from "./explorer_part.js";
import { rowMeaning } from "./wording.js";

/**
 * @import { Line } from "../drawing/surface.js"
 * @import { Frame } from "../drawing/matrix_marks.js"
 * @import { ExplorerState } from "./explorer_state.js"
 * @import { Thumbnails } from "./head_grid.js"
 * @import { Head } from "./head_store.js"
 * @import { Parts } from "./explorer_part.js"
 */

/** What cells without a weight are: a lesson hides the rows that answer its question. @param {ExplorerState} state */
function maskedName({ hiddenRows, overview }) {
  if (!hiddenRows.length) return "masked";
  return overview.causal ? "masked or hidden" : "hidden";
}

// How high the parts of the picture are: by the window, and beside each other by the matrix. `given`: what the page leaves to the
// picture while it presents; else 0.

// Above the heads, for the first of the ranking.
const [LIST_ROOM, PRESENTED_LIST] = [215, 200];
const LEAST = 240;

/** @param {string} view @param {number} given @param {number} windowHeight */
export function matrixHeight(view, given, windowHeight) {
  const [share, most] = view === "grid" ? [0.58, 720] : [0.75, 900];
  return given || clamp(windowHeight * share, 440, most);
}

/** Of the heads: beside a matrix they are as high as it is, less the list above them.
 * @param {{ top: number, height: number } | null} matrix @param {number} given @param {number} windowHeight */
export function columnHeight(matrix, given, windowHeight) {
  if (!matrix) return given || clamp(windowHeight * 0.6, LEAST, 720);
  const whole = matrix.top + matrix.height;
  return given ? Math.max(whole - PRESENTED_LIST, 0) : Math.max(whole - LIST_ROOM, LEAST);
}

/** As many of `count` rows or columns as fit into the room, and the first of them: around the chosen one.
 * @param {number} count @param {number | null} chosen @param {number} cell @param {number} room */
export function visiblePart(count, chosen, cell, room) {
  const shown = clamp(Math.floor(room / cell), 1, count);
  return { shown, first: clamp(Math.floor((chosen ?? 0) + 0.5 - shown / 2), 0, count - shown) };
}

// The picture of one head: queries down, keys across. Cells that share a pixel show the largest of them.

/**
 * @typedef {{ query: number, key: number }} Cell
 * @typedef {Frame & { wide: number, shown: { keys: number, queries: number } }} MatrixSize  shown: how many rows and columns
 */

const MOST_CELL = 40;
const MOST_LEAN = 120;
const LABEL_STEP = 16;
// Leaning labels stand closer to each other than their cells do.
const LEANING_STEP = 21;
const GAP_FROM = 8;
// A smaller cell is marked by a box around it.
const LEAST_MARKED = 4;

class MatrixPicture extends View {
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
    const { room } = this;
    const { left, top, right, wide } = margins(surface, canvas, state.overview, room, MOST_LEAN);
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
    return { left, top, wide: wide(width), cell, width, height, ratio, shown, ...corner };
  }

  draw() {
    if (!this.element.clientWidth) return;
    const { state, surface: { palette, colours } } = this;
    const head = state.current;
    const size = this.measure();
    this.size = size;
    const high = size.top + size.height + marginBelow(size.cell);
    const context = fit(this.canvas, size.wide, high);
    this.over = fit(this.overlay, size.wide, high);
    const off = state.isOff(state.layer, state.head) ? ", switched off" : "";
    const count = state.overview.queries.length;
    const part = state.zoom.zoom === 1 && size.shown.queries < count ? `; ${Math.round(size.shown.queries)} of ${count} rows` : "";
    this.caption.textContent = `${headTitle(state.layer, state.head)}${off}: ${rowMeaning(state.overview)}${part}`;
    this.buttons.hidden = size.cell >= 14 && state.zoom.zoom === 1;
    this.place.classList.toggle("waiting", !head);
    if (head) {
      this.drawCells(context, head, size);
      this.legend.draw(palette, endOf(head.scaleEnd(state.fullScale), state.fullScale ? 1 : head.highest / head.one), { signed: head.signed, anyMasked: head.anyMasked, masked: maskedName(state) });
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

const MOST_ZOOM_CELL = 60;

export class MatrixView extends MatrixPicture {
  motion = new Motion();
  /** @type {{ x: number, y: number, from: { x: number, y: number }, moved: boolean } | null} */
  drag = null;

  /** @param {Parts} parts @param {Thumbnails} thumbnails */
  constructor(parts, thumbnails) {
    super(parts, thumbnails);
    for (const [sign, title, factor] of /** @type {const} */ ([
      ["+", "Zoom in", 2],
      ["−", "Zoom out", 0.5],
      ["Whole", "Show the whole matrix", 0],
    ])) {
      this.buttons.append(make("button", { type: "button", title, "aria-label": title, onclick: () => this.zoomBy(factor) }, sign));
    }
    const { canvas } = this;
    const point = (/** @type {PointerEvent | null} */ event) => {
      // Who let go elsewhere drags no more.
      if (!event?.buttons) this.drag = null;
      if (event && this.drag) this.dragTo(event);
      else this.point(event && this.cellAt(event));
    };
    listen(canvas, { point, key: (event) => this.key(event) }, true);
    canvas.addEventListener("pointerdown", (event) => this.press(event));
    canvas.addEventListener("pointerup", (event) => this.release(event));
    canvas.addEventListener("pointercancel", () => (this.drag = null));
    canvas.addEventListener("dblclick", (event) => this.zoomBy(2, this.cellAt(event)));
    canvas.addEventListener("wheel", (event) => this.wheel(event), { passive: false });
  }

  draw() {
    super.draw();
    const { canEdit, overview: { queries, keys } } = this.state;
    const help = `Arrow keys move, Enter selects, plus and minus zoom${canEdit ? "; in Edit mode Delete cuts, H hides" : ""}.`;
    this.canvas.setAttribute("aria-label", `${counted(queries.length, "query", "queries")} down by ${counted(keys.length, "key")} across. ${help}`);
  }

  // The part that is looked at.
  get window() {
    const { zoom, x, y } = this.state.zoom;
    return { zoom, x: this.size?.x ?? x, y: this.size?.y ?? y };
  }

  /** @param {MouseEvent} event @returns {Cell | null} */
  cellAt(event) {
    if (!this.size) return null;
    const { left, top, width, height, cell } = this.size;
    const { queries, keys } = this.state.overview;
    const [x, y] = [event.offsetX - left, event.offsetY - top];
    if (x < 0 || y < 0 || x >= width || y >= height) return null;
    const key = Math.floor(this.size.x + x / cell);
    const query = Math.floor(this.size.y + y / cell);
    return key < keys.length && query < queries.length ? { query, key } : null;
  }

  /** @param {Cell | null} place */
  point(place) {
    if (!this.repoint(place)) return;
    const head = this.state.current;
    if (!place || !head || !this.size) return this.surface.note.hide();
    const { left, top, cell, x, y } = this.size;
    const lines = this.describe(head, place);
    this.surface.note.show(this.canvas, left + (place.key + 1 - x) * cell, top + (place.query + 1 - y) * cell, ...lines);
    this.sayCell(head, place.query, place.key);
  }

  /** The two lines of the note: the tokens, and the weight. @param {Head} head @param {Cell} cell @returns {Line[]} */
  describe(head, { query, key }) {
    const { hiddenRows, overview: { queries, keys } } = this.state;
    /** @param {[string, number, string]} token @returns {(Node | string)[]} */
    const name = ([text, , piece]) => [make("strong", {}, word(text)), ...(piece ? [" (", word(piece), ")"] : [])];
    const weight = [head.signed ? "change " : "weight ", make("strong", {}, head.tell(query, key))];
    const absent = hiddenRows.includes(query) ? "hidden until you have answered" : head.masked(query, key) && "masked: it cannot look there";
    return [[...name(queries[query]), " → ", ...name(keys[key])], absent || weight];
  }

  /** @param {PointerEvent} event */
  press(event) {
    if (event.button !== 0) return;
    if (event.pointerType === "touch") this.point(this.cellAt(event));
    const { zoom, x, y } = this.window;
    this.drag = { x: event.offsetX, y: event.offsetY, from: { x, y }, moved: false };
    if (zoom > 1) this.canvas.setPointerCapture(event.pointerId);
  }

  /** @param {PointerEvent} event */
  dragTo(event) {
    if (!this.drag || !this.size) return;
    const { x, y, from } = this.drag;
    if (Math.hypot(event.offsetX - x, event.offsetY - y) > 4) this.drag.moved = true;
    const { zoom } = this.state.zoom;
    if (zoom === 1) return;
    this.moveTo(zoom, from.x - (event.offsetX - x) / this.size.cell, from.y - (event.offsetY - y) / this.size.cell);
  }

  /** @param {PointerEvent} event */
  release(event) {
    const { drag } = this;
    this.drag = null;
    if (!drag || (drag.moved && this.state.zoom.zoom > 1)) return;
    const place = this.cellAt(event);
    if (this.state.edits.on) this.edit(place, this.wordAt(event));
    else if (place) this.actions.selectCell(place.query, place.key);
  }

  /** A link is cut, or a word above the matrix is hidden; a second time it is as it was. @param {Cell | null} place @param {number | null} key */
  edit(place, key) {
    if (place) this.actions.editLink(place.query, place.key);
    else if (key !== null) this.actions.edit({ key });
  }

  /** The column whose leaning label is there. @param {MouseEvent} event */
  wordAt(event) {
    if (!this.size || event.offsetY >= this.size.top) return null;
    const { left, top, cell, x } = this.size;
    const key = Math.floor(x + (event.offsetX - (top - event.offsetY) - left) / cell);
    return key >= 0 && key < this.state.overview.keys.length ? key : null;
  }

  /** @param {WheelEvent} event */
  wheel(event) {
    // A wheel alone scrolls the page; with Ctrl, and when two fingers pinch, it zooms.
    if (!event.ctrlKey && !event.metaKey) return;
    event.preventDefault();
    this.zoomBy(Math.exp(-event.deltaY / 200), this.cellAt(event));
  }

  /** Zooms about a cell; by 0: back to the whole. @param {number} factor @param {Cell | null} about */
  zoomBy(factor, about = null) {
    if (!this.size) return;
    const { query, key } = about ?? this.pointed ?? this.state.selected;
    const { zoom: before, x, y } = this.window;
    const fitting = this.size.cell / before;
    const zoom = factor === 0 ? 1 : clamp(before * factor, 1, Math.max(1, MOST_ZOOM_CELL / fitting));
    const shown = { keys: this.size.width / (fitting * zoom), queries: this.size.height / (fitting * zoom) };
    // The cell stays where it is, as far as the edges allow.
    const goal = {
      zoom,
      x: key + 0.5 - ((key + 0.5 - x) / this.size.shown.keys) * shown.keys,
      y: query + 0.5 - ((query + 0.5 - y) / this.size.shown.queries) * shown.queries,
    };
    this.motion.start(this.window, goal, (step) => this.moveTo(step.zoom, step.x, step.y));
  }

  /** In thousandths, as the address has it. @param {number} zoom @param {number} x @param {number} y */
  moveTo(zoom, x, y) {
    const { options, mark } = this.state;
    const [times, left, top] = [zoom, x, y].map((value) => Math.round(1000 * Math.max(value, 0)) / 1000);
    options.zoom = times > 1 ? { of: mark, zoom: times, x: left, y: top } : null;
    const size = this.measure();
    if (options.zoom) Object.assign(options.zoom, { x: Math.floor(1000 * size.x) / 1000, y: Math.floor(1000 * size.y) / 1000 });
    this.draw();
    this.actions.tellLater();
  }

  /** Moves the window so that a cell can be seen. @param {number} query @param {number} key */
  reveal(query, key) {
    if (!this.size) return;
    const { shown } = this.size;
    const { zoom, x, y } = this.window;
    /** @param {number} value @param {number} first @param {number} size */
    const into = (value, first, size) => (value < first ? value : value > first + size - 1 ? value - size + 1 : first);
    const [left, top] = [into(key, x, shown.keys), into(query, y, shown.queries)];
    if (left !== x || top !== y) this.moveTo(zoom, left, top);
  }

  /** @param {KeyboardEvent} event */
  key(event) {
    const { state, actions } = this;
    const at = this.pointed ?? state.selected;
    if (event.key === "Enter") actions.selectCell(at.query, at.key);
    else if (state.edits.on && ["Delete", "Backspace"].includes(event.key)) this.edit(at, null);
    else if (state.edits.on && event.key.toLowerCase() === "h") this.edit(null, at.key);
    else if (event.key === "Escape") state.zoom.zoom > 1 ? this.zoomBy(0) : actions.back();
    else if (event.key === "+" || event.key === "=") this.zoomBy(2);
    else if (event.key === "-") this.zoomBy(0.5);
    else if (event.key === "0") this.zoomBy(0);
    else if (event.key in ARROWS) {
      const [down, across] = ARROWS[event.key].map((step) => (event.shiftKey ? 10 : 1) * step);
      const query = clamp(at.query + down, 0, state.overview.queries.length - 1);
      const key = clamp(at.key + across, 0, state.overview.keys.length - 1);
      this.reveal(query, key);
      this.point({ query, key });
    } else return;
    event.preventDefault();
  }
}

// From cells to pixels: which code every pixel of a region of a head shows.

/**
 * @typedef {{ x: number, y: number, step: number, columns: number, rows: number }} Region  the cell at the top left; cells a pixel
 */

// A pixel inside a cell shows that cell. A pixel that covers several shows the largest of them, so that a single bright one
// survives, and is masked only where all of them are.
/** @param {Pick<Head, "codes" | "nKeys" | "nQueries" | "zero">} head @param {Region} region */
export function poolRegion(head, { x, y, step, columns, rows }) {
  const across = spans(x, step, columns, head.nKeys);
  const down = spans(y, step, rows, head.nQueries);
  const pooled = new Uint16Array(columns * rows);
  for (let row = 0; row < rows; row++) {
    const at = row * columns;
    const [top, bottom] = [down.starts[row], down.ends[row]];
    if (row && top === down.starts[row - 1] && bottom === down.ends[row - 1]) {
      pooled.copyWithin(at, at - columns, at);
      continue;
    }
    for (let column = 0; column < columns; column++) {
      pooled[at + column] = largestCode(head, top, bottom, across.starts[column], across.ends[column]);
    }
  }
  return pooled;
}

/** The cells that each pixel of a side stands for, from start to just before end.
 * @param {number} from @param {number} step @param {number} pixels @param {number} count */
function spans(from, step, pixels, count) {
  const starts = new Int32Array(pixels);
  const ends = new Int32Array(pixels);
  for (let pixel = 0; pixel < pixels; pixel++) {
    const start = Math.floor(from + (step > 1 ? pixel : pixel + 0.5) * step + 1e-9);
    const end = step > 1 ? Math.ceil(from + (pixel + 1) * step - 1e-9) : start + 1;
    starts[pixel] = Math.min(start, count - 1);
    ends[pixel] = Math.min(Math.max(end, start + 1), count);
  }
  return { starts, ends };
}

/** @param {Pick<Head, "codes" | "nKeys" | "zero">} head @param {number} top @param {number} bottom @param {number} left @param {number} right */
function largestCode({ codes, nKeys, zero }, top, bottom, left, right) {
  if (bottom - top === 1 && right - left === 1) return codes[top * nKeys + left];
  let largest = -1;
  let pooled = MASKED;
  for (let query = top; query < bottom; query++) {
    for (let cell = query * nKeys + left; cell < query * nKeys + right; cell++) {
      if (codes[cell] === MASKED || Math.abs(codes[cell] - zero) <= largest) continue;
      largest = Math.abs(codes[cell] - zero);
      pooled = codes[cell];
    }
  }
  return pooled;
}
