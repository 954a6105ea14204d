// A translation with its alignment, described as attnviz/figures/translate/alignments.py describes it.

import { isWord } from "../../figures/explorer/chosen_words.js";
import { askedCell } from "./alignment_cell.js";
import { AlignmentHeads } from "./alignment_heads.js";
import { largestOf } from "./head_metrics.js";
import { directionOf } from "./map_package.js";
import { visibleText } from "./token_labels.js";
import { nameOfHead } from "./head_name.js";

/**
 * @import { AttentionMap, HeadMatrix, Token } from "./head_view.js"
 * @typedef {{ name: string, n_layers: number, n_heads: number, supervised_head: [number, number] | null, metrics: Record<string, number> }} Card
 * @typedef {{ steps: { token: Token }[] }} Draft
 * @typedef {{ layer?: number | null, head?: number | null, isMean?: boolean | null, followed?: [layer: number, head: number] | null, words?: boolean,
 *   hideSpecial?: boolean, query?: number | null, key?: number | null, isGiven?: boolean }} TranslationQuestion  what was chosen; null: nothing;
 *   query and key: the cell, by the numbers of the address; isGiven: whether the target was typed
 */

// Letters from which on a word is more likely a noun, a verb or an adjective than a small word.
const LONGER = 4;

/** @param {string} output @param {Draft} draft @param {AttentionMap} cross @param {Card} card @param {TranslationQuestion} asked */
export function describeTranslation(output, draft, cross, card, asked) {
  const { isGiven = false, words = true, hideSpecial = false, query = null, key = null } = asked;
  const [layer, head] = placeOf(cross, card, asked);
  const isTrained = String([layer, head]) === String(card.supervised_head);
  const heads = new AlignmentHeads(cross, draft, card, { words, hideSpecial });
  const firstRow = Number(heads.isNaive(layer, head));
  const matrix = heads.lens(Boolean(firstRow)).matrix(layer, head);
  const described = {
    name: card.name,
    head: [headOf(cross, layer, head, isTrained), isGiven ? "target given" : ""].filter(Boolean).join(" · "),
    number: "weight",
    off: false,
    edited: [],
    hidden: [],
    place: [layer, head],
    shape: [cross.layers, cross.heads],
    where: whereOf(cross, layer, head, isTrained),
    parts: sentenceParts(Array.from(output), matrix.queries),
    queries: matrix.queries.map(alignedToken),
    keys: matrix.keys.map(alignedToken),
    directions: [directionOf(matrix.queries), directionOf(matrix.keys)],
    rows: matrix.rows,
    columns: matrix.columns,
    links: null,
    choices: matrix.rows.map(() => []),
  };
  const cell = askedCell(matrix, firstRow, { query, key }) ?? clearestCell(matrix);
  const ranked = heads.ranked(matrix.rows[cell[0]] + firstRow, cell, Boolean(firstRow));
  return { described, weights: new Uint8Array(matrix.weights.slice().buffer), cell, ranked, firstRow };
}

/** The head that was chosen; unasked the one that follows what is asked, else the supervised one, else the mean of the last layer.
 * @param {AttentionMap} cross @param {Card} card @param {TranslationQuestion} asked @returns {[layer: number, head: number | null]} */
function placeOf({ layers, heads }, { supervised_head: trained }, { layer = null, head = null, isMean = null, followed = null }) {
  const unasked = followed ?? trained;
  const own = Math.min(layer ?? unasked?.[0] ?? layers - 1, layers - 1);
  return heads === 1 || (isMean ?? !unasked) ? [own, null] : [own, Math.min(head ?? unasked?.[1] ?? 0, heads - 1)];
}

/** As attnviz/analysis/wording.py names it. @param {AttentionMap} cross @param {number} layer @param {number | null} head @param {boolean} isTrained */
function headOf({ layers, heads }, layer, head, isTrained) {
  if (layers * heads === 1) return "";
  return head === null ? `${nameOfHead(layer, head)}, mean of ${heads} heads` : `${nameOfHead(layer, head)}${isTrained ? ", trained to align" : ""}`;
}

/** @param {AttentionMap} cross @param {number} layer @param {number | null} head @param {boolean} isTrained */
function whereOf({ layers, heads }, layer, head, isTrained) {
  if (layers * heads === 1) return "the model's only head";
  if (head === null) return `the mean of layer ${layer}`;
  return `head ${head} of layer ${layer}${isTrained ? ", trained to align" : ""}, one of ${layers * heads}`;
}

/** The link to show first: the strongest between two longer words that are spelt differently; else the strongest.
 * @param {HeadMatrix} matrix @returns {[query: number, key: number]} */
function clearestCell(matrix) {
  const { weights, queries, keys } = matrix;
  const links = queries.flatMap((token, query) => {
    const key = largestOf(matrix, query);
    return isWord(token) ? [{ query, key, weight: weights[query * keys.length + key] }] : [];
  });
  const between = links.filter(({ key }) => isWord(keys[key]));
  const words = between.length ? between : links;
  const longer = words.filter(({ query, key }) => {
    const [target, source] = [queries[query], keys[key]].map(({ text }) => text.toLowerCase());
    return Math.min(Array.from(target).length, Array.from(source).length) >= LONGER && target !== source;
  });
  const candidates = longer.length ? longer : words;
  if (!candidates.length) return [0, largestOf(matrix, 0)];
  const best = candidates.reduce((one, other) => (other.weight > one.weight ? other : one));
  return [best.query, best.key];
}

/** The sentence cut where its tokens begin and end. @param {string[]} letters @param {Token[]} tokens
 * @returns {[text: string, row: number | null, differs: boolean][]} */
function sentenceParts(letters, tokens) {
  /** @type {[string, number | null, boolean][]} */
  const parts = [];
  let at = 0;
  for (const [row, token] of tokens.entries()) {
    const [start, end] = [Math.max(token.start, at), Math.min(token.end, letters.length)];
    if (token.special || end <= start) continue;
    if (start > at) parts.push([letters.slice(at, start).join(""), null, false]);
    parts.push([letters.slice(start, end).join(""), row, false]);
    at = end;
  }
  return at < letters.length ? [...parts, [letters.slice(at).join(""), null, false]] : parts;
}

/** @param {Token} token */
const alignedToken = ({ text, special, start, end }) => [visibleText(text), special ? 1 : 0, start, end];
