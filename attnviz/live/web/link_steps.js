// The numbers of one weight of scaled dot-product attention, as attnviz/analysis/compute.py collects them: a test compares both.

import { nameOfHead } from "../../figures/drawing/elements.js";
import { decimals, powerOfTen } from "../../figures/drawing/numbers.js";
import { wordGroups } from "./head_view.js";

/**
 * @import { AttentionMap } from "./head_view.js"
 * @import { Axis, Factors, Link, Numbers, Projection } from "../../figures/compute/worded_steps.js"
 * @typedef {{ weight: number[][], bias: number[] }} Learned  a row of weight for each number that it makes
 * @typedef {{ states: number[][], query: Learned, key: Learned, value: Learned }} HeadInputs  what a head reads, and its matrices
 * @typedef {{ query: number[][], key: number[][], value: number[][] }} HeadVectors
 * @typedef {{ tokens: string[], query: number, key: number }} LinkPlace
 * @typedef {{ layer: number, head: number, query: number, key: number, words: boolean }} WeightPlace
 */

const [MOST_DIMS, MOST_KEYS] = [6, 6];
// So many of a token's numbers are written out, each beside its row of the matrix.
const MOST_ROWS = 4;

/** The `most` largest positions, those of `always` among them; all, where there are no more than two too many.
 * @param {number[]} sizes @param {number} most @param {number[]} always @returns {Axis} */
function excerptOf(sizes, most, always = []) {
  const order = sizes.map((_, place) => place).sort((one, other) => Math.abs(sizes[other]) - Math.abs(sizes[one]) || one - other);
  const kept = order.length <= most + 2 ? order : [...new Set([...always, ...order])].slice(0, most);
  return { kept: kept.sort((one, other) => one - other), length: sizes.length };
}

/** @template T @param {Axis} axis @param {T[]} values */
const shownOf = ({ kept }, values) => kept.map((place) => values[place]);

/** The factors of a row times each column that are shown, and what all other products add up to. @param {number[]} left @param {number[][]} columns
 * @param {Axis} axis @returns {Factors} */
function factorsOf(left, columns, { kept, length }) {
  const isRest = left.map(() => true);
  for (const place of kept) isRest[place] = false;
  const beyond = columns.map((column) => left.reduce((sum, value, place) => (isRest[place] ? sum + value * column[place] : sum), 0));
  return { kept, length, left: kept.map((place) => left[place]), right: kept.map((place) => columns.map((column) => column[place])), beyond };
}

/** @param {number[]} left @param {number[]} right */
const productsOf = (left, right) => left.map((value, place) => value * right[place]);
/** @param {number[]} left @param {number[]} right */
const dotOf = (left, right) => left.reduce((sum, value, place) => sum + value * right[place], 0);

/** x W + b of one token. @param {number[]} states @param {Learned} learned @param {Axis} units @returns {Projection} */
function projectionOf(states, { weight, bias }, units) {
  const columns = shownOf(units, weight);
  const sizes = states.map((state, place) => columns.reduce((sum, column) => sum + Math.abs(state * column[place]), 0));
  return { ...factorsOf(states, columns, excerptOf(sizes, MOST_ROWS)), bias: shownOf(units, bias) };
}

/** @param {HeadInputs} inputs @returns {HeadVectors} */
function vectorsOf({ states, ...learned }) {
  const made = ({ weight, bias } = learned.query) => states.map((state) => weight.map((row, unit) => Math.fround(dotOf(state, row) + bias[unit])));
  return { query: made(learned.query), key: made(learned.key), value: made(learned.value) };
}

/** @param {number[]} scores */
function softmaxOf(scores) {
  const highest = Math.max(...scores);
  const powers = scores.map((score) => Math.exp(score - highest));
  const total = powers.reduce((sum, power) => sum + power, 0);
  return powers.map((power) => power / total);
}

/** @param {HeadInputs} inputs @param {HeadVectors} vectors @param {LinkPlace} link @returns {Numbers & { known: Link }} */
export function linkNumbers(inputs, vectors, { tokens, ...link }) {
  const [query, key] = [vectors.query[link.query], vectors.key[link.key]];
  const scores = vectors.key.map((each) => dotOf(each, query));
  const scaled = scores.map((score) => score / Math.sqrt(query.length));
  const weights = softmaxOf(scaled);
  const keys = excerptOf(weights, MOST_KEYS, [link.key]);
  const dims = excerptOf(productsOf(query, key), MOST_DIMS);
  const columns = vectors.value[0].map((_, dim) => vectors.value.map((row) => row[dim]));
  const context = columns.map((column) => dotOf(weights, column));
  const mixed = excerptOf(context, MOST_DIMS);
  const others = weights.filter((_, place) => !keys.kept.includes(place));
  const known = {
    kind: /** @type {const} */ ("dot"), query: tokens[link.query], key: tokens[link.key], at: keys.kept.indexOf(link.key), keys, names: shownOf(keys, tokens),
    size: query.length, scores: scaled, visible: null, dims,
    dots: shownOf(keys, vectors.key).map((each) => factorsOf(query, [each], excerptOf(productsOf(query, each), MOST_DIMS))),
    rows: [{ symbol: "q·K", values: shownOf(keys, scores) }, { symbol: "÷√d", values: shownOf(keys, scaled), own: null }],
    meets: { ...factorsOf(query, [key], dims), score: scores[link.key] },
    q: projectionOf(inputs.states[link.query], inputs.query, dims), k: projectionOf(inputs.states[link.key], inputs.key, dims),
  };
  return {
    symbols: [], known,
    mixed: {
      row: [...shownOf(keys, weights), ...(others.length ? [others.reduce((sum, weight) => sum + weight, 0)] : [])], merged: null,
      v: { ...projectionOf(inputs.states[link.key], inputs.value, mixed), values: shownOf(mixed, vectors.value[link.key]) },
      context: { ...factorsOf(weights, shownOf(mixed, columns), keys), dims: mixed, values: shownOf(mixed, context) },
    },
  };
}

/** The weights between the pieces of two words; null where both words are one piece. @param {ArrayLike<number>} weights of the head
 * @param {string[]} tokens @param {number[]} rows the pieces of the word that looks @param {number[]} columns those of the word that is looked at */
export function mergedOf(weights, tokens, rows, columns) {
  if (rows.length === 1 && columns.length === 1) return null;
  const [names, values] = [[rows, columns].map((parts) => parts.map((part) => tokens[part])), rows.map((row) => columns.map((column) => weights[row * tokens.length + column]))];
  return { rows: names[0], columns: names[1], values };
}

/** The steps of a weight of a text that was typed, and how far they are from the weight in the heatmap. @param {AttentionMap} map
 * @param {HeadInputs} inputs @param {WeightPlace} place @param {string} model */
export function unfoldWeight(map, inputs, { layer, head, query, key, words }, model) {
  const tokens = map.keys.map(({ text }) => text);
  const computation = linkNumbers(inputs, vectorsOf(inputs), { tokens, query, key });
  const weights = map.weights(layer, head);
  const weight = weights[query * tokens.length + key];
  const difference = Math.abs(weight - computation.mixed.row[computation.known.at]);
  if (words) {
    const [rows, columns] = [query, key].map((place) => wordGroups(map.keys).find((group) => group.includes(place)) ?? [place]);
    computation.mixed.merged = mergedOf(weights, tokens, rows, columns);
  }
  const checked = `${nameOfHead(layer, head)} of ${model} has ${decimals(weight, 4)} in the heatmap; these steps agree with it to ${powerOfTen(difference)}.`;
  return { at: [0, 0, 0], computation, checked };
}
