// What one head does, in numbers, as attnviz/analysis/head_metrics.py measures it.

import { elsewhere, inFourDigits, isWord, PRONOUNS } from "../../figures/explorer/word_weights.js";
import { roundEven } from "../../figures/drawing/numbers.js";

/**
 * @import { HeadNote } from "../../figures/explorer/view_options.js"
 * @import { HeadMatrix, StrongLink, Token } from "./head_view.js"
 * @import { HeadAt, WordLinks } from "./word_links.js"
 */

/** The largest weight between two different words; null where no two words look at each other.
 * @param {HeadMatrix} matrix @returns {StrongLink | null} */
export function strongestLink(matrix) {
  if (matrix.link !== undefined) return matrix.link;
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

/** The numbers that the explorer sorts heads by and shows with them. @param {HeadMatrix} matrix @returns {Omit<HeadNote, "highest">} */
export function noteOf(matrix) {
  const link = strongestLink(matrix);
  const distance = meanDistance(matrix);
  return {
    entropy: rounded(meanEntropy(matrix), 3),
    link: link && [link.query, link.key, rounded(link.weight, 4)],
    diagonal: distance === null ? null : rounded(nearDiagonal(matrix), 4),
    distance: distance === null ? null : rounded(distance, 3),
  };
}

/** @param {number} value @param {number} digits */
const rounded = (value, digits) => roundEven(value * 10 ** digits) / 10 ** digits;

/** What a query gives to itself and its neighbours, on average. @param {HeadMatrix} matrix */
function nearDiagonal({ weights, keys, own, queries }) {
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
function meanDistance({ weights, keys, own, queries }) {
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
function meanEntropy(matrix) {
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

// Which word a picture begins with where nobody asked, as attnviz/analysis/head_ranking.py chooses it.

// A pronoun that looks less than that at another word tells nothing.
const LEAST_TELLING = 0.2;
// The word to look at first is one of so many at the beginning: where a long text begins is what one sees of it.
const MOST_WORDS = 48;
// Letters from which on a word is more likely a noun, a verb or an adjective than a small word.
const LONG_WORD = 4;

/** The word to look at first. @param {WordLinks} links @param {HeadAt | null} place */
export function firstWord(links, place) {
  const words = [...links.words.queries.keys()].slice(0, MOST_WORDS);
  const strongest = words.map((word) => strongestWeight(links, place, word));
  const names = words.map((word) => links.words.queries[word].text.trim().toLowerCase());
  const isTelling = (/** @type {number} */ word) => strongest[word] >= inFourDigits(LEAST_TELLING);
  const pronouns = words.filter((word) => PRONOUNS.includes(names[word]) && isTelling(word) && elsewhere(/** @type {any} */ (links), word)[0] < word);
  const plain = words.filter((word) => isWord(links.words.queries[word]));
  const longer = plain.filter((word) => Array.from(names[word]).length >= LONG_WORD && isTelling(word));
  const among = [pronouns, longer, plain, words].find(({ length }) => length) ?? words;
  return among.reduce((best, word) => (strongest[word] > strongest[best] ? word : best));
}

/** Where a word can look that tells something; in a head that somebody chose, at its neighbours as well. @param {WordLinks} links @param {HeadAt | null} place @param {number} word */
export function tellingKeys(links, place, word) {
  if (!place) return elsewhere(/** @type {any} */ (links), word);
  return links.words.keys.flatMap((each, key) => (isWord(each) && key !== links.words.own[word] ? [key] : []));
}

/** The weight that a word gives to what it looks at hardest. @param {WordLinks} links @param {HeadAt | null} place @param {number} word */
function strongestWeight(links, place, word) {
  const columns = tellingKeys(links, place, word);
  let highest = 0;
  for (const { layer, head } of place ? [place] : links.heads()) {
    const row = links.row(layer, head, word);
    for (const column of columns) highest = Math.max(highest, row[column]);
  }
  return inFourDigits(highest);
}

// The cell of a head that is looked at until another one is clicked, as attnviz/analysis/head_ranking.py chooses it.

/** The cell to look at first. @param {HeadMatrix} matrix @returns {[query: number, key: number]} */
export function firstCell(matrix) {
  const link = strongestLink(matrix);
  if (link) return [link.query, link.key];
  const row = Math.max(matrix.queries.findIndex(({ special }) => !special), 0);
  return [row, largestOf(matrix, row)];
}
