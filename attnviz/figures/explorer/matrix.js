// Pointer and keys over the picture of one head: pointing, selecting, zooming, moving.

import { clamp, make } from "./paint.js";
import { MatrixPicture } from "./picture.js";
import { describeCell } from "./say.js";

const MOST_ZOOM_CELL = 60;

export class MatrixView extends MatrixPicture {
  constructor(explorer) {
    super(explorer);
    for (const [sign, title, act] of [
      ["+", "Zoom in", () => this.zoomBy(2)],
      ["−", "Zoom out", () => this.zoomBy(0.5)],
      ["Whole", "Show the whole matrix", () => this.zoomBy(0)],
    ]) {
      this.buttons.append(make("button", { type: "button", title, "aria-label": title, onclick: act }, sign));
    }
    this.listen();
    const { queries, keys } = explorer.overview;
    const label = `${queries.length} queries down by ${keys.length} keys across. Arrow keys move, Enter selects, plus and minus zoom; in Edit mode Delete cuts, H hides.`;
    this.canvas.setAttribute("aria-label", label);
  }

  listen() {
    const { canvas } = this;
    canvas.addEventListener("pointermove", (event) => (this.drag ? this.dragTo(event) : this.point(this.cellAt(event))));
    // A finger leaves at once; what it has touched stays told until another place is.
    canvas.addEventListener("pointerleave", (event) => event.pointerType === "touch" || this.point(null));
    canvas.addEventListener("pointerdown", (event) => this.press(event));
    canvas.addEventListener("pointerup", (event) => this.release(event));
    canvas.addEventListener("pointercancel", () => (this.drag = null));
    canvas.addEventListener("blur", () => this.point(null));
    canvas.addEventListener("dblclick", (event) => this.zoomBy(2, this.cellAt(event)));
    canvas.addEventListener("wheel", (event) => this.wheel(event), { passive: false });
    canvas.addEventListener("keydown", (event) => this.key(event));
  }

  cellAt(event) {
    if (!this.size) return null;
    const { left, top, width, height, cell } = this.size;
    const { queries, keys } = this.explorer.overview;
    const [x, y] = [event.offsetX - left, event.offsetY - top];
    if (x < 0 || y < 0 || x >= width || y >= height) return null;
    const key = Math.floor(this.window.x + x / cell);
    const query = Math.floor(this.window.y + y / cell);
    return key < keys.length && query < queries.length ? { query, key } : null;
  }

  point(place) {
    if (place?.query === this.pointed?.query && place?.key === this.pointed?.key) return;
    this.pointed = place;
    this.drawPointed();
    this.explorer.pointAt(place);
    const head = this.explorer.current();
    if (!place || !head) return this.explorer.note.hide();
    const { overview } = this.explorer;
    const { left, top, cell } = this.size;
    const x = left + (place.key + 1 - this.window.x) * cell;
    const y = top + (place.query + 1 - this.window.y) * cell;
    this.explorer.note.show(this.canvas, x, y, ...describeCell(overview, head, place.query, place.key));
    this.explorer.live.sayCell(overview, head, place.query, place.key);
  }

  press(event) {
    if (event.button !== 0) return;
    if (event.pointerType === "touch") this.point(this.cellAt(event));
    this.drag = { x: event.offsetX, y: event.offsetY, window: { ...this.window }, moved: false };
    if (this.window.zoom > 1) this.canvas.setPointerCapture(event.pointerId);
  }

  dragTo(event) {
    const { x, y, window: from } = this.drag;
    if (Math.hypot(event.offsetX - x, event.offsetY - y) > 4) this.drag.moved = true;
    if (this.window.zoom === 1) return;
    this.moveTo(this.window.zoom, from.x - (event.offsetX - x) / this.size.cell, from.y - (event.offsetY - y) / this.size.cell);
  }

  release(event) {
    const moved = this.drag?.moved;
    this.drag = null;
    const place = this.cellAt(event);
    if (moved && this.window.zoom > 1) return;
    if (this.explorer.editing.on) this.edit(place, this.wordAt(event));
    else if (place) this.explorer.selectCell(place.query, place.key);
  }

  // A link is cut, or a word above the matrix is hidden; a second time it is as it was.
  edit(place, word) {
    if (place) this.explorer.editing.editLink(place.query, place.key);
    else if (word !== null) this.explorer.editing.editWord(word);
  }

  // The column whose leaning label is there.
  wordAt(event) {
    if (!this.size || event.offsetY >= this.size.top) return null;
    const { left, top, cell } = this.size;
    const key = Math.floor(this.window.x + (event.offsetX - (top - event.offsetY) - left) / cell);
    return key >= 0 && key < this.explorer.overview.keys.length ? key : null;
  }

  wheel(event) {
    // A wheel alone scrolls the page; with Ctrl, and when two fingers pinch, it zooms.
    if (!event.ctrlKey && !event.metaKey) return;
    event.preventDefault();
    this.zoomBy(Math.exp(-event.deltaY / 200), this.cellAt(event));
  }

  // Zooms about a cell; by 0: back to the whole.
  zoomBy(factor, about = null) {
    const { query, key } = about ?? this.pointed ?? this.explorer.selected();
    const fitting = this.size.cell / this.window.zoom;
    const zoom = factor === 0 ? 1 : clamp(this.window.zoom * factor, 1, Math.max(1, MOST_ZOOM_CELL / fitting));
    const goal = { zoom, x: 0, y: 0 };
    const shown = { keys: this.size.width / (fitting * zoom), queries: this.size.height / (fitting * zoom) };
    // The cell stays where it is, as far as the edges allow.
    goal.x = key + 0.5 - ((key + 0.5 - this.window.x) / this.size.shown.keys) * shown.keys;
    goal.y = query + 0.5 - ((query + 0.5 - this.window.y) / this.size.shown.queries) * shown.queries;
    this.explorer.motion.start(this.window, goal, (step) => this.moveTo(step.zoom, step.x, step.y));
  }

  // In thousandths, as the address has it.
  moveTo(zoom, x, y) {
    const { state, mark } = this.explorer;
    const [times, left, top] = [zoom, x, y].map((value) => Math.round(1000 * Math.max(value, 0)) / 1000);
    state.zoom = times > 1 ? { of: mark, zoom: times, x: left, y: top } : null;
    this.size = this.measure();
    const { window } = this;
    if (state.zoom) Object.assign(state.zoom, { x: Math.floor(1000 * window.x) / 1000, y: Math.floor(1000 * window.y) / 1000 });
    this.draw();
    this.explorer.tellLater();
  }

  // Moves the window so that a cell can be seen.
  reveal(query, key) {
    const { shown } = this.size;
    const into = (value, first, size) => (value < first ? value : value > first + size - 1 ? value - size + 1 : first);
    const x = into(key, this.window.x, shown.keys);
    const y = into(query, this.window.y, shown.queries);
    if (x !== this.window.x || y !== this.window.y) this.moveTo(this.window.zoom, x, y);
  }

  key(event) {
    const { overview } = this.explorer;
    const step = { ArrowLeft: [0, -1], ArrowRight: [0, 1], ArrowUp: [-1, 0], ArrowDown: [1, 0] }[event.key];
    const at = this.pointed ?? this.explorer.selected();
    if (event.key === "Enter") this.explorer.selectCell(at.query, at.key);
    else if (this.explorer.editing.on && ["Delete", "Backspace"].includes(event.key)) this.edit(at, null);
    else if (this.explorer.editing.on && event.key.toLowerCase() === "h") this.edit(null, at.key);
    else if (event.key === "Escape") this.window.zoom > 1 ? this.zoomBy(0) : this.explorer.back();
    else if (event.key === "+" || event.key === "=") this.zoomBy(2);
    else if (event.key === "-") this.zoomBy(0.5);
    else if (event.key === "0") this.zoomBy(0);
    else if (step) {
      const far = event.shiftKey ? 10 : 1;
      const query = clamp(at.query + far * step[0], 0, overview.queries.length - 1);
      const key = clamp(at.key + far * step[1], 0, overview.keys.length - 1);
      this.reveal(query, key);
      this.point({ query, key });
    } else return;
    event.preventDefault();
  }
}
