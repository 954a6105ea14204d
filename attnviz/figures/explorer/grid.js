// All heads: layers down, heads across, each a small picture. A click, or Enter, opens a head.

import { columnHeight } from "./heights.js";
import { clamp, fit, make, pixelRatio, word } from "./paint.js";
import { sketchArcs } from "./sketch.js";
import { headTitle, THUMB_MASKED } from "./store.js";

const GRID_LEFT = 30;
const GRID_TOP = 26;
const GRID_GAP = 3;
const GRID_LEAST = 22;
const GRID_MOST = 120;
// Beside a matrix that is higher, small pictures may be so much higher than wide.
const GRID_STRETCH = 1.5;
// The keys that edit what is pointed at; with Shift a whole layer.
const EDITS = ["Delete", "Backspace"];
export const KINDS = { cells: "as matrices", arcs: "as arcs" };

export class GridView {
  constructor(explorer) {
    Object.assign(this, { explorer, pointed: null, thumbs: null, painted: null, sketched: null });
    this.caption = make("p", { class: "caption" });
    this.canvas = make("canvas", { class: "heads", tabindex: "0", role: "application" });
    this.element = make("div", { class: "pane grid" }, this.caption, this.canvas);
    this.canvas.addEventListener("pointermove", (event) => this.point(this.cellAt(event)));
    this.canvas.addEventListener("pointerleave", () => this.point(null));
    this.canvas.addEventListener("blur", () => this.point(null));
    this.canvas.addEventListener("click", (event) => {
      const place = this.cellAt(event);
      if (explorer.editing.on) this.edit(event, place);
      else if (place) explorer.openHead(place.layer, place.head);
    });
    this.canvas.addEventListener("keydown", (event) => this.key(event));
    const { layers, heads } = explorer.overview;
    const label = `${layers} layers by ${heads} heads. Arrow keys move between heads, Enter opens one, Delete edits one in Edit mode.`;
    this.canvas.setAttribute("aria-label", label);
    explorer.when(explorer.store.thumbs, (thumbs) => {
      this.thumbs = thumbs;
      explorer.draw();
    });
  }

  // One small picture a head, a pixel a weight, painted once for a theme; `draw` enlarges them without smoothing.
  pictures() {
    const { overview, palette, state } = this.explorer;
    const mark = `${palette.name} ${state.fullScale}`;
    if (this.painted?.mark === mark) return this.painted.pictures;
    const size = overview.rows * overview.columns;
    const pictures = overview.notes.map(({ highest }, index) => {
      const picture = new OffscreenCanvas(overview.columns, overview.rows);
      const end = state.fullScale ? highest : 1;
      const shades = overview.signed ? palette.signedPixels(THUMB_MASKED - 1, end) : palette.pixels(THUMB_MASKED - 1, end);
      const table = [...shades, palette.maskedPixel];
      const image = new ImageData(overview.columns, overview.rows);
      const pixels = new Uint32Array(image.data.buffer);
      for (let pixel = 0; pixel < size; pixel++) pixels[pixel] = table[this.thumbs[index * size + pixel]];
      picture.getContext("2d").putImageData(image, 0, 0);
      return picture;
    });
    this.painted = { mark, pictures };
    return pictures;
  }

  // The small arcs of every head, painted once for a size and a theme: pointing at heads only copies them.
  sketches({ cell, height }) {
    const { overview, palette, state } = this.explorer;
    const ratio = pixelRatio(this.canvas);
    const mark = [palette.name, state.fullScale, cell, height, ratio].join();
    if (this.sketched?.mark === mark) return this.sketched.pictures;
    const size = overview.rows * overview.columns;
    const pictures = overview.notes.map(({ highest }, index) => {
      const levels = this.thumbs.subarray(index * size, (index + 1) * size);
      const end = state.fullScale ? highest : 1;
      return sketchArcs(levels, overview, end, palette.accent, { width: cell, height, ratio });
    });
    this.sketched = { mark, pictures };
    return pictures;
  }

  // The small pictures as they were chosen to be drawn, of a size.
  chosen(size) {
    return this.explorer.state.kind === "arcs" && !this.explorer.overview.signed ? this.sketches(size) : this.pictures();
  }

  // A head is switched off or on, and by the number of a layer all of it.
  edit(event, place) {
    const { editing, overview } = this.explorer;
    const { height } = this.measure();
    const layer = Math.floor((event.offsetY - GRID_TOP) / (height + GRID_GAP));
    if (place) editing.editHead(place.layer, place.head);
    else if (event.offsetX < GRID_LEFT && layer >= 0 && layer < overview.layers) editing.editHead(layer, null);
  }

  tellCaption() {
    const { overview, editing } = this.explorer;
    const isOne = overview.layers * overview.heads === 1;
    const act = editing.on ? "Click one to switch it off or on" : "Click one";
    this.caption.textContent = isOne ? "The one head of this model" : `Rows: layers, columns: heads. ${act}.`;
  }

  picture(layer, head) {
    return head === null || !this.thumbs ? null : this.pictures()[layer * this.explorer.overview.heads + head];
  }

  measure() {
    const { heads, layers, rows, columns } = this.explorer.overview;
    const room = this.element.clientWidth;
    const cell = clamp((room - GRID_LEFT) / heads - GRID_GAP, GRID_LEAST, GRID_MOST);
    const own = Math.max(cell * Math.min(rows / columns, 1.6), 12);
    // The grid fills its column, as far as its pictures stay true to what they show.
    const filling = (columnHeight(this.explorer) - GRID_TOP) / layers - GRID_GAP;
    const height = this.explorer.isBeside ? clamp(filling, own, Math.max(own, cell * GRID_STRETCH)) : own;
    const width = GRID_LEFT + heads * (cell + GRID_GAP);
    return { cell, height, width, total: GRID_TOP + layers * (height + GRID_GAP) };
  }

  draw() {
    if (!this.element.clientWidth) return;
    const { overview, palette, state, editing } = this.explorer;
    this.tellCaption();
    const { cell, height, width, total } = this.measure();
    const context = fit(this.canvas, width, total);
    // While they are decoded their place is kept: nothing below it moves when they come.
    if (!this.thumbs) return;
    const pictures = this.chosen({ cell, height });
    context.textAlign = "center";
    const x = (place) => GRID_LEFT + place * (cell + GRID_GAP);
    const y = (layer) => GRID_TOP + layer * (height + GRID_GAP);
    for (let head = 0; head < overview.heads; head += cell < 18 ? 2 : 1) {
      context.fillStyle = state.head === head ? palette.accent : palette.faint;
      context.fillText(head, x(head) + cell / 2, GRID_TOP / 2);
    }
    pictures.forEach((picture, index) => {
      const [layer, head] = [Math.floor(index / overview.heads), index % overview.heads];
      if (!head) {
        context.fillStyle = state.layer === layer ? palette.accent : palette.faint;
        context.fillText(layer, GRID_LEFT / 2, y(layer) + height / 2);
      }
      if (state.kind === "arcs" && !overview.signed) {
        context.fillStyle = palette.panel;
        context.fillRect(x(head), y(layer), cell, height);
      }
      context.drawImage(picture, x(head), y(layer), cell, height);
      if (editing.isSet(layer, head)) editing.strike(context, x(head), y(layer), cell, height);
      const chosen = layer === state.layer && (state.head === null || head === state.head);
      const pointed = this.pointed?.layer === layer && this.pointed.head === head;
      if (!pointed && !chosen) return;
      context.strokeStyle = pointed ? palette.text : palette.accent;
      context.lineWidth = 2;
      context.strokeRect(x(head) - 1, y(layer) - 1, cell + 2, height + 2);
    });
  }

  cellAt(event) {
    if (!this.thumbs) return null;
    const { overview } = this.explorer;
    const { cell, height } = this.measure();
    const head = Math.floor((event.offsetX - GRID_LEFT) / (cell + GRID_GAP));
    const layer = Math.floor((event.offsetY - GRID_TOP) / (height + GRID_GAP));
    const isThere = head >= 0 && head < overview.heads && layer >= 0 && layer < overview.layers;
    return isThere ? { layer, head } : null;
  }

  point(place) {
    if (place?.layer === this.pointed?.layer && place?.head === this.pointed?.head) return;
    this.pointed = place;
    this.draw();
    if (!place) return this.explorer.note.hide();
    const { cell, height } = this.measure();
    const x = GRID_LEFT + (place.head + 0.5) * (cell + GRID_GAP);
    this.note(this.canvas, place.layer, place.head, x, GRID_TOP + (place.layer + 1) * (height + GRID_GAP) - 8);
  }

  // Says of a head what its measures are: beside the pointer, and to a screen reader.
  note(canvas, layer, head, x, y) {
    const lines = this.tell(layer, head);
    this.explorer.note.show(canvas, x, y, ...lines);
    this.explorer.live.say(lines.map((line) => [line].flat().map((part) => part.textContent ?? part).join("")).join(". "));
  }

  tell(layer, head) {
    const { overview } = this.explorer;
    const { entropy, link, diagonal, distance } = overview.notes[layer * overview.heads + head];
    const off = this.explorer.editing.isSet(layer, head) ? ", switched off" : "";
    const fact = overview.signed ? "after less before" : `entropy ${entropy.toFixed(2)} bits`;
    const lines = [`${headTitle(layer, head)}${off}   ${fact}`];
    if (link) {
      const [query, key, weight] = link;
      lines.push([word(overview.queries[query][0]), " → ", word(overview.keys[key][0]), `  ${weight.toFixed(3)}`]);
    }
    if (distance !== null) lines.push(`mean distance ${distance.toFixed(1)} tokens, ${Math.round(100 * diagonal)} % to neighbours`);
    return lines;
  }

  key(event) {
    const { overview, state } = this.explorer;
    const step = { ArrowLeft: [0, -1], ArrowRight: [0, 1], ArrowUp: [-1, 0], ArrowDown: [1, 0] }[event.key];
    const at = this.pointed ?? { layer: state.layer, head: state.head ?? 0 };
    if (event.key === "Enter") this.explorer.openHead(at.layer, at.head, { keyboard: true });
    else if (this.explorer.editing.on && EDITS.includes(event.key)) this.explorer.editing.editHead(at.layer, event.shiftKey ? null : at.head);
    else if (event.key === "Escape") this.point(null);
    else if (step) {
      const layer = clamp(at.layer + step[0], 0, overview.layers - 1);
      this.point({ layer, head: clamp(at.head + step[1], 0, overview.heads - 1) });
    } else return;
    event.preventDefault();
  }
}
