// A translation with its alignment, described as attnviz/figures/translate/alignments.py describes it.

import { isWord } from "../../figures/explorer/question.js";
import { largestOf } from "./head_metrics.js";
import { Lens } from "./head_view.js";
import { directionOf } from "./map_package.js";
import { nameOfHead, visibleText } from "./written.js";

/**
 * @import { AttentionMap, HeadMatrix, Token } from "./head_view.js"
 * @typedef {{ name: string, n_layers: number, n_heads: number, supervised_head: [number, number] | null, metrics: Record<string, number> }} Card
 * @typedef {{ steps: { token: Token }[] }} Draft
 */

// Letters from which on a word is more likely a noun, a verb or an adjective than a small word.
const LONGER = 4;

/** @param {string} output @param {Draft} draft @param {AttentionMap} cross @param {Card} card
 * @param {{ target?: string, layer?: number | null, head?: number | null, isMean?: boolean | null, words?: boolean, hideSpecial?: boolean }} request
 *   what was typed and chosen; null: nothing */
export function describeTranslation(output, draft, cross, card, request) {
  const { target, words = true, hideSpecial = false } = request;
  const [layer, head] = placeOf(cross, card, request);
  const isTrained = String([layer, head]) === String(card.supervised_head);
  const matrix = new Lens(readAs(cross, draft, card, layer, head), { words, hideSpecial }).matrix(layer, head);
  const described = {
    name: card.name,
    head: [headOf(cross, layer, head, isTrained), target ? "target given" : ""].filter(Boolean).join(" · "),
    number: "weight",
    off: false,
    edited: [],
    hidden: [],
    place: [layer, head],
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
  return { described, weights: new Uint8Array(matrix.weights.slice().buffer), cell: clearestCell(matrix), shape: [cross.layers, cross.heads] };
}

/** The head that was chosen; unasked the supervised one, else the mean of the last layer.
 * @param {AttentionMap} cross @param {Card} card @param {{ layer?: number | null, head?: number | null, isMean?: boolean | null }} asked
 * @returns {[layer: number, head: number | null]} */
function placeOf({ layers, heads }, { supervised_head: trained }, { layer = null, head = null, isMean = null }) {
  const own = Math.min(layer ?? trained?.[0] ?? layers - 1, layers - 1);
  return heads === 1 || (isMean ?? !trained) ? [own, null] : [own, Math.min(head ?? trained?.[1] ?? 0, heads - 1)];
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
  return `head ${head} of layer ${layer}${isTrained ? ", the one trained to align" : ""}, of ${layers * heads}`;
}

/** Each row named after the token that is read there, or after the one that is written: whichever was measured to be truer.
 * @param {AttentionMap} cross @param {Draft} draft @param {Card} card @param {number} layer @param {number | null} head @returns {AttentionMap} */
function readAs(cross, { steps }, { metrics }, layer, head) {
  const name = `${nameOfHead(layer, head)}${head === null ? " mean" : ""}`;
  const [naive, shifted] = ["naive", "shifted"].map((reading) => metrics[`AER in domain ${name} ${reading}`]);
  return naive < shifted ? { ...cross, queries: steps.map(({ token }) => token) } : cross;
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
