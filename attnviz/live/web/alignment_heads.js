// All heads of a translation: how the rows of each are read, what they give to a word, and which of them give most, as
// attnviz/ui/translate/alignment_view.py has it.

import { tellingColumns } from "./alignment_cell.js";
import { Lens } from "./head_view.js";
import { nameOfHead } from "./head_name.js";

/**
 * @import { AskedCell } from "./alignment_cell.js"
 * @import { AttentionMap, View } from "./head_view.js"
 * @import { Card, Draft } from "./translation_picture.js"
 * @typedef {{ layer: number, head: number, weight: number }} RankedHead
 */

const MOST_RANKED = 5;

export class AlignmentHeads {
  /** @type {Map<boolean, Lens>} By whether a row is named after the token that is written there. */
  #lenses = new Map();

  /** @param {AttentionMap} cross @param {Draft} draft @param {Card} card @param {View} view */
  constructor(cross, draft, card, view) {
    this.cross = cross;
    this.view = view;
    this.written = draft.steps.map(({ token }) => token);
    this.metrics = card.metrics;
  }

  /** Whether a row is named after the token that is written there, or read: whichever was measured to be truer.
   * @param {number} layer @param {number | null} head */
  isNaive(layer, head) {
    const name = `${nameOfHead(layer, head)}${head === null ? " mean" : ""}`;
    const [naive, shifted] = ["naive", "shifted"].map((reading) => this.metrics[`AER in domain ${name} ${reading}`]);
    return naive < shifted;
  }

  /** @param {boolean} isNaive */
  lens(isNaive) {
    const lens = this.#lenses.get(isNaive) ?? new Lens(isNaive ? { ...this.cross, queries: this.written } : this.cross, this.view);
    this.#lenses.set(isNaive, lens);
    return lens;
  }

  /** What the word at a position of the address gives to some columns, in every head, its rows read as that head is drawn.
   * @param {number} position @param {number[]} columns @returns {Float32Array[]} a head each */
  given(position, columns) {
    const { layers, heads, keys } = this.cross;
    return Array.from({ length: layers * heads }, (_, place) => {
      const [layer, head] = [Math.floor(place / heads), place % heads];
      const isNaive = this.isNaive(layer, head);
      const lens = this.lens(isNaive);
      const part = lens.rows.parts.find((rows) => rows.includes(position - Number(isNaive)));
      const weights = this.cross.weights(layer, head);
      const sum = (/** @type {number} */ column) => (part ?? []).reduce((all, row) => all + lens.columns.parts[column].reduce((some, key) => some + weights[row * keys.length + key], 0), 0);
      return Float32Array.from(columns, (column) => (part ? sum(column) / part.length : 0));
    });
  }

  /** The head that gives most to the link that was asked, or of a word to another; null where there is nothing to follow.
   * @param {AskedCell} asked @returns {[layer: number, head: number] | null} */
  followed({ query, key }) {
    const { layers, heads } = this.cross;
    const { rows, columns, isEmpty } = this.lens(false);
    const row = query === null || isEmpty ? -1 : rows.parts.findIndex((part) => part.includes(query));
    if (row < 0 || layers * heads === 1) return null;
    const column = key === null ? -1 : columns.parts.findIndex((part) => part.includes(key));
    const given = this.given(Number(query), column < 0 ? tellingColumns(rows.tokens[row], columns.tokens) : [column]).map((weights) => Math.max(...weights));
    const best = given.reduce((most, weight, place) => (weight > given[most] ? place : most), 0);
    return [Math.floor(best / heads), best % heads];
  }

  /** The heads that give most to a cell of the picture, and the mean over all; null where there is but one.
   * @param {number} position of its row in the address @param {[query: number, key: number]} cell
   * @returns {{ cell: [number, number], mean: number, first: RankedHead[] } | null} */
  ranked(position, cell) {
    const { layers, heads } = this.cross;
    if (layers * heads === 1) return null;
    const all = this.given(position, [cell[1]]).map(([weight], place) => ({ layer: Math.floor(place / heads), head: place % heads, weight }));
    const mean = all.reduce((sum, { weight }) => sum + weight, 0) / all.length;
    return { cell, mean, first: all.toSorted((one, other) => other.weight - one.weight).slice(0, MOST_RANKED) };
  }
}
