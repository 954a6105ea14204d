// The overview that the explorer draws from, made from a map in the browser: the same numbers as attnviz/figures/explorer/
// overview.py does, without compression, for they go nowhere.

import { directionOf, visibleText } from "../../figures/drawing/elements.js";
import { inflate, readPackage } from "../../figures/drawing/mount.js";
import { noteOf } from "./head_metrics.js";
import { Lens, wordGroups } from "./head_view.js";
import { roundEven } from "../../figures/drawing/numbers.js";

/**
 * @import { HeadNote } from "../../figures/explorer/view_options.js"
 * @import { AttentionMap, HeadMatrix, Token, View } from "./head_view.js"
 */

/**
 * @typedef {Uint8Array<ArrayBuffer>} Bytes
 * @typedef {[layer: number, head: number | null]} HeadPlace
 * @typedef {import("../../figures/explorer/head_store.js").Overview} Overview
 */

const THUMB_PIXELS = 64;
const MASKED_LEVEL = 255;
const MASKED_CODE = 65535;
const [LEAST_DECIMALS, MOST_DECIMALS] = [4, 8];

/** @param {AttentionMap} map @param {View} view @returns {Overview | null} null: the view leaves no token */
export function overviewOf(map, view) {
  const lens = new Lens(map, view);
  if (lens.isEmpty) return null;
  const { rows, columns, own } = lens;
  const isWhole = rows.tokens.length === map.queries.length && columns.tokens.length === map.keys.length;
  const [down, across] = [rows, columns].map(({ tokens }) => edges(tokens.length));
  const { thumbs, notes } = (isWhole && map.drawn) || headPictures(map, lens, down, across);
  return {
    name: `${Math.random().toString(36).slice(2)}`,
    kind: map.kind,
    layers: map.layers,
    heads: map.heads,
    rows: down.length - 1,
    columns: across.length - 1,
    queries: rows.tokens.map(shownToken),
    keys: columns.tokens.map(shownToken),
    own,
    direction: [axisDirection(rows.tokens), axisDirection(columns.tokens)],
    notes,
    signed: false,
    causal: map.causal,
    words: wordsOf(map, view, lens),
    plain: true,
    at: isWhole ? null : [rows.parts.map(([first]) => first), columns.parts.map(([first]) => first)],
    chunks: new Map([["thumbs", thumbs]]),
  };
}

/** A small picture and the numbers of every head. @param {AttentionMap} map @param {Lens} lens @param {number[]} down @param {number[]} across */
function headPictures(map, lens, down, across) {
  const size = (down.length - 1) * (across.length - 1);
  const thumbs = new Uint8Array(map.layers * map.heads * size);
  const notes = [];
  const room = new Float32Array(map.queries.length * map.keys.length);
  for (let layer = 0; layer < map.layers; layer++) {
    for (let head = 0; head < map.heads; head++) {
      const matrix = lens.matrix(layer, head, room);
      const { levels, highest } = thumbOf(matrix, down, across);
      thumbs.set(levels, (layer * map.heads + head) * size);
      notes.push({ ...noteOf(matrix), highest });
    }
  }
  return { thumbs, notes };
}

/** The words of both axes, each with its rows or columns; own: for each that looks, where it is looked at.
 * @param {AttentionMap} map @param {View} view @param {Lens} lens */
export function wordsOf(map, view, lens) {
  const whole = new Lens(map, { ...view, words: true });
  const [queries, keys] = /** @type {const} */ (["rows", "columns"]).map((axis) => {
    const groups = wordGroups(lens[axis].tokens);
    return groups.map((parts, at) => ({ text: visibleText(whole[axis].tokens[at].text), special: Boolean(whole[axis].tokens[at].special), parts }));
  });
  const own = queries.map(({ parts: [first] }) => {
    const column = lens.own[first];
    return column === null ? null : keys.findIndex(({ parts }) => parts.includes(column));
  });
  return { queries, keys, own };
}

/** The codes of some heads, by name. @param {AttentionMap} map @param {View} view @param {HeadPlace[]} places */
export function headChunks(map, view, places) {
  const lens = new Lens(map, view);
  return new Map(places.map(([layer, head]) => [`${layer}:${head ?? "mean"}`, chunkOf(lens.matrix(layer, head))]));
}

/** The number of decimals in the first byte, then the low bytes of all codes, then the high ones. @param {HeadMatrix} matrix */
function chunkOf(matrix) {
  const { weights, keys } = matrix;
  const digits = decimalsOf(weights);
  const one = 10 ** digits;
  const chunk = new Uint8Array(1 + 2 * weights.length);
  chunk[0] = digits;
  for (let cell = 0; cell < weights.length; cell++) {
    const isSeen = matrix.visible(Math.floor(cell / keys.length), cell % keys.length);
    const code = isSeen ? Math.trunc(Math.fround(Math.fround(weights[cell] * one) + 0.5)) : MASKED_CODE;
    chunk[1 + cell] = code & 255;
    chunk[1 + weights.length + cell] = code >> 8;
  }
  return chunk;
}

/** @param {Float32Array} weights */
function decimalsOf(weights) {
  const highest = weights.reduce((largest, weight) => (weight > largest ? weight : largest), 0);
  if (highest <= 0) return LEAST_DECIMALS;
  return Math.min(LEAST_DECIMALS + Math.max(0, Math.floor(-Math.log10(highest))), MOST_DECIMALS);
}

/** A small picture: of the cells under a pixel the largest counts. @param {HeadMatrix} matrix @param {number[]} down @param {number[]} across */
function thumbOf(matrix, down, across) {
  const { weights, keys } = matrix;
  const width = across.length - 1;
  const pooled = new Float32Array((down.length - 1) * width);
  const seen = new Uint8Array(pooled.length);
  for (let row = 0; row + 1 < down.length; row++) {
    for (let query = down[row]; query < down[row + 1]; query++) {
      for (let column = 0; column < width; column++) {
        const pixel = row * width + column;
        for (let key = across[column]; key < across[column + 1]; key++) {
          const weight = weights[query * keys.length + key];
          if (weight > pooled[pixel]) pooled[pixel] = weight;
          if (!seen[pixel] && matrix.visible(query, key)) seen[pixel] = 1;
        }
      }
    }
  }
  const highest = pooled.reduce((largest, weight) => (weight > largest ? weight : largest), 0);
  const scale = Math.fround(Math.max(highest, 1e-12));
  const levels = Uint8Array.from(pooled, (weight, pixel) => {
    return seen[pixel] ? roundEven(Math.fround(Math.fround(weight / scale) * (MASKED_LEVEL - 1))) : MASKED_LEVEL;
  });
  return { levels, highest };
}

/** Where the pixels of a small picture begin and end. @param {number} count */
function edges(count) {
  const pixels = Math.min(count, THUMB_PIXELS);
  return Array.from({ length: pixels + 1 }, (_, edge) => (edge === pixels ? count : Math.trunc(edge * (count / pixels))));
}

/** @param {Token} token @returns {[text: string, special: number, piece: string]} */
function shownToken({ text, special, piece = "" }) {
  return [visibleText(text), special ? 1 : 0, piece === text ? "" : piece];
}

/** Which way an axis is read. @param {Token[]} tokens */
export const axisDirection = (tokens) => directionOf(tokens.map(({ text, special }) => (special ? "" : text)).join(""));

// The maps of a picture that came with the site.

/**
 * @typedef {{ kind: string, file: string, layers?: string[] }} MapFiles
 */

/** Reads all heads of a map that came with the site; their weights have four digits or more.
 * @param {MapFiles} files @param {(file: string) => Promise<ArrayBuffer>} read @returns {Promise<AttentionMap>} */
export async function mapOfFiles({ file, layers = [] }, read) {
  const [overview, ...parts] = (await Promise.all([file, ...layers].map(read))).map((data) => readPackage(data));
  const chunks = new Map([overview, ...parts].flatMap((part) => [...part.chunks]));
  const size = overview.queries.length * overview.keys.length;
  /** @type {Float32Array[]} */
  const heads = [];
  for (let layer = 0; layer < overview.layers; layer++) {
    for (let head = 0; head < overview.heads; head++) heads.push(await weightsOf(/** @type {Bytes} */ (chunks.get(`${layer}:${head}`)), size));
  }
  const { queries, keys } = overview.places;
  const thumbs = await inflate(/** @type {Bytes} */ (overview.chunks.get("thumbs")));
  return {
    kind: overview.kind,
    layers: overview.layers,
    heads: overview.heads,
    causal: overview.causal,
    drawn: { thumbs, notes: overview.notes },
    // Of weights that are alike in these digits one is the strongest all the same.
    links: overview.notes.map((/** @type {HeadNote} */ { link }) => link && { query: link[0], key: link[1], weight: link[2] }),
    queries: overview.queries.map(tokenAt(queries)),
    keys: overview.keys.map(tokenAt(keys)),
    weights: (layer, head) => heads[layer * overview.heads + head],
  };
}

/** @param {Bytes} chunk @param {number} size */
async function weightsOf(chunk, size) {
  const bytes = await inflate(chunk.subarray(1));
  const one = 10 ** chunk[0];
  return Float32Array.from({ length: size }, (_, cell) => {
    const code = bytes[cell] | (bytes[size + cell] << 8);
    return code === 65535 ? 0 : code / one;
  });
}

/** @param {[start: number, end: number, segment: number, word: number | null][]} places */
function tokenAt(places) {
  /** @param {[text: string, special: number, piece: string]} token @param {number} index @returns {Token} */
  return ([text, special, piece], index) => {
    const [start, end, segment, word] = places[index];
    return { text, special: special === 1, piece, start, end, segment, word };
  };
}
