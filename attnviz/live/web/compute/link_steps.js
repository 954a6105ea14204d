// One weight of scaled dot-product attention, step by step, as attnviz/analysis/compute/dot_product.py unfolds it: a test compares both.

import { Excerpt, excerptMatrix, excerptRow, projectionStep } from "./excerpts.js";
import { placeIn, quotedCell, softmaxOrigin, termOf, weightRows, writtenDot } from "./matrix.js";
import { largestRemainder, numberText, summed } from "./rounding.js";

/**
 * @import { CellOrigin, CellPlace, ComputationStep, LabelledMatrix } from "./matrix.js"
 * @typedef {{ weight: number[][], bias: number[] }} Learned  a row of weight for each number that it makes
 * @typedef {{ states: number[][], query: Learned, key: Learned, value: Learned }} HeadInputs  what a head reads, and its matrices
 * @typedef {{ query: number[][], key: number[][], value: number[][] }} HeadVectors
 * @typedef {{ tokens: string[], query: number, key: number }} LinkPlace
 */

const [MOST_DIMS, MOST_KEYS] = [6, 6];

/** @param {HeadInputs} inputs @returns {HeadVectors} */
export function vectorsOf({ states, ...learned }) {
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
