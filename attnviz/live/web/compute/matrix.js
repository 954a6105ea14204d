// Labelled matrices, and the sum that a cell came from, written out, as attnviz/analysis/compute/steps.py has them.

import { largestRemainder, MINUS, numberText, spelled, summed, unitsOf100 } from "./rounding.js";

/**
 * @typedef {[name: string, row: number, column: number]} CellPlace
 * @typedef {[text: string, of: string]} Term
 * @typedef {{ cells: CellPlace[], sum: Term[] }} CellOrigin
 * @typedef {{ name: string, values: number[][], rows: string[], columns: string[], shown: string[][], label?: string, totals?: string[],
 *   first?: [row: number, column: number], size: string, weights?: boolean }} LabelledMatrix
 * @typedef {{ name: string, values: number[], known: Map<number, [text: string, place: CellPlace]> }} KnownVector  of the numbers that stand
 *   on the page, the text and the place
 * @typedef {{ symbol: string, title: string, formula: string, sentence: string, matrices: LabelledMatrix[], signs: string[],
 *   origins: Map<string, CellOrigin>, start: [row: number, column: number] }} ComputationStep  origins by "row:column" of the last matrix
 */

// Longer sums show their largest terms, and the others as one.
const MOST_TERMS = 6;
// From here on e^x is a number that nobody reads: the largest exponent is taken off all of them, which changes no weight.
const LARGEST_EXPONENT = 7;

/** @param {LabelledMatrix} matrix @param {number} row @param {number} column @returns {CellPlace} */
export const placeIn = ({ name, first = [0, 0] }, row, column) => [name, row + first[0], column + first[1]];
/** @param {LabelledMatrix} matrix @param {number} row @param {number} column @returns {Term} */
export const quotedCell = ({ name, shown }, row, column) => [shown[row][column], name];
/** @param {string} text @returns {Term} */
export const termOf = (text) => [text, ""];
/** @param {number[]} values */
const sumOf = (values) => values.reduce((sum, value) => sum + value, 0);
/** @param {KnownVector} vector @param {number} index */
const textAt = ({ values, known }, index) => known.get(index)?.[0] ?? numberText(values[index]);
/** A factor; a negative one in brackets. @param {string} text */
const inBrackets = (text) => (text.startsWith(MINUS) ? `(${text})` : text);
/** @param {KnownVector} vector @param {Iterable<number>} indices */
const placesOf = ({ known }, indices) => [...indices].flatMap((index) => (known.has(index) ? [/** @type {[string, CellPlace]} */ (known.get(index))[1]] : []));

/** Places in the order of their sizes, the largest first. @param {number[]} sizes */
export function bySize(sizes) {
  const absolute = sizes.map(Math.abs);
  return sizes.map((_, place) => place).sort((one, other) => absolute[other] - absolute[one] || one - other);
}

/** The terms that are written out, in their order, and the others. @param {number[]} terms @param {number[]} among @param {number[]} first
 * @returns {[kept: number[], rest: number[]]} */
function largestTerms(terms, among, first = []) {
  const sizes = bySize(terms);
  if (sizes.length <= MOST_TERMS) return [[...sizes].sort((one, other) => one - other), []];
  const order = [...new Set([...first, ...sizes.filter((place) => among.includes(place)), ...sizes])];
  const most = Math.min(MOST_TERMS - 1, among.length || MOST_TERMS);
  return [order.slice(0, most).sort((one, other) => one - other), order.slice(most)];
}

/** Σ a_k b_k: the factors, then the products, which add up to the result as shown; `also` is added, as a bias.
 * @param {KnownVector} left @param {KnownVector} right @param {Term} result @param {number} also @returns {CellOrigin} */
export function writtenDot(left, right, result, also = 0) {
  const products = left.values.map((value, place) => value * right.values[place]);
  const both = [...left.known.keys()].filter((place) => right.known.has(place)).sort((one, other) => one - other);
  const [kept, rest] = largestTerms(products, both);
  const extra = [...(rest.length ? [sumOf(rest.map((place) => products[place]))] : []), ...(also ? [also] : [])];
  const total = Number(result[0].replace(MINUS, "-"));
  const counts = largestRemainder([...kept.map((place) => products[place]), ...extra], { total });
  const terms = kept.flatMap((place, index) => [
    ...(index ? [termOf(" + ")] : []), /** @type {Term} */ ([inBrackets(textAt(left, place)), left.name]), termOf("·"),
    /** @type {Term} */ ([inBrackets(textAt(right, place)), right.name]),
  ]);
  if (rest.length) terms.push(termOf(` + (${rest.length.toLocaleString("en")} more)`));
  if (also) terms.push(termOf(" + b"));
  if (counts.length > 1) terms.push(termOf(` = ${summed(counts)}`));
  return { cells: [...placesOf(left, left.known.keys()), ...placesOf(right, right.known.keys())], sum: [...terms, termOf(" = "), result] };
}

/** e^{s_j} / Σ_k e^{s_k}, for the key at a position. @param {KnownVector} scores @param {number} at @param {Term} result @returns {CellOrigin} */
export function softmaxOrigin(scores, at, result) {
  const { values, known } = scores;
  const cells = placesOf(scores, values.keys());
  if (values.length === 1) return { cells, sum: [termOf("the only key that can be seen: "), result] };
  const shift = Math.max(...values.map(Math.abs)) > LARGEST_EXPONENT ? Math.max(...values) : 0;
  const energy = values.map((value) => Math.exp(value - shift));
  const [kept, rest] = largestTerms(energy, [...known.keys()].sort((one, other) => one - other), [at]);
  const counts = largestRemainder([...kept.map((place) => energy[place]), ...(rest.length ? [sumOf(rest.map((place) => energy[place]))] : [])], { keep: kept.indexOf(at) });
  const less = shift > 0 ? ` ${MINUS} ${numberText(shift)}` : shift ? ` + ${numberText(-shift)}` : "";
  const power = (/** @type {number} */ place) => /** @type {Term} */ ([`e^{${textAt(scores, place)}${less}}`, scores.name]);
  const below = kept.flatMap((place, index) => [...(index ? [termOf(" + ")] : []), power(place)]);
  if (rest.length) below.push(termOf(` + (${rest.length.toLocaleString("en")} more)`));
  const top = spelled(counts[kept.indexOf(at)]);
  const numbers = `) = ${top} / (${summed(counts)}) = ${top} / ${spelled(sumOf(counts))} = `;
  return { cells, sum: [power(at), termOf(" / ("), ...below, termOf(numbers), result] };
}

/** Rows of weights, rounded so that each adds up to its sum, and those sums. @param {number[][]} weights @param {number} [keep] */
export function weightRows(weights, keep) {
  return {
    shown: weights.map((row) => largestRemainder(row, { keep }).map(spelled)),
    totals: weights.map((row) => spelled(unitsOf100(sumOf(row)))),
  };
}
