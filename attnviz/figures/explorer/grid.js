// All heads: layers down, heads across, each a small picture. A click, or Enter, opens a head.

import { clamp, fit, make, pixelRatio, word } from "./paint.js";
import { sketchArcs } from "./sketch.js";
import { headTitle, THUMB_MASKED } from "./store.js";

const GRID_LEFT = 30;
const GRID_TOP = 26;
const GRID_GAP = 3;
const GRID_LEAST = 22;
const GRID_MOST = 120;
export const KINDS = { cells: "as matrices", arcs: "as arcs" };
export const ORDERS = {
  model: ["as in the model", () => 0],
  entropy: ["by entropy, sharpest first", (note) => note.entropy],
  diagonal: ["by the diagonal, nearest first", (note) => -note.diagonal],
  distance: ["by distance, furthest first", (note) => -note.distance],
};

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
      if (place) explorer.openHead(place.layer, place.head);
    });
    this.canvas.addEventListener("keydown", (event) => this.key(event));
    const { layers, heads } = explorer.overview;
    this.caption.textContent = layers * heads === 1 ? "The one head of this model" : "Layers down, heads across. Open one.";
    const label = `${layers} layers by ${heads} heads. Arrow keys move between heads, Enter opens one.`;
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
      const table = [...palette.pixels(THUMB_MASKED - 1, end), palette.maskedPixel];
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

  picture(layer, head) {
    return head === null || !this.thumbs ? null : this.pictures()[layer * this.explorer.overview.heads + head];
  }

  // Which head stands where: each layer's heads from left to right.
  places() {
    const { overview } = this.explorer;
    const value = ORDERS[this.explorer.order][1];
    const note = (layer, head) => overview.notes[layer * overview.heads + head];
    return Array.from({ length: overview.layers }, (_, layer) => {
      const row = Array.from({ length: overview.heads }, (_, head) => head);
      return row.sort((one, other) => value(note(layer, one)) - value(note(layer, other)) || one - other);
    });
  }

  measure() {
    const { heads, layers, rows, columns } = this.explorer.overview;
    const room = this.element.clientWidth;
    const cell = clamp((room - GRID_LEFT) / heads - GRID_GAP, GRID_LEAST, GRID_MOST);
    const height = Math.max(cell * Math.min(rows / columns, 1.6), 12);
    const width = GRID_LEFT + heads * (cell + GRID_GAP);
    return { cell, height, width, total: GRID_TOP + layers * (height + GRID_GAP) };
  }

  draw() {
    if (!this.thumbs || !this.element.clientWidth) return;
    const { overview, palette, state } = this.explorer;
    const { cell, height, width, total } = this.measure();
    const context = fit(this.canvas, width, total);
    const sorted = this.explorer.order !== "model";
    const pictures = state.kind === "arcs" ? this.sketches({ cell, height }) : this.pictures();
    context.textAlign = "center";
    this.order = this.places();
    const x = (place) => GRID_LEFT + place * (cell + GRID_GAP);
    const y = (layer) => GRID_TOP + layer * (height + GRID_GAP);
    for (let place = 0; place < overview.heads; place += cell < 18 ? 2 : 1) {
      context.fillStyle = !sorted && state.head === place ? palette.accent : palette.faint;
      context.fillText(sorted ? `${place + 1}.` : place, x(place) + cell / 2, GRID_TOP / 2);
    }
    this.order.forEach((row, layer) => {
      context.fillStyle = state.layer === layer ? palette.accent : palette.faint;
      context.fillText(layer, GRID_LEFT / 2, y(layer) + height / 2);
      row.forEach((head, place) => {
        if (state.kind === "arcs") {
          context.fillStyle = palette.panel;
          context.fillRect(x(place), y(layer), cell, height);
        }
        context.drawImage(pictures[layer * overview.heads + head], x(place), y(layer), cell, height);
        if (sorted && cell >= 30) this.number(context, head, x(place), y(layer));
        const chosen = layer === state.layer && (state.head === null || head === state.head);
        const pointed = this.pointed?.layer === layer && this.pointed.head === head;
        if (!pointed && !chosen) return;
        context.strokeStyle = pointed ? palette.text : palette.accent;
        context.lineWidth = 2;
        context.strokeRect(x(place) - 1, y(layer) - 1, cell + 2, height + 2);
      });
    });
  }

  // Out of the model's order, a head has its number in its corner.
  number(context, head, x, y) {
    const { palette } = this.explorer;
    context.fillStyle = palette.panel;
    context.fillRect(x, y, head > 9 ? 20 : 13, 17);
    context.fillStyle = palette.text;
    context.fillText(head, x + (head > 9 ? 10 : 6.5), y + 9);
  }

  cellAt(event) {
    if (!this.order) return null;
    const { cell, height } = this.measure();
    const place = Math.floor((event.offsetX - GRID_LEFT) / (cell + GRID_GAP));
    const layer = Math.floor((event.offsetY - GRID_TOP) / (height + GRID_GAP));
    const head = this.order[layer]?.[place];
    return head === undefined ? null : { layer, place, head };
  }

  point(place) {
    const same = place?.layer === this.pointed?.layer && place?.place === this.pointed?.place;
    if (same) return;
    this.pointed = place;
    this.draw();
    if (!place) return this.explorer.note.hide();
    const { cell, height } = this.measure();
    const lines = this.tell(place.layer, place.head);
    const x = GRID_LEFT + (place.place + 0.5) * (cell + GRID_GAP);
    this.explorer.note.show(this.canvas, x, GRID_TOP + (place.layer + 1) * (height + GRID_GAP) - 8, ...lines);
    this.explorer.live.say(lines.map((line) => [line].flat().map((part) => part.textContent ?? part).join("")).join(". "));
  }

  tell(layer, head) {
    const { overview } = this.explorer;
    const { entropy, link, diagonal, distance } = overview.notes[layer * overview.heads + head];
    const lines = [`${headTitle(layer, head)}   entropy ${entropy.toFixed(2)} bits`];
    if (link) {
      const [query, key, weight] = link;
      lines.push([word(overview.queries[query][0]), " → ", word(overview.keys[key][0]), `  ${weight.toFixed(3)}`]);
    }
    if (distance !== null) lines.push(`looks ${distance.toFixed(1)} tokens far, ${Math.round(100 * diagonal)} % to neighbours`);
    return lines;
  }

  key(event) {
    const { overview, state } = this.explorer;
    const step = { ArrowLeft: [0, -1], ArrowRight: [0, 1], ArrowUp: [-1, 0], ArrowDown: [1, 0] }[event.key];
    const at = this.pointed ?? { layer: state.layer, place: Math.max(this.order[state.layer].indexOf(state.head), 0) };
    if (event.key === "Enter") this.explorer.openHead(at.layer, this.order[at.layer][at.place], { keyboard: true });
    else if (event.key === "Escape") this.point(null);
    else if (step) {
      const layer = clamp(at.layer + step[0], 0, overview.layers - 1);
      const place = clamp(at.place + step[1], 0, overview.heads - 1);
      this.point({ layer, place, head: this.order[layer][place] });
    } else return;
    event.preventDefault();
  }
}
