// What one head does, in numbers, as attnviz/analysis/head_metrics.py measures it.

import { isWord } from "../../figures/explorer/chosen_words.js";

/**
 * @import { HeadMatrix, Token } from "./head_view.js"
 * @typedef {{ query: number, key: number, weight: number }} StrongLink
 */

/** The largest weight between two different words; null where no two words look at each other.
 * @param {HeadMatrix} matrix @returns {StrongLink | null} */
export function strongestLink(matrix) {
  const { weights, queries, keys, own } = matrix;
  const [queryWords, keyWords] = [queries.map(isWord), keys.map(isWord)];
  const names = keys.map((key, index) => (key.word === null || key.word === undefined ? `${index}` : `${key.word} ${key.segment ?? 0}`));
  let [best, place] = [0, -1];
  for (let query = 0; query < queries.length; query++) {
    if (!queryWords[query]) continue;
    const column = own[query];
    const name = column === null ? null : names[column];
    for (let key = 0; key < keys.length; key++) {
      const cell = query * keys.length + key;
      if (weights[cell] <= best || !keyWords[key] || names[key] === name) continue;
      [best, place] = [weights[cell], cell];
    }
  }
  return place < 0 ? null : { query: Math.floor(place / keys.length), key: place % keys.length, weight: best };
}

/** The key that a query gives most. @param {HeadMatrix} matrix @param {number} row */
export function largestOf({ weights, keys }, row) {
  let best = 0;
  for (let key = 1; key < keys.length; key++) if (weights[row * keys.length + key] > weights[row * keys.length + best]) best = key;
  return best;
}

/** @param {HeadMatrix} matrix */
export function summarize(matrix) {
  const { weights, keys, own, columns } = matrix;
  const width = keys.length;
  const rows = typedRows(matrix);
  /** @param {number} offset */
  const diagonal = (offset) => {
    const cells = rows.flatMap((row) => {
      const column = own[row] === null ? -1 : Number(own[row]) + offset;
      return column >= 0 && column < width ? [weights[row * width + column]] : [];
    });
    return cells.length ? mean(cells) : 0;
  };
  const special = keys.flatMap((key, index) => (key.special ? [index] : []));
  return {
    previous: diagonal(-1),
    following: diagonal(1),
    itself: diagonal(0),
    special: mean(rows.map((row) => special.reduce((sum, key) => sum + weights[row * width + key], 0))),
    first: columns[0] === 0 ? mean(rows.map((row) => weights[row * width])) : 0,
    entropy: meanEntropy(matrix),
  };
}

/** What a query gives to itself and its neighbours, on average. @param {HeadMatrix} matrix */
export function nearDiagonal({ weights, keys, own, queries }) {
  const rows = typedRows({ queries }).filter((row) => own[row] !== null);
  if (!rows.length) return 0;
  return mean(rows.map((row) => {
    const column = Number(own[row]);
    let share = 0;
    for (let key = Math.max(column - 1, 0); key <= Math.min(column + 1, keys.length - 1); key++) share += weights[row * keys.length + key];
    return share;
  }));
}

/** How far a head looks, in tokens; null between two texts. @param {HeadMatrix} matrix */
export function meanDistance({ weights, keys, own, queries }) {
  const rows = typedRows({ queries }).filter((row) => own[row] !== null);
  if (!rows.length) return null;
  return mean(rows.map((row) => {
    let [far, total] = [0, 0];
    for (let key = 0; key < keys.length; key++) {
      const weight = weights[row * keys.length + key];
      total += weight;
      far += weight * Math.abs(key - Number(own[row]));
    }
    return far / (total > 0 ? total : 1);
  }));
}

/** The entropy of a head in bits, a mean over the queries that were typed. @param {HeadMatrix} matrix */
export function meanEntropy(matrix) {
  const { weights, keys } = matrix;
  return mean(typedRows(matrix).map((row) => {
    let [total, sum] = [0, 0];
    for (let cell = row * keys.length; cell < (row + 1) * keys.length; cell++) {
      total += weights[cell];
      if (weights[cell] > 0) sum += weights[cell] * Math.log(weights[cell]);
    }
    const filled = total > 0 ? total : 1;
    return Math.max(Math.log(filled) - sum / filled, 0) / Math.LN2;
  }));
}

/** The rows of what was typed; all of them where there is none. @param {{ queries: Token[] }} matrix */
function typedRows({ queries }) {
  const rows = queries.flatMap((query, index) => (query.special ? [] : [index]));
  return rows.length ? rows : queries.map((_, index) => index);
}

/** @param {number[]} values */
const mean = (values) => Math.fround(values.reduce((sum, value) => sum + value, 0) / values.length);
