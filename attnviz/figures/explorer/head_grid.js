// All heads: layers down, heads across, each a small picture. A click, or Enter, opens a head.

import { clamp, fit, pixelRatio } from "../drawing/canvas.js";
import { ARROWS, make, listen, word } from "../drawing/elements.js";
import { counted, signed } from "../drawing/numbers.js";
import { strike, fade } from "../drawing/matrix_marks.js";
import { headTitle, THUMB_MASKED } from "./head_store.js";
import { View } from "./explorer_part.js";
import { ORDERS } from "./view_options.js";

/**
 * @import { Line } from "../drawing/surface.js"
 * @import { Parts } from "./explorer_part.js"
 */

/**
 * @typedef {{ layer: number, head: number }} GridPlace
 */

const GRID_LEFT = 30;
const GRID_TOP = 26;
// Height of a layer's name, in pixels.
const NAME_HEIGHT = 14;
const GRID_GAP = 3;
// Twelve heads fit a screen 320 pixels wide.
const GRID_LEAST = 15;
const GRID_MOST = 120;
// Beside a matrix that is higher, small pictures may be so much higher than wide.
const GRID_STRETCH = 1.5;
// A head that is one colour needs no more height.
const [LEAST_SHADE, MOST_SHADE] = [8, 30];
// The keys that edit what is pointed at; with Shift a whole layer.
const EDIT_KEYS = ["Delete", "Backspace"];

export class HeadGrid extends View {
  /** @type {GridPlace | null} */
  pointed = null;

  /** @param {Parts} parts @param {Thumbnails} thumbnails @param {() => number} roomForHeads */
  constructor(parts, thumbnails, roomForHeads) {
    super(parts);
    this.thumbnails = thumbnails;
    this.roomForHeads = roomForHeads;
    this.caption = make("p", { class: "caption" });
    this.canvas = make("canvas", { class: "heads", tabindex: "0", role: "application" });
    this.element = make("div", { class: "pane grid" }, this.caption, this.canvas);
    listen(this.canvas, {
      point: (event) => this.point(event && this.cellAt(event)),
      click: (event) => this.click(event, this.cellAt(event)),
      key: (event) => this.key(event),
    });
  }

  /** In Edit mode a head is switched off or on, and by the number of a layer all of it. @param {MouseEvent} event @param {GridPlace | null} place */
  click(event, place) {
    const { state, actions } = this;
    const layer = Math.floor((event.offsetY - GRID_TOP) / (this.measure().height + GRID_GAP));
    if (place) state.edits.on ? actions.edit({ ...place }) : actions.openHead(place.layer, place.head);
    else if (state.edits.on && event.offsetX < GRID_LEFT && layer >= 0 && layer < state.overview.layers) actions.edit({ layer, head: null });
  }

  measure() {
    const { heads, layers, rows, columns } = this.state.overview;
    const cell = clamp((this.room - GRID_LEFT) / heads - GRID_GAP, GRID_LEAST, GRID_MOST);
    const own = Math.max(cell * Math.min(rows / columns, 1.6), 12);
    // The grid fills its column, as far as its pictures stay true to what they show.
    const filling = (this.roomForHeads() - GRID_TOP) / layers - GRID_GAP;
    const isFilled = this.state.isBeside ? clamp(filling, own, Math.max(own, cell * GRID_STRETCH)) : own;
    const height = this.state.shadesHeads ? clamp(filling, LEAST_SHADE, Math.min(cell, MOST_SHADE)) : isFilled;
    const width = GRID_LEFT + heads * (cell + GRID_GAP);
    return { cell, height, width, total: GRID_TOP + layers * (height + GRID_GAP) };
  }

  draw() {
    if (!this.element.clientWidth) return;
    const { state, surface: { colours } } = this;
    const { overview } = state;
    const act = state.edits.on ? "Click one to switch it off or on" : "Click one";
    const keys = `Arrow keys move between heads, Enter opens one${state.canEdit ? ", Delete edits one in Edit mode" : ""}.`;
    this.canvas.setAttribute("aria-label", `${counted(overview.layers, "layer")} by ${counted(overview.heads, "head")}. ${keys}`);
    const count = overview.layers * overview.heads;
    const shows = state.shadesHeads ? `All ${count} heads: the stronger the colour, the stronger this link` : `Each small square is one of ${count} heads`;
    this.caption.textContent = count === 1 ? "The one head of this model" : `${shows}. ${act}.`;
    const { cell, height, width, total } = this.measure();
    const context = fit(this.canvas, width, total);
    // While they are decoded their place is kept: nothing below it moves when they come.
    if (!this.thumbnails.levels) return;
    context.textAlign = "center";
    const step = Math.ceil((context.measureText(`H${overview.heads - 1}`).width + 4) / (cell + GRID_GAP));
    for (let head = 0; head < overview.heads; head += step) {
      context.fillStyle = state.head === head ? colours.accent : colours.faint;
      context.fillText(`H${head}`, GRID_LEFT + head * (cell + GRID_GAP) + cell / 2, GRID_TOP / 2);
    }
    this.thumbnails.pictures({ cell, height }, this.canvas).forEach((picture, index) => {
      this.drawHead(context, picture, Math.floor(index / overview.heads), index % overview.heads, { cell, height });
    });
  }

  /** @param {CanvasRenderingContext2D} context @param {OffscreenCanvas} picture @param {number} layer @param {number} head
   * @param {{ cell: number, height: number }} size */
  drawHead(context, picture, layer, head, { cell, height }) {
    const { state, surface: { colours } } = this;
    const [x, y] = [GRID_LEFT + head * (cell + GRID_GAP), GRID_TOP + layer * (height + GRID_GAP)];
    // Of many layers, whose rows are lower than a line of text, some are named: the chosen one, and none too close to it.
    const apart = Math.ceil(NAME_HEIGHT / (height + GRID_GAP));
    const isNamed = state.layer === layer || (layer % apart === 0 && Math.abs(layer - (state.layer ?? -apart)) >= apart);
    if (!head && isNamed) {
      context.fillStyle = state.layer === layer ? colours.accent : colours.faint;
      context.fillText(`L${layer}`, GRID_LEFT / 2, y + height / 2);
    }
    if (state.drawsArcs) {
      context.fillStyle = colours.panel;
      context.fillRect(x, y, cell, height);
    }
    if (state.shadesHeads) this.drawShade(context, layer, head, [x, y, cell, height]);
    else context.drawImage(picture, x, y, cell, height);
    if (state.isOff(layer, head)) {
      if (!state.overview.signed) fade(context, colours, [x, y, cell, height]);
      strike(context, colours, [x, y, cell, height]);
    }
    const isPointed = this.pointed?.layer === layer && this.pointed.head === head;
    if (!isPointed && !state.isChosen(layer, head)) return;
    context.strokeStyle = isPointed || state.shadesHeads ? colours.text : colours.accent;
    context.lineWidth = 2;
    context.strokeRect(x - 1, y - 1, cell + 2, height + 2);
  }

  /** A head in the colour of the weight that it gives the link. @param {CanvasRenderingContext2D} context @param {number} layer
   * @param {number} head @param {[number, number, number, number]} box */
  drawShade(context, layer, head, box) {
    const { question, store, overview } = this.state;
    const table = store?.table(question.queries).value;
    const place = layer * overview.heads + head;
    context.fillStyle = table ? this.surface.palette.colour(table.weight(place, question.keys)) : this.surface.colours.panel;
    context.fillRect(...box);
  }

  /** @param {MouseEvent} event @returns {GridPlace | null} */
  cellAt(event) {
    if (!this.thumbnails.levels) return null;
    const { overview } = this.state;
    const { cell, height } = this.measure();
    const head = Math.floor((event.offsetX - GRID_LEFT) / (cell + GRID_GAP));
    const layer = Math.floor((event.offsetY - GRID_TOP) / (height + GRID_GAP));
    const isThere = head >= 0 && head < overview.heads && layer >= 0 && layer < overview.layers;
    return isThere ? { layer, head } : null;
  }

  /** @param {GridPlace | null} place */
  point(place) {
    if (place?.layer === this.pointed?.layer && place?.head === this.pointed?.head) return;
    this.pointed = place;
    this.draw();
    if (!place) return this.surface.note.hide();
    const { cell, height } = this.measure();
    const x = GRID_LEFT + (place.head + 0.5) * (cell + GRID_GAP);
    this.thumbnails.note(this.canvas, place.layer, place.head, x, GRID_TOP + (place.layer + 1) * (height + GRID_GAP) - 8);
  }

  /** @param {KeyboardEvent} event */
  key(event) {
    const { state, actions } = this;
    const at = this.pointed ?? { layer: state.layer, head: state.head ?? 0 };
    if (event.key === "Enter") actions.openHead(at.layer, at.head, { keyboard: true });
    else if (state.edits.on && EDIT_KEYS.includes(event.key)) actions.edit({ layer: at.layer, head: event.shiftKey ? null : at.head });
    else if (event.key === "Escape") this.point(null);
    else if (event.key in ARROWS) {
      const [down, across] = ARROWS[event.key];
      const layer = clamp(at.layer + down, 0, state.overview.layers - 1);
      this.point({ layer, head: clamp(at.head + across, 0, state.overview.heads - 1) });
    } else return;
    event.preventDefault();
  }
}

// Every head as a small picture, and in words: for the grid, the ranking, and a matrix whose head is on its way.

/**
 * @typedef {{ cell: number, height: number }} Size
 */

export class Thumbnails {
  /** @type {Uint8Array | null} A level a pixel, once they are unpacked. */
  levels = null;
  /** @type {{ mark: string, pictures: OffscreenCanvas[] }} */
  #painted = { mark: "", pictures: [] };
  /** @type {{ mark: string, pictures: OffscreenCanvas[] }} */
  #arcs = { mark: "", pictures: [] };

  /** @param {Parts} parts */
  constructor({ state, surface, later, draw }) {
    this.state = state;
    this.surface = surface;
    if (!state.store) return;
    later(state.store.thumbs, (levels) => {
      this.levels = levels;
      draw();
    });
  }

  /** One small picture a head, as heads were chosen to be drawn; at the size of the canvas, or enlarged without smoothing.
   * @param {Size} size @param {HTMLCanvasElement} canvas */
  pictures(size, canvas) {
    return this.state.drawsArcs ? this.#arcPictures(size, pixelRatio(canvas)) : this.#cellPictures();
  }

  // A pixel a weight, painted once for a theme.
  #cellPictures() {
    const { state, surface: { palette } } = this;
    const { rows, columns, signed } = state.overview;
    const mark = `${palette.theme.name} ${state.fullScale}`;
    if (this.#painted.mark === mark) return this.#painted.pictures;
    const pictures = this.#each((levels, end) => {
      const picture = new OffscreenCanvas(columns, rows);
      const shades = signed ? palette.signedPixels(THUMB_MASKED - 1, end) : palette.pixels(THUMB_MASKED - 1, end);
      const table = [...shades, palette.maskedPixel];
      const image = new ImageData(columns, rows);
      const pixels = new Uint32Array(image.data.buffer);
      for (let pixel = 0; pixel < pixels.length; pixel++) pixels[pixel] = table[levels[pixel]];
      picture.getContext("2d")?.putImageData(image, 0, 0);
      return picture;
    });
    this.#painted = { mark, pictures };
    return pictures;
  }

  /** Painted once for a size and a theme: pointing at heads only copies them. @param {Size} size @param {number} ratio */
  #arcPictures({ cell, height }, ratio) {
    const { state, surface: { colours } } = this;
    const mark = [colours.name, state.fullScale, cell, height, ratio].join();
    if (this.#arcs.mark === mark) return this.#arcs.pictures;
    const size = { width: cell, height, ratio };
    this.#arcs = { mark, pictures: this.#each((levels, end) => smallArcs(levels, state.overview, end, colours.accent, size)) };
    return this.#arcs.pictures;
  }

  /** @param {(levels: Uint8Array, end: number) => OffscreenCanvas} paint */
  #each(paint) {
    const { overview, fullScale } = this.state;
    const size = overview.rows * overview.columns;
    return overview.notes.map(({ highest }, index) => {
      const levels = /** @type {Uint8Array} */ (this.levels).subarray(index * size, (index + 1) * size);
      return paint(levels, fullScale ? highest : 1);
    });
  }

  /** @param {number} layer @param {number | null} head */
  picture(layer, head) {
    return head === null || !this.levels ? null : this.#cellPictures()[layer * this.state.overview.heads + head];
  }

  /** Says of a head what its measures are: beside a point of a canvas, and to a screen reader.
   * @param {HTMLCanvasElement} canvas @param {number} layer @param {number} head @param {number} x @param {number} y */
  note(canvas, layer, head, x, y) {
    const lines = this.#describe(layer, head);
    this.surface.note.show(canvas, x, y, ...lines);
    /** @param {Node | string} part */
    const text = (part) => (typeof part === "string" ? part : part.textContent);
    this.surface.live.say(lines.map((line) => [line].flat().map(text).join("")).join(". "));
  }

  /** @param {number} layer @param {number} head */
  #describe(layer, head) {
    const { overview, orders } = this.state;
    const note = overview.notes[layer * overview.heads + head];
    const off = this.state.isOff(layer, head) ? ", switched off" : "";
    const measured = orders.filter((name) => name !== "model" && note[name] !== null).map((name) => `${ORDERS[name].name} ${ORDERS[name].tell(note)}`);
    const [fact, ...others] = overview.signed ? ["after less before"] : measured;
    /** @type {Line[]} */
    const lines = [`${headTitle(layer, head)}${off}   ${fact ?? ""}`];
    if (note.link) {
      const [query, key, weight] = note.link;
      lines.push([word(overview.queries[query][0]), " → ", word(overview.keys[key][0]), `  ${signed(weight, 3)}`]);
    }
    if (others.length) lines.push(others.join(", "));
    return lines;
  }
}

// A head as small arcs, as BertViz's model view draws it: lines from who looks, on the left, to whom, on the right.

const LEAST_SHARE = 0.05;
const SMALL_LEVELS = 6;

// `levels`: the head's small picture, a share of its largest weight a pixel; `end`: the share of the scale that the largest has.
/** @param {Uint8Array} levels @param {{ rows: number, columns: number }} overview @param {number} end @param {string} colour
 * @param {{ width: number, height: number, ratio: number }} size */
export function smallArcs(levels, { rows, columns }, end, colour, { width, height, ratio }) {
  const canvas = new OffscreenCanvas(Math.max(1, Math.round(width * ratio)), Math.max(1, Math.round(height * ratio)));
  const context = /** @type {OffscreenCanvasRenderingContext2D} */ (canvas.getContext("2d"));
  context.scale(ratio, ratio);
  const paths = Array.from({ length: SMALL_LEVELS + 1 }, () => new Path2D());
  for (let cell = 0; cell < levels.length; cell++) {
    if (levels[cell] === THUMB_MASKED) continue;
    // A weight that was summed or rounded may be a little above 1.
    const share = Math.min((levels[cell] / (THUMB_MASKED - 1)) * end, 1);
    if (share < LEAST_SHARE) continue;
    const path = paths[Math.ceil(share * SMALL_LEVELS)];
    path.moveTo(0, ((Math.floor(cell / columns) + 0.5) * height) / rows);
    path.lineTo(width, (((cell % columns) + 0.5) * height) / columns);
  }
  context.strokeStyle = colour;
  paths.forEach((path, level) => {
    context.globalAlpha = level / SMALL_LEVELS;
    context.lineWidth = 0.6 + level / SMALL_LEVELS;
    context.stroke(path);
  });
  return canvas;
}
