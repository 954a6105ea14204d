// One model's translation, with its weights; and which of its words are the same as those of another.

import { clamp } from "../drawing/canvas.js";
import { colourLimit } from "../explorer/colour_limit.js";

/**
 * @import { Bytes } from "../drawing/package.js"
 * @import { Place } from "../drawing/matrix.js"
 * @import { Palette } from "../drawing/palette.js"
 * @typedef {[text: string, special: number, start: number, end: number]} AlignedToken
 * @typedef {[name: string, probability: number, canSteer: boolean]} Alternative
 * @typedef {{ step: number, text: string, p: number, fixed: boolean, alternatives: Alternative[] }} Choice
 * @typedef {{ slot: number, name: string, head: string, number: string, off: boolean, hidden: number[],
 *   place?: [layer: number, head: number | null], shape?: [layers: number, heads: number], where?: string,
 *   edited: [number, number, string][], parts: [text: string, row: number | null, differs: boolean][], directions: [string, string],
 *   queries: AlignedToken[], keys: AlignedToken[], rows: number[], columns: number[], links: [number, number][] | null,
 *   choices: Choice[][] }} Description  what alignments.py says of a model
 */

export class Model {
  /** @type {{ name: string, canvas: HTMLCanvasElement } | null} */
  #painted = null;

  /** @param {Description} said @param {Bytes} chunk */
  constructor(said, chunk) {
    this.said = said;
    this.slot = said.slot;
    this.queries = said.queries;
    this.keys = said.keys;
    // A copy, for numbers of four bytes begin at a multiple of four.
    this.weights = new Float32Array(chunk.slice().buffer);
    this.highest = this.weights.reduce((highest, weight) => (weight > highest ? weight : highest), 0);
    this.limit = colourLimit(this.queries.length, this.keys.length, (share) => percentile(this.weights, share));
    this.links = said.links ?? [];
    this.hard = said.links && new Set(said.links.map(([query, key]) => query * this.keys.length + key));
    this.edits = { off: said.off, columns: said.hidden, cells: said.edited };
  }

  /** A masked cell has a weight of exactly 0. @param {number} query @param {number} key */
  weight(query, key) {
    return this.weights[query * this.keys.length + key] || 0;
  }

  /** @param {number} query @param {number} key */
  masked(query, key) {
    return Number.isNaN(this.weights[query * this.keys.length + key]);
  }

  /** @param {number} query @param {number} key */
  isHard(query, key) {
    return Boolean(this.hard?.has(query * this.keys.length + key));
  }

  /** @param {number} query */
  strongestOf(query) {
    let best = 0;
    for (let key = 1; key < this.keys.length; key++) if (this.weight(query, key) > this.weight(query, best)) best = key;
    return best;
  }

  /** The cells as an image of one pixel each, made once for a scale of colours. @param {Palette} palette @param {number} highest */
  image(palette, highest) {
    const name = `${palette.theme.name} ${highest}`;
    if (this.#painted?.name === name) return this.#painted.canvas;
    const canvas = document.createElement("canvas");
    [canvas.width, canvas.height] = [this.keys.length, this.queries.length];
    const image = new ImageData(canvas.width, canvas.height);
    const pixels = new Uint32Array(image.data.buffer);
    const table = palette.pixels(1000);
    for (let cell = 0; cell < pixels.length; cell++) {
      const weight = this.weights[cell];
      pixels[cell] = Number.isNaN(weight) ? palette.maskedPixel : table[Math.round(1000 * clamp(weight / highest, 0, 1))];
    }
    canvas.getContext("2d")?.putImageData(image, 0, 0);
    this.#painted = { name, canvas };
    return canvas;
  }

  /** Where words of another model's picture stand in this one; null where it has no such word.
   * @param {Model} other @param {Place} place @returns {Place} */
  find(other, { query, key }) {
    if (other === this) return { query, key };
    return {
      query: query === null ? null : sameTarget(other.queries, query, this.queries),
      key: key === null ? null : sameSource(other.keys[key], this.keys),
    };
  }
}

/** The weight that so large a share of those that are not masked is at most. @param {Float32Array} weights @param {number} share */
function percentile(weights, share) {
  const seen = weights.filter((weight) => !Number.isNaN(weight)).sort();
  return seen[Math.ceil(share * seen.length) - 1] ?? 0;
}

/** Both models read the same text: a word stands where it stands. @param {AlignedToken} token @param {AlignedToken[]} keys */
function sameSource([text, special, start, end], keys) {
  const index = keys.findIndex((each) => (special ? each[1] && each[0] === text : each[2] < end && start < each[3]));
  return index < 0 ? null : index;
}

/** Of what both have written, the same word, for the same time. @param {AlignedToken[]} queries @param {number} query @param {AlignedToken[]} others */
function sameTarget(queries, query, others) {
  const wanted = queries[query][0].toLowerCase();
  /** @param {AlignedToken} token */
  const isSame = ([text]) => text.toLowerCase() === wanted;
  let time = queries.slice(0, query).filter(isSame).length;
  const index = others.findIndex((token) => isSame(token) && time-- === 0);
  return index < 0 ? null : index;
}
