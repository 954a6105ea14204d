// Every head as a small picture, and in words: for the grid, the ranking, and a matrix whose head is on its way.

import { pixelRatio } from "../drawing/canvas.js";
import { word } from "../drawing/elements.js";
import { wholePercent } from "../drawing/percent.js";
import { headTitle, number } from "./head_names.js";
import { THUMB_MASKED } from "./head_store.js";
import { smallArcs } from "./small_arcs.js";

/**
 * @import { Line } from "../drawing/note.js"
 * @import { Parts } from "./view.js"
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
    const { overview } = this.state;
    const { entropy, link, diagonal, distance } = overview.notes[layer * overview.heads + head];
    const off = this.state.isOff(layer, head) ? ", switched off" : "";
    const fact = overview.signed ? "after less before" : `entropy ${entropy.toFixed(2)} bits`;
    /** @type {Line[]} */
    const lines = [`${headTitle(layer, head)}${off}   ${fact}`];
    if (link) {
      const [query, key, weight] = link;
      lines.push([word(overview.queries[query][0]), " → ", word(overview.keys[key][0]), `  ${number(weight, 3)}`]);
    }
    if (distance !== null) lines.push(`mean distance ${distance.toFixed(1)} tokens, ${wholePercent(Number(diagonal))} to neighbours`);
    return lines;
  }
}
