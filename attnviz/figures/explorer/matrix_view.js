// Pointer and keys over the picture of one head: pointing, selecting, zooming, moving.

import { clamp } from "../drawing/canvas.js";
import { ARROWS, make, word } from "../drawing/elements.js";
import { Motion } from "../drawing/motion.js";
import { listen } from "../drawing/pointer.js";
import { MatrixPicture } from "./matrix_picture.js";

/**
 * @import { Line } from "../drawing/note.js"
 * @import { Head } from "./head_store.js"
 * @import { Cell } from "./matrix_picture.js"
 * @import { Thumbnails } from "./thumbnails.js"
 * @import { Parts } from "./view.js"
 */

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
      if (event && this.drag) this.dragTo(event);
      else this.point(event && this.cellAt(event));
    };
    listen(canvas, { point, key: (event) => this.key(event) }, true);
    canvas.addEventListener("pointerdown", (event) => this.press(event));
    canvas.addEventListener("pointerup", (event) => this.release(event));
    canvas.addEventListener("pointercancel", () => (this.drag = null));
    canvas.addEventListener("dblclick", (event) => this.zoomBy(2, this.cellAt(event)));
    canvas.addEventListener("wheel", (event) => this.wheel(event), { passive: false });
    const { queries, keys } = this.state.overview;
    const label = `${queries.length} queries down by ${keys.length} keys across. Arrow keys move, Enter selects, plus and minus zoom; in Edit mode Delete cuts, H hides.`;
    canvas.setAttribute("aria-label", label);
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
    const { queries, keys } = this.state.overview;
    /** @param {[string, number, string]} token @returns {(Node | string)[]} */
    const name = ([text, , piece]) => [make("strong", {}, word(text)), ...(piece ? [" (", word(piece), ")"] : [])];
    const weight = [head.signed ? "change " : "weight ", make("strong", {}, head.tell(query, key))];
    return [[...name(queries[query]), " → ", ...name(keys[key])], head.masked(query, key) ? "masked: it cannot look there" : weight];
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
    const hasMoved = this.drag?.moved;
    this.drag = null;
    const place = this.cellAt(event);
    if (hasMoved && this.state.zoom.zoom > 1) return;
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
