// The weights between the words of a map in all of its heads, as in attnviz/analysis/head_ranking.py, and the link that is asked for.

import { inFourDigits } from "../../figures/explorer/word_weights.js";
import { firstWord, tellingKeys } from "./head_metrics.js";
import { Lens, rowWeights } from "./head_view.js";
import { wordsOf } from "./map_package.js";

/**
 * @import { AttentionMap, View } from "./head_view.js"
 * @typedef {{ layer: number, head: number | null }} HeadAt
 * @typedef {{ layer: number, head: number | null, query: number, key: number, isAsked: boolean, isLink: boolean }} WordLink  query and
 *   key: positions in the map of the cell that stands for the link; isAsked, isLink: whether a person chose who looks, and at whom
 * @typedef {{ place: HeadAt | null, query: number | null, key: number | null, queries?: number[], keys?: number[] }} WordQuestion  place: the
 *   head that a person chose; query and key: positions in the map; queries and keys: those of further words
 */

export class WordLinks {
  /** @param {AttentionMap} map @param {View} view */
  constructor(map, view) {
    this.map = map;
    this.lens = new Lens(map, view);
    this.words = wordsOf(map, view, this.lens);
    // The positions in the map of each word's tokens.
    const { rows, columns } = this.lens;
    this.rows = this.words.queries.map(({ parts }) => parts.flatMap((place) => rows.parts[place]));
    this.columns = this.words.keys.map(({ parts }) => parts.flatMap((place) => columns.parts[place]));
  }

  /** The link of what was asked; of what was not, the most telling one. @param {WordQuestion} question @returns {WordLink} */
  first({ place, query, key, queries = [], keys = [] }) {
    const asked = wordAt(this.rows, query);
    // What is looked at counts where it is known who looks.
    const wanted = asked < 0 ? -1 : wordAt(this.columns, key);
    const word = asked < 0 ? firstWord(this, place) : asked;
    const columns = wanted >= 0 ? [wanted] : tellingKeys(this, place, word);
    let best = { ...(place ?? { layer: 0, head: 0 }), column: -1, weight: -1 };
    for (const { layer, head } of place ? [place] : this.heads()) {
      const row = this.row(layer, head, word);
      for (const column of columns) {
        const weight = inFourDigits(row[column]);
        if (weight > best.weight) best = { layer, head, column, weight };
      }
    }
    const [looking, lookedAt] = [this.#among(this.rows, word, asked < 0 ? [] : queries), this.#among(this.columns, best.column, wanted < 0 ? [] : keys)];
    const { layer, head } = !place && looking.length + lookedAt.length > 2 ? this.#strongestHead(looking, lookedAt) : best;
    const [shownRow, shownColumns] = [this.#shown(this.rows[word], "rows", asked < 0 ? null : query), best.column < 0 ? null : this.columns[best.column]];
    const weights = rowWeights(this.map, layer, head, shownRow[0]);
    const among = this.#shown(shownColumns ?? this.map.keys.map((_, column) => column), "columns", wanted < 0 ? null : key);
    const at = (/** @type {number} */ column) => weights[column];
    return { layer, head, query: shownRow[0], key: among.reduce((most, column) => (at(column) > at(most) ? column : most)), isAsked: asked >= 0, isLink: wanted >= 0 };
  }

  /** A word, and those of further positions. @param {number[][]} parts @param {number} first @param {number[]} more */
  #among(parts, first, more) {
    return [...new Set([first, ...more.map((position) => wordAt(parts, position))])].filter((word) => word >= 0);
  }

  /** The head in which words give most to others. @param {number[]} queries @param {number[]} keys */
  #strongestHead(queries, keys) {
    const [table, size] = [this.table(queries), this.columns.length];
    const total = (/** @type {HeadAt} */ { layer, head }) =>
      inFourDigits(keys.reduce((sum, key) => sum + table[(layer * this.map.heads + Number(head)) * size + key], 0));
    return this.heads().reduce((best, each) => (total(each) > total(best) ? each : best));
  }

  /** What a word gives to every word in a head: of its tokens the mean, to several the sum.
   * @param {number} layer @param {number | null} head @param {number} word */
  row(layer, head, word) {
    const own = this.rows[word].map((row) => rowWeights(this.map, layer, head, row));
    return Float32Array.from(this.columns, (parts) => {
      let sum = 0;
      for (const column of parts) for (const row of own) sum += row[column];
      return sum / own.length;
    });
  }

  /** What some words give in every head, as attnviz/figures/explorer/word_weights.js reads it. @param {number[]} words */
  table(words) {
    const size = this.columns.length;
    const all = new Float32Array(this.map.layers * this.map.heads * size);
    for (const { layer, head } of this.heads()) {
      const at = (layer * this.map.heads + Number(head)) * size;
      for (const word of words) this.row(layer, head, word).forEach((weight, key) => (all[at + key] += weight / words.length));
    }
    return all;
  }

  /** @returns {HeadAt[]} */
  heads() {
    const { layers, heads } = this.map;
    return Array.from({ length: layers * heads }, (_, place) => ({ layer: Math.floor(place / heads), head: place % heads }));
  }

  /** Of positions those that the view shows as rows or columns of their own; the wanted one alone, where it is among them.
   * @param {number[]} positions @param {"rows" | "columns"} axis @param {number | null} wanted */
  #shown(positions, axis, wanted) {
    const firsts = new Set(this.lens[axis].parts.map(([first]) => first));
    const shown = positions.filter((place) => firsts.has(place));
    return wanted !== null && shown.includes(wanted) ? [wanted] : shown;
  }

  get causal() {
    return this.map.causal;
  }
}

/** @param {number[][]} parts @param {number | null} position */
const wordAt = (parts, position) => (position === null ? -1 : parts.findIndex((own) => own.includes(position)));
