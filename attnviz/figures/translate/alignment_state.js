// What the alignments show: the models, which of them is large, the chosen cell of each, and what is pointed at.

import { clamp } from "../drawing/canvas.js";
import { colourLimit } from "../drawing/palette.js";
import { caseFolded, nameOfHead } from "../drawing/elements.js";

/**
 * @import { Place } from "../drawing/matrix_marks.js"
 * @import { Bytes } from "../drawing/mount.js"
 * @import { Palette } from "../drawing/palette.js"
 * @import { Ranked } from "../explorer/word_weights.js"
 */

// One model's translation, with its weights; and which of its words are the same as those of another.

/**
 * @typedef {[text: string, special: number, start: number, end: number]} AlignedToken
 * @typedef {[name: string, probability: number, canSteer: boolean]} Alternative
 * @typedef {{ step: number, text: string, p: number, fixed: boolean, alternatives: Alternative[] }} Choice
 * @typedef {{ slot: number, name: string, number: string, off: boolean, hidden: number[], isTrained: boolean, isGiven: boolean,
 *   place: [layer: number, head: number | null], shape: [layers: number, heads: number], translation: string,
 *   unlike: [start: number, end: number][], edited: [number, number, string][], directions: [string, string],
 *   queries: AlignedToken[], keys: AlignedToken[], rows: number[], columns: number[], links: [number, number][] | null,
 *   choices: Choice[][] }} Description  what alignments.py says of a model; unlike: where its translation differs from those of the others
 */

const MIXED = "mixing share";

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

/** The head that is drawn, and what is particular to its numbers; empty for a model of one. @param {Description} said */
export function headCaption({ place: [layer, head], shape: [layers, heads], number, isTrained, isGiven }) {
  let name = nameOfHead(layer, head);
  if (number === MIXED) name = `Layer ${layer}`;
  else if (layers * heads === 1) name = "";
  else name += head === null ? `, mean of ${heads} heads` : trainedWords(isTrained);
  return [name, number === "weight" ? "" : number, isGiven ? "target given" : ""].filter(Boolean).join(" · ");
}

/** Which head is drawn, in words. @param {Description} said */
export function headPlace({ place: [layer, head], shape: [layers, heads], number, isTrained }) {
  if (number === MIXED) return `all heads of layer ${layer} together`;
  if (layers * heads === 1) return "the model's only head";
  return head === null ? `the mean of layer ${layer}` : `head ${head} of layer ${layer}${trainedWords(isTrained)}, one of ${layers * heads}`;
}

/** @param {boolean} isTrained */
const trainedWords = (isTrained) => (isTrained ? ", trained to align" : "");

/** A translation cut where its tokens begin and end: each part with the row of its token, and whether it differs from the others'.
 * @param {Description} said @returns {[text: string, row: number | null, differs: boolean][]} */
export function sentenceParts({ translation, queries, unlike }) {
  const letters = Array.from(translation);
  /** @param {number} start @param {number} end @param {number | null} row @returns {[string, number | null, boolean]} */
  const part = (start, end, row) => [letters.slice(start, end).join(""), row, unlike.some(([first, last]) => first < end && start < last)];
  /** @type {[string, number | null, boolean][]} */
  const parts = [];
  let at = 0;
  for (const [row, [, special, first, last]] of queries.entries()) {
    // Characters that several tokens cover, such as those of a split emoji, stand once.
    const [start, end] = [Math.max(first, at), Math.min(last, letters.length)];
    if (special || end <= start) continue;
    if (start > at) parts.push(part(at, start, null));
    parts.push(part(start, end, row));
    at = end;
  }
  // What a limit cut off has no row where rows are named after what is read.
  return at < letters.length ? [...parts, part(at, letters.length, null)] : parts;
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
  const wanted = caseFolded(queries[query][0]);
  /** @param {AlignedToken} token */
  const isSame = ([text]) => caseFolded(text) === wanted;
  let time = queries.slice(0, query).filter(isSame).length;
  const index = others.findIndex((token) => isSame(token) && time-- === 0);
  return index < 0 ? null : index;
}

/**
 * @typedef {{ name: string, models: Description[], chunks: Map<string, Bytes>, seq: number, hero: number,
 *   cells: Record<number, [query: number, key: number]>, ranked?: Record<number, RankedLink>, open: boolean, theme: string,
 *   fullScale: boolean, least: number, isPinned?: boolean }} Message
 * @typedef {{ cell: [query: number, key: number], mean: number, first: Ranked[], step?: string }} RankedLink  of a model with several heads: what
 *   the first of them, and on average all, give to a link; step: which of the two rows of a word is ranked, and whether it is the drawn one
 */

export class AlignmentState {
  // Of the package, by its content.
  name = "";
  /** @type {Model[]} */
  models = [];
  // The slot of the model that is large.
  hero = 0;
  /** @type {Message["cells"]} */
  cells = {};
  /** @type {Record<number, RankedLink>} */
  ranked = {};
  // Whether what could stand in place of the chosen word is shown.
  isOpen = false;
  // Whether a person chose the head; else it follows what is asked.
  isPinned = false;
  // Counts what a person chose: what Python says of an earlier choice is older already.
  seq = 0;
  // Whether colours run to a weight of 1, where they could end, and where they do.
  isFullScale = true;
  end = 1;
  highest = 1;
  // The weight from which on a link is drawn.
  least = 0;
  /** @type {(Place & { model: Model }) | null} */
  pointed = null;

  /** Takes what Python says is to be looked at; true where it is of other models. @param {Message} message */
  update({ name, models, chunks, seq, hero, cells, ranked = {}, open, fullScale, least, isPinned = false }) {
    const isOther = name !== this.name;
    if (isOther) {
      this.models = models.map((each) => new Model(each, /** @type {Bytes} */ (chunks.get(String(each.slot)))));
      Object.assign(this, { name, cells, ranked, pointed: null });
    }
    if (seq >= this.seq) Object.assign(this, { seq, hero, cells, ranked, isOpen: open });
    Object.assign(this, { least, isPinned });
    this.isFullScale = fullScale;
    this.end = fullScale ? 1 : Math.max(...this.models.map(({ highest }) => highest), 1e-9);
    this.highest = Math.min(this.end, Math.max(...this.models.map(({ limit }) => limit)));
    return isOther;
  }

  get model() {
    return this.models.find(({ slot }) => slot === this.hero) ?? this.models[0];
  }

  // The row and the column that are chosen in the large picture.
  get chosen() {
    const [query, key] = this.cells[this.model.slot];
    return { query, key };
  }

  // What the heads of the large model are ranked by; nothing while that of the link is on its way.
  get rankedHeads() {
    const { query, key } = this.chosen;
    const link = this.ranked[this.model.slot];
    return link && link.cell[0] === query && link.cell[1] === key ? link : null;
  }

  get choices() {
    return this.model.said.choices[this.chosen.query];
  }

  // What the parts of the large picture are drawn from: another name is another picture.
  get drawn() {
    return `${this.name} ${this.model.slot}`;
  }

  /** The words of a model that are lit: those that are pointed at, wherever, else the chosen ones. @param {Model} model */
  litIn(model) {
    return this.pointed ? model.find(this.pointed.model, this.pointed) : model.find(this.model, this.chosen);
  }
}
