// One weight of scaled dot-product attention, step by step, as attnviz/analysis/compute/dot_product.py unfolds it: a test compares both.

import { nameOfHead, visibleText } from "../../figures/drawing/elements.js";
import { wordGroups } from "./head_view.js";
import { largestRemainder, MINUS, numberText, spelled, summed, unitsOf100, eightDigits, powerOfTen } from "./labels.js";

/** @import { AttentionMap } from "./head_view.js" */

// Labelled matrices, and the sum that a cell came from, written out, as attnviz/analysis/compute/steps.py has them.

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
const placeIn = ({ name, first = [0, 0] }, row, column) => [name, row + first[0], column + first[1]];
/** @param {LabelledMatrix} matrix @param {number} row @param {number} column @returns {Term} */
const quotedCell = ({ name, shown }, row, column) => [shown[row][column], name];
/** @param {string} text @returns {Term} */
const termOf = (text) => [text, ""];
/** @param {number[]} values */
const sumOf = (values) => values.reduce((sum, value) => sum + value, 0);
/** @param {KnownVector} vector @param {number} index */
const textAt = ({ values, known }, index) => known.get(index)?.[0] ?? numberText(values[index]);
/** A factor; a negative one in brackets. @param {string} text */
const inBrackets = (text) => (text.startsWith(MINUS) ? `(${text})` : text);
/** @param {KnownVector} vector @param {Iterable<number>} indices */
const placesOf = ({ known }, indices) => [...indices].flatMap((index) => (known.has(index) ? [/** @type {[string, CellPlace]} */ (known.get(index))[1]] : []));

/** Places in the order of their sizes, the largest first. @param {number[]} sizes */
function bySize(sizes) {
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
function writtenDot(left, right, result, also = 0) {
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
function softmaxOrigin(scores, at, result) {
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
function weightRows(weights, keep) {
  return {
    shown: weights.map((row) => largestRemainder(row, { keep }).map(spelled)),
    totals: weights.map((row) => spelled(unitsOf100(sumOf(row)))),
  };
}

// Steps as attnviz/figures/compute/steps.js draws them, described as attnviz/figures/compute/steps.py does.

/**
 * @typedef {{ steps: any[], origins: Record<string, any> }} DescribedSteps
 */

/** @param {CellPlace} place */
const idOf = (place) => place.join(":");

/** @param {ComputationStep[]} steps @returns {DescribedSteps} */
export function describeSteps(steps) {
  /** @type {Record<string, any>} */
  const origins = {};
  steps.forEach(({ matrices, origins: own }, step) => {
    for (const [at, { cells, sum }] of own) {
      const [row, column] = at.split(":").map(Number);
      origins[idOf(placeIn(matrices[matrices.length - 1], row, column))] = { step, from: cells.map(idOf), sum };
    }
  });
  const described = steps.map(({ symbol, title, formula, sentence, signs, start, matrices }) => {
    return { symbol, title, formula, sentence, signs, start, matrices: matrices.map(describeMatrix) };
  });
  return { steps: described, origins };
}

/** @param {LabelledMatrix} matrix */
function describeMatrix(matrix) {
  const { name, label = name, rows, columns, values, shown, totals = [], size, weights = false } = matrix;
  const cells = values.map((row, at) => row.map((value, column) => {
    const cell = { id: idOf(placeIn(matrix, at, column)), text: shown[at][column] };
    if (!Number.isFinite(value)) return cell;
    return { ...cell, exact: eightDigits(value), ...(weights ? { value } : {}) };
  }));
  return { name, label, shape: size, rows: rows.map(axisName), columns: columns.map(axisName), totals, blocks: 1, weights, cells };
}

/** @param {string} text */
const axisName = (text) => (text ? visibleText(text) : "");

// Long vectors on a page, as attnviz/analysis/compute/dot_product.py shows them: the largest numbers, and how many others there are.

const DOTS = "…";
// So many of a token's numbers are written out, each beside its row of the matrix.
const MOST_ROWS = 4;

// Some positions of a long axis, in their order; the others are counted.
export class Excerpt {
  /** @param {number[]} kept @param {number} length */
  constructor(kept, length) {
    this.kept = kept;
    this.length = length;
    this.rest = Array.from({ length }, (_, place) => place).filter((place) => !kept.includes(place));
  }

  /** The `most` largest, those of `always` among them; all, where there are no more than two too many.
   * @param {number[]} sizes @param {number} most @param {number[]} always */
  static of(sizes, most, always = []) {
    const order = bySize(sizes);
    if (order.length <= most + 2) return new Excerpt(order.sort((one, other) => one - other), order.length);
    const first = [...new Set([...always, ...order])].slice(0, most);
    return new Excerpt(first.sort((one, other) => one - other), order.length);
  }

  /** @param {string[]} [all] */
  names(all) {
    const names = this.kept.map((place) => all?.[place] ?? String(place));
    return this.rest.length ? [...names, `${this.rest.length.toLocaleString("en")} more`] : names;
  }

  /** @param {ArrayLike<number>} values */
  row(values) {
    return [...this.kept.map((place) => values[place]), ...(this.rest.length ? [NaN] : [])];
  }

  /** @param {ArrayLike<number>} values */
  texts(values) {
    return [...this.kept.map((place) => numberText(values[place])), ...(this.rest.length ? [DOTS] : [])];
  }

  /** All values, of which the first row of a matrix shows some. @param {LabelledMatrix} matrix @param {number[]} values @returns {KnownVector} */
  vector(matrix, values) {
    return { name: matrix.name, values, known: new Map(this.kept.map((place, column) => [place, [matrix.shown[0][column], placeIn(matrix, 0, column)]])) };
  }
}

/** @param {string} name @param {string} row @param {number[]} values @param {Excerpt} excerpt @param {string[]} [names] @returns {LabelledMatrix} */
function excerptRow(name, row, values, excerpt, names) {
  const size = `1 × ${excerpt.length.toLocaleString("en")}`;
  return { name, values: [excerpt.row(values)], rows: [row], columns: excerpt.names(names), shown: [excerpt.texts(values)], size };
}

/** Some rows and columns of a large matrix, and the whole of each shown column. @param {string} name @param {number[][]} values
 * @param {Excerpt} down @param {Excerpt} across @param {string[]} [names] @returns {[LabelledMatrix, (at: number) => KnownVector]} */
function excerptMatrix(name, values, down, across, names) {
  const [rows, shown] = [down.kept.map((place) => across.row(values[place])), down.kept.map((place) => across.texts(values[place]))];
  const columns = across.names();
  if (down.rest.length) {
    rows.push(columns.map(() => NaN));
    shown.push(columns.map(() => DOTS));
  }
  const size = `${down.length.toLocaleString("en")} × ${across.length.toLocaleString("en")}`;
  const matrix = { name, values: rows, rows: down.names(names), columns, shown, size };
  return [matrix, (at) => {
    const known = down.kept.map((place, row) => /** @type {[number, [string, CellPlace]]} */ ([place, [shown[row][at], placeIn(matrix, row, at)]]));
    return { name, values: values.map((row) => row[across.kept[at]]), known: new Map(known) };
  }];
}

/** x W + b of one token. @param {{ states: number[], weight: number[][], bias: number[] }} made weight: a row for each number that it makes
 * @param {[string, string]} names of x and W @param {LabelledMatrix} result @param {Excerpt} units that `result` shows
 * @param {Pick<ComputationStep, "symbol" | "title" | "formula" | "sentence">} caption @returns {ComputationStep} */
function projectionStep({ states, weight, bias }, names, result, units, caption) {
  const sizes = states.map((state, place) => units.kept.reduce((sum, unit) => sum + Math.abs(state * weight[unit][place]), 0));
  const excerpt = Excerpt.of(sizes, MOST_ROWS);
  const left = excerptRow(names[0], result.rows[0], states, excerpt);
  const turned = states.map((_, place) => weight.map((row) => row[place]));
  const [table, down] = excerptMatrix(names[1], turned, excerpt, units);
  const across = excerpt.vector(left, states);
  const origins = new Map(units.kept.map((unit, column) => /** @type {[string, CellOrigin]} */ ([
    `0:${column}`, writtenDot(across, down(column), quotedCell(result, 0, column), bias[unit]),
  ])));
  return { ...caption, matrices: [left, table, result], signs: ["×", "="], origins, start: [0, 0] };
}

/**
 * @typedef {{ weight: number[][], bias: number[] }} Learned  a row of weight for each number that it makes
 * @typedef {{ states: number[][], query: Learned, key: Learned, value: Learned }} HeadInputs  what a head reads, and its matrices
 * @typedef {{ query: number[][], key: number[][], value: number[][] }} HeadVectors
 * @typedef {{ tokens: string[], query: number, key: number }} LinkPlace
 */

const [MOST_DIMS, MOST_KEYS] = [6, 6];

/** @param {HeadInputs} inputs @returns {HeadVectors} */
function vectorsOf({ states, ...learned }) {
  const made = ({ weight, bias } = learned.query) => states.map((state) => weight.map((row, unit) => Math.fround(dotOf(state, row) + bias[unit])));
  return { query: made(learned.query), key: made(learned.key), value: made(learned.value) };
}

/** @param {number[]} left @param {number[]} right */
const dotOf = (left, right) => left.reduce((sum, value, place) => sum + value * right[place], 0);

/** @param {HeadInputs} inputs @param {HeadVectors} vectors @param {LinkPlace} link @returns {ComputationStep[]} */
export function linkSteps(inputs, vectors, link) {
  const [query, key] = [vectors.query[link.query], vectors.key[link.key]];
  const [who, whom] = [link.tokens[link.query], link.tokens[link.key]];
  const scores = vectors.key.map((each) => dotOf(each, query));
  const scaled = scores.map((score) => score / Math.sqrt(query.length));
  const weights = softmaxOf(scaled);
  const keys = Excerpt.of(weights, MOST_KEYS, [link.key]);
  const dims = Excerpt.of(query.map((value, place) => value * key[place]), MOST_DIMS);
  const meets = queryMeetsKey(link, query, key, scores[link.key], dims);
  const [q, k] = meets.matrices;
  const projected = (/** @type {Learned} */ learned, /** @type {number} */ at) => ({ states: inputs.states[at], ...learned });
  const all = scoreRow("S", who, scores, keys, link);
  const steps = [
    projectionStep(projected(inputs.query, link.query), ["x", "W_Q"], q, dims, {
      symbol: "q", title: "The query", formula: "q = x W_Q + b",
      sentence: `x is “${who}” as this attention reads it: ${grouped(inputs.states[0].length)} numbers. W_Q was learned, and ${grouped(query.length)} of its columns are this head's. They ask: what am I looking for?`,
    }),
    projectionStep(projected(inputs.key, link.key), ["x′", "W_K"], k, dims, {
      symbol: "k", title: "The key", formula: "k = x′ W_K + b",
      sentence: `x′ is “${whom}” as this attention reads it. Another matrix, W_K, says what it can be found by.`,
    }),
    meets,
    allScores(link, keys, all, query, vectors.key),
    scaledScores(link, keys, all, scoreRow("S′", who, scaled, keys, link), query.length),
  ];
  const softmax = softmaxStep(link, keys, steps[steps.length - 1].matrices[1], scaled, weights);
  const context = contextStep(link, keys, softmax.matrices[1], weights, vectors.value);
  const mixed = vectors.value[0].map((_, dim) => dotOf(weights, vectors.value.map((row) => row[dim])));
  const valueDims = Excerpt.of(mixed, MOST_DIMS);
  const v = { ...excerptRow("V", whom, vectors.value[link.key], valueDims), label: "v", first: /** @type {[number, number]} */ ([keys.kept.indexOf(link.key), 0]) };
  const value = projectionStep(projected(inputs.value, link.key), ["x′", "W_V"], v, valueDims, {
    symbol: "v", title: "The value", formula: "v = x′ W_V + b", sentence: `A third matrix, W_V, makes what “${whom}” hands over to those who look at it.`,
  });
  return [...steps, softmax, value, context];
}

/** @param {number} value */
const grouped = (value) => value.toLocaleString("en");

/** @param {number[]} scores */
function softmaxOf(scores) {
  const highest = Math.max(...scores);
  const powers = scores.map((score) => Math.exp(score - highest));
  const total = powers.reduce((sum, power) => sum + power, 0);
  return powers.map((power) => power / total);
}

/** @param {string} name @param {string} who @param {number[]} values @param {Excerpt} keys @param {LinkPlace} link */
const scoreRow = (name, who, values, keys, { tokens }) => excerptRow(name, who, values, keys, tokens);

/** @param {LinkPlace} link @param {number[]} query @param {number[]} key @param {number} score @param {Excerpt} dims @returns {ComputationStep} */
function queryMeetsKey({ tokens, query: row, key: column }, query, key, score, dims) {
  const [who, whom] = [tokens[row], tokens[column]];
  const [left, right] = [excerptRow("q", who, query, dims), excerptRow("k", whom, key, dims)];
  const result = { name: "q·k", values: [[score]], rows: [who], columns: [whom], shown: [[numberText(score)]], size: "1 × 1" };
  const origin = writtenDot(dims.vector(left, query), dims.vector(right, key), quotedCell(result, 0, 0));
  return {
    symbol: "q·k", title: "Query meets key", formula: "q · k = Σ_d q_d k_d",
    sentence: `q is what “${who}” looks for, k what “${whom}” can be found by: ${query.length} numbers each, which the model made of the two tokens. Their products add up to the score.`,
    matrices: [left, right, result], signs: ["·", "="], origins: new Map([["0:0", origin]]), start: [0, 0],
  };
}

/** @param {LinkPlace} link @param {Excerpt} keys @param {LabelledMatrix} result @param {number[]} query @param {number[][]} vectors @returns {ComputationStep} */
function allScores({ key }, keys, result, query, vectors) {
  const plain = (/** @type {string} */ name, /** @type {number[]} */ values) => ({ name, values, known: new Map() });
  const origins = keys.kept.map((place, column) => /** @type {[string, CellOrigin]} */ ([
    `0:${column}`, writtenDot(plain("q", query), plain("k", vectors[place]), quotedCell(result, 0, column)),
  ]));
  return {
    symbol: "q·K", title: "Scores", formula: "S = q Kᵀ", sentence: "The same for every key: each gets a score.",
    matrices: [result], signs: [], origins: new Map(origins), start: [0, keys.kept.indexOf(key)],
  };
}

/** @param {LinkPlace} link @param {Excerpt} keys @param {LabelledMatrix} before @param {LabelledMatrix} result @param {number} width @returns {ComputationStep} */
function scaledScores({ key }, keys, before, result, width) {
  const root = numberText(Math.sqrt(width));
  const origins = keys.kept.map((_, column) => {
    const own = quotedCell(before, 0, column);
    const sum = [own, termOf(` / √${width} = `), own, termOf(` / ${root} = `), quotedCell(result, 0, column)];
    return /** @type {[string, CellOrigin]} */ ([`0:${column}`, { cells: [placeIn(before, 0, column)], sum }]);
  });
  return {
    symbol: "÷√d", title: "Scale", formula: `S′ = S / √${width}`, sentence: `√${width} = ${root} takes back that a sum of ${width} products grows with their number.`,
    matrices: [before, result], signs: ["→"], origins: new Map(origins), start: [0, keys.kept.indexOf(key)],
  };
}

/** @param {LinkPlace} link @param {Excerpt} keys @param {LabelledMatrix} before @param {number[]} scores @param {number[]} weights @returns {ComputationStep} */
function softmaxStep({ tokens, query, key }, keys, before, scores, weights) {
  const at = keys.kept.indexOf(key);
  const rest = keys.rest.reduce((sum, place) => sum + weights[place], 0);
  const row = [...keys.kept.map((place) => weights[place]), ...(keys.rest.length ? [rest] : [])];
  const { columns, rows } = before;
  const result = { name: "α", values: [row], rows, columns, ...weightRows([row], at), size: `1 × ${grouped(keys.length)}`, weights: true };
  const vector = keys.vector(before, scores);
  const origins = keys.kept.map((place, column) => /** @type {[string, CellOrigin]} */ ([`0:${column}`, softmaxOrigin(vector, place, quotedCell(result, 0, column))]));
  return {
    symbol: "softmax", title: "Weights", formula: `α = softmax(${before.name})`,
    sentence: `e to the power of each score, divided by the sum: shares that add up to 1. “${tokens[key]}” gets ${weights[key].toFixed(4)} of the attention of “${tokens[query]}”.`,
    matrices: [before, result], signs: ["→"], origins: new Map(origins), start: [0, at],
  };
}

/** @param {LinkPlace} link @param {Excerpt} keys @param {LabelledMatrix} before @param {number[]} weights @param {number[][]} value @returns {ComputationStep} */
function contextStep({ tokens, query }, keys, before, weights, value) {
  const context = value[0].map((_, dim) => dotOf(weights, value.map((row) => row[dim])));
  const dims = Excerpt.of(context, MOST_DIMS);
  const [table, down] = excerptMatrix("V", value, keys, dims, tokens);
  const result = excerptRow("c", tokens[query], context, dims);
  const across = keys.vector(before, weights);
  const origins = dims.kept.map((_, column) => /** @type {[string, CellOrigin]} */ ([`0:${column}`, writtenDot(across, down(column), quotedCell(result, 0, column))]));
  return {
    symbol: "·V", title: "Context", formula: "c = Σ_j α_j v_j",
    sentence: `The values, mixed in these shares: what “${tokens[query]}” takes home from those it looked at.`,
    matrices: [before, table, result], signs: ["×", "="], origins: new Map(origins), start: [0, 0],
  };
}

/** The weights between the pieces of two words, which become one; null where both words are one piece.
 * @param {ArrayLike<number>} weights of the head @param {string[]} tokens @param {number[]} rows the pieces of the word that looks
 * @param {number[]} columns those of the word that is looked at @returns {ComputationStep | null} */
export function mergeStep(weights, tokens, rows, columns) {
  if (rows.length === 1 && columns.length === 1) return null;
  const cells = rows.map((row) => columns.map((column) => weights[row * tokens.length + column]));
  const total = cells.flat().reduce((sum, weight) => sum + weight, 0);
  const names = [rows, columns].map((parts) => parts.map((part) => tokens[part]));
  const pieces = { name: "α", values: cells, rows: names[0], columns: names[1], ...weightRows(cells), size: `${rows.length} × ${columns.length}`, weights: true };
  const whole = total / rows.length;
  const result = { name: "word", values: [[whole]], rows: [names[0].join("")], columns: [names[1].join("")], shown: [[numberText(whole)]], size: "1 × 1", weights: true };
  const [counts, over] = [largestRemainder(cells.flat()), rows.length > 1 ? ` / ${rows.length}` : ""];
  const text = over ? `(${summed(counts)})${over} = ${numberText(total)}${over} = ` : `${summed(counts)} = `;
  const places = rows.flatMap((_, row) => columns.map((_, column) => /** @type {CellPlace} */ (placeIn(pieces, row, column))));
  return {
    symbol: "word", title: "Whole words", formula: "Σ over keys, mean over queries",
    sentence: "What a word receives is the sum over its pieces; what it gives is the mean over them.",
    matrices: [pieces, result], signs: ["→"], start: [0, 0],
    origins: new Map([["0:0", { cells: places, sum: [termOf(text), /** @type {[string, string]} */ ([result.shown[0][0], "word"])] }]]),
  };
}

// The steps of a weight of a text that was typed, and how far they are from the weight in the heatmap.

/**
 * @typedef {{ layer: number, head: number, query: number, key: number, words: boolean }} WeightPlace
 */

/** @param {AttentionMap} map @param {HeadInputs} inputs @param {WeightPlace} place @param {string} model */
export function unfoldWeight(map, inputs, { layer, head, query, key, words }, model) {
  const link = { tokens: map.keys.map(({ text }) => text), query, key };
  const steps = linkSteps(inputs, vectorsOf(inputs), link);
  const softmax = steps.findIndex(({ symbol }) => symbol === "softmax");
  const { matrices, start } = steps[softmax];
  const weights = map.weights(layer, head);
  const weight = weights[query * map.keys.length + key];
  const difference = Math.abs(weight - matrices[1].values[start[0]][start[1]]);
  if (words) {
    const [rows, columns] = [query, key].map((place) => wordGroups(map.keys).find((group) => group.includes(place)) ?? [place]);
    const merged = mergeStep(weights, link.tokens, rows, columns);
    if (merged) steps.splice(softmax + 1, 0, merged);
  }
  const checked = `${nameOfHead(layer, head)} of ${model} has ${weight.toFixed(4)} in the heatmap; these steps agree with it to ${powerOfTen(difference)}.`;
  return { at: [0, ...steps[0].start], computation: describeSteps(steps), checked };
}
