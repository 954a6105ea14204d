// The heads of a map, unpacked from its package when they are looked at.

import { inflate } from "../drawing/mount.js";
import { colourLimit } from "../drawing/palette.js";
import { nameOfHead } from "../drawing/elements.js";
import { signed } from "../drawing/numbers.js";
import { linkTable } from "./word_weights.js";

/**
 * @import { Bytes } from "../drawing/mount.js"
 * @import { HeadNote } from "./view_options.js"
 * @import { Word, WordWeights } from "./word_weights.js"
 */

// How heads and numbers are written.

/** "3:1" is L3·H1, "3:mean" the mean over the heads of layer 3. @param {number} layer @param {number | null} head */
export const headName = (layer, head) => `${layer}:${head ?? "mean"}`;
/** @param {number} layer @param {number | null} head */
export const headTitle = (layer, head) => `${nameOfHead(layer, head)}${head === null ? ", mean of all heads" : ""}`;

export const MASKED = 65535;
export const THUMB_MASKED = 255;
// Codes of this many cells stay unpacked: 64 MB. What was looked at longest ago goes first.
const CELLS_KEPT = 32e6;
// Packed, heads that came one by one stay up to so many bytes.
const BYTES_KEPT = 48e6;
// Overviews that a page keeps: of four models side by side, each now and before.
export const OVERVIEWS_KEPT = 8;

/**
 * @typedef {[text: string, special: number, piece: string]} Token
 * @typedef {[query: number, key: number, weight: number]} Link
 * @typedef {"queries" | "keys"} Axis
 * @typedef {{ name: string, kind: string, layers: number, heads: number, rows: number, columns: number, queries: Token[],
 *   keys: Token[], own: (number | null)[], direction: [string, string], notes: HeadNote[], signed?: boolean, plain?: boolean,
 *   causal?: boolean, words: { queries: Word[], keys: Word[], own: (number | null)[] },
 *   at?: [rows: number[], columns: number[]] | null, lineNames?: Record<Axis, string>, chunks: Map<string, Bytes> }} Overview  the header of a map: rows and columns are those of its small pictures; at: where
 *   its queries and keys stand in the map, where the view has not all as they are; in a plain one,
 *   which was made in this browser, nothing is compressed
 * @typedef {[layer: number, head: number | null]} HeadPlace  head null: the mean of the layer
 */

// The heads of one map under one view. A head that is not here is asked for, and waited for.
export class HeadStore {
  /** @type {Map<string, { value: Head | null, promise?: Promise<Head> }>} */
  unpacked = new Map();
  /** @type {Map<string, PromiseWithResolvers<Bytes> & { place: HeadPlace | null }>} */
  waiting = new Map();
  /** @type {Map<string, { value: WordWeights | null, promise: Promise<WordWeights> }>} What the heads are ranked by, for words that were asked about. */
  tables = new Map();

  /** @param {Overview} overview @param {(places: HeadPlace[]) => void} ask */
  constructor(overview, ask) {
    this.overview = overview;
    this.ask = ask;
    this.chunks = new Map(overview.chunks);
    this.read = overview.plain ? (/** @type {Bytes} */ bytes) => Promise.resolve(bytes) : inflate;
    this.thumbs = this.read(/** @type {Bytes} */ (overview.chunks.get("thumbs")));
  }

  /** Asks again for what has not come: of two messages that a host is sent at once, the first may be lost. @param {Map<string, Bytes>} chunks */
  add(chunks) {
    for (const [name, chunk] of chunks) {
      this.chunks.delete(name);
      this.chunks.set(name, chunk);
      this.waiting.get(name)?.resolve(chunk);
      this.waiting.delete(name);
    }
    if (this.waiting.size) this.askAll();
    this.forgetOldestChunks();
  }

  // A head that is let go is asked for again.
  forgetOldestChunks() {
    const came = [...this.chunks].filter(([name]) => !this.overview.chunks.has(name));
    let bytes = came.reduce((sum, [, chunk]) => sum + chunk.length, 0);
    for (const [name, chunk] of came.slice(0, -1)) {
      if (bytes <= BYTES_KEPT) return;
      bytes -= chunk.length;
      this.chunks.delete(name);
    }
  }

  askAll() {
    this.ask(Array.from(this.waiting.values(), ({ place }) => place).filter((place) => place !== null));
  }

  // Whether every head is here.
  get isComplete() {
    return this.overview.chunks.has(headName(this.overview.layers - 1, this.overview.heads - 1));
  }

  /** What some words give in every head, as soon as it is known; null until then. @param {number[]} queries */
  table(queries) {
    const name = queries.join();
    let kept = this.tables.get(name);
    if (!kept) {
      const made = { value: /** @type {WordWeights | null} */ (null), promise: linkTable(this, queries) };
      made.promise.then((table) => (made.value = table)).catch(() => this.tables.delete(name));
      this.tables.set(name, (kept = made));
    }
    return kept;
  }

  /** The head if it is unpacked already, to draw without waiting. @param {number} layer @param {number | null} head */
  ready(layer, head) {
    return this.unpacked.get(headName(layer, head))?.value ?? null;
  }

  /** @param {number} layer @param {number | null} head */
  head(layer, head) {
    const name = headName(layer, head);
    const kept = this.unpacked.get(name) ?? { value: null };
    this.unpacked.delete(name);
    this.unpacked.set(name, kept);
    kept.promise ??= this.unpack(layer, head).then((value) => {
      kept.value = value;
      this.forgetOldest();
      return value;
    });
    // What failed is tried again when it is next asked for.
    kept.promise.catch(() => this.unpacked.delete(name));
    return kept.promise;
  }

  /** @param {number} layer @param {number | null} head */
  async unpack(layer, head) {
    const chunk = await this.chunk(headName(layer, head), [layer, head]);
    return new Head(layer, head, this.overview, chunk[0], await this.read(chunk.subarray(1)));
  }

  /** A chunk, once it is here; one of a head is asked for. @param {string} name @param {HeadPlace | null} place @returns {Promise<Bytes>} */
  async chunk(name, place = null) {
    const chunk = this.chunks.get(name);
    if (chunk) return chunk;
    const wait = this.waiting.get(name) ?? { ...Promise.withResolvers(), place };
    this.waiting.set(name, wait);
    if (place) this.askAll();
    return wait.promise;
  }

  forgetOldest() {
    let cells = 0;
    for (const { value } of this.unpacked.values()) cells += value?.codes.length ?? 0;
    for (const [name, { value }] of this.unpacked) {
      if (cells <= CELLS_KEPT || this.unpacked.size === 1) return;
      if (!value) continue;
      cells -= value.codes.length;
      this.unpacked.delete(name);
    }
  }
}

/** The weight that so large a share of those that are not masked is at most. @param {Head} head @param {number} share */
function codePercentile({ codes, highest, one }, share) {
  const counts = new Uint32Array(highest + 1);
  let seen = 0;
  for (const code of codes) {
    if (code === MASKED) continue;
    counts[code] += 1;
    seen += 1;
  }
  let [code, below] = [0, counts[0]];
  while (below < Math.ceil(share * seen)) below += counts[++code];
  return code / one;
}

// The weights of a head as codes, one a cell.
export class Head {
  // The code furthest from 0, and whether there are masked cells.
  highest = 0;
  anyMasked = false;
  /** @type {number | null} */
  #percentile = null;

  /** @param {number} layer @param {number | null} head @param {{ queries: any[], keys: any[], signed?: boolean }} overview
   * @param {number} decimals @param {Uint8Array} bytes the low bytes of all codes, then the high ones */
  constructor(layer, head, { queries, keys, signed = false }, decimals, bytes) {
    this.layer = layer;
    this.head = head;
    this.nQueries = queries.length;
    this.nKeys = keys.length;
    this.signed = signed;
    this.decimals = decimals;
    this.one = 10 ** decimals;
    // Of a difference the codes begin at -1.
    this.zero = signed ? this.one : 0;
    const cells = bytes.length / 2;
    this.codes = new Uint16Array(cells);
    for (let cell = 0; cell < cells; cell++) {
      const code = bytes[cell] | (bytes[cells + cell] << 8);
      this.codes[cell] = code;
      if (code === MASKED) this.anyMasked = true;
      else if (Math.abs(code - this.zero) > this.highest) this.highest = Math.abs(code - this.zero);
    }
  }

  /** @param {number} query @param {number} key */
  masked(query, key) {
    return this.codes[query * this.nKeys + key] === MASKED;
  }

  /** A masked cell has a weight of exactly 0. @param {number} query @param {number} key */
  weight(query, key) {
    const code = this.codes[query * this.nKeys + key];
    return code === MASKED ? 0 : (code - this.zero) / this.one;
  }

  /** @param {number} query @param {number} key */
  tell(query, key) {
    return this.masked(query, key) ? "masked" : this.write(this.weight(query, key));
  }

  /** A weight with its digits, a difference with its sign. @param {number} weight */
  write(weight) {
    return `${this.signed && weight > 0 ? "+" : ""}${signed(weight, this.decimals)}`;
  }

  /** The largest weights, of a difference the furthest from 0, the largest first. @param {number} count
   * @param {(query: number, key: number) => boolean} isLink those that count @returns {Link[]} */
  strongest(count, isLink = () => true) {
    /** @type {[cell: number, size: number][]} */
    const candidates = [];
    let least = 0;
    for (let cell = 0; cell < this.codes.length; cell++) {
      const size = Math.abs(this.codes[cell] - this.zero);
      if (size <= least || this.codes[cell] === MASKED || !isLink(Math.floor(cell / this.nKeys), cell % this.nKeys)) continue;
      candidates.push([cell, size]);
      if (candidates.length < 8 * count) continue;
      candidates.sort((one, other) => other[1] - one[1]).length = count;
      least = candidates[count - 1][1];
    }
    candidates.sort((one, other) => other[1] - one[1]);
    return candidates.slice(0, count).map(([cell]) => {
      return [Math.floor(cell / this.nKeys), cell % this.nKeys, (this.codes[cell] - this.zero) / this.one];
    });
  }

  /** The strongest link of one query, or of one key; null where all is masked.
   * @param {Axis} axis @param {number} index @returns {[query: number, key: number] | null} */
  strongestOf(axis, index) {
    /** @type {[number, number] | null} */
    let place = null;
    let largest = -1;
    const count = axis === "queries" ? this.nKeys : this.nQueries;
    for (let other = 0; other < count; other++) {
      const [query, key] = axis === "queries" ? [index, other] : [other, index];
      const size = Math.abs(this.weight(query, key));
      if (this.masked(query, key) || size <= largest) continue;
      largest = size;
      place = [query, key];
    }
    return place;
  }

  /** The weight of the strongest colour: 1, or the largest; of a long text it may be less, and all larger ones have it.
   * @param {boolean} fullScale */
  scaleEnd(fullScale) {
    const end = fullScale ? 1 : Math.max(this.highest / this.one, 1e-9);
    return Math.min(end, this.limit);
  }

  get limit() {
    if (this.signed) return 1;
    return colourLimit(this.nQueries, this.nKeys, (share) => (this.#percentile ??= codePercentile(this, share)));
  }
}
