// What some words give to every word in every head: what heads are ranked by. Of several tokens of a word, and of several words
// that look, the mean counts; of what is looked at, the sum.

import { caseFolded } from "../drawing/elements.js";

/** @import { Head, HeadStore, Overview } from "./head_store.js" */

/**
 * @typedef {{ text: string, special: boolean, parts: number[] }} Word  parts: its rows, or its columns
 * @typedef {{ layer: number, head: number, weight: number }} Ranked
 */

export class WordWeights {
  /** @param {Overview} overview @param {Float32Array} weights ordered layer, head, word that is looked at */
  constructor({ layers, heads, words }, weights) {
    this.size = words.keys.length;
    this.count = layers * heads;
    this.heads = heads;
    this.weights = weights;
  }

  /** @param {number} place layer · heads + head @param {number[]} keys */
  weight(place, keys) {
    return keys.reduce((sum, key) => sum + this.weights[place * this.size + key], 0);
  }

  /** The mean over all heads. @param {number[]} keys */
  mean(keys) {
    let sum = 0;
    for (let place = 0; place < this.count; place++) sum += this.weight(place, keys);
    return sum / this.count;
  }

  /** All heads, the largest weight first. @param {number[]} keys @returns {Ranked[]} */
  ranked(keys) {
    const all = Array.from({ length: this.count }, (_, place) => this.#ranked(place, this.weight(place, keys)));
    return all.sort((one, other) => inFourDigits(other.weight) - inFourDigits(one.weight));
  }

  /** The head that looks hardest at one of some words. @param {number[]} keys */
  hardest(keys) {
    let best = { ...this.#ranked(0, -1), key: -1 };
    for (let place = 0; place < this.count; place++) {
      for (const key of keys) {
        const weight = this.weights[place * this.size + key];
        if (inFourDigits(weight) > inFourDigits(best.weight)) best = { ...this.#ranked(place, weight), key };
      }
    }
    return best;
  }

  /** @param {number} place @param {number} weight @returns {Ranked} */
  #ranked(place, weight) {
    return { layer: Math.floor(place / this.heads), head: place % this.heads, weight };
  }
}

/** A weight in whole ten-thousandths: what is alike in them counts as alike (`DIGITS` in head_ranking.py). @param {number} weight */
export const inFourDigits = (weight) => Math.round(weight * 1e4);

/** The table of some words that look: out of the heads, where all of them are here, else as the host sends it.
 * @param {HeadStore} store @param {number[]} queries @returns {Promise<WordWeights>} */
export async function linkTable(store, queries) {
  const { overview } = store;
  const { layers, heads, words } = overview;
  if (!store.isComplete) {
    const bytes = await store.chunk(tableName(queries.map((query) => words.queries[query].parts[0])));
    return new WordWeights(overview, new Float32Array(bytes.slice().buffer));
  }
  const places = Array.from({ length: layers * heads }, (_, place) => store.head(Math.floor(place / heads), place % heads));
  const weights = new Float32Array(places.length * words.keys.length);
  (await Promise.all(places)).forEach((head, place) => weights.set(wordShares(head, words, queries), place * words.keys.length));
  return new WordWeights(overview, weights);
}

/** What the chunk of a table is called, by the first rows of the words that look. @param {number[]} rows */
export const tableName = (rows) => `row:${rows.join("-")}`;

/** What some words give to every word in one head. @param {Head} head @param {Overview["words"]} words @param {number[]} queries */
export function wordShares(head, words, queries) {
  const shares = new Float32Array(words.keys.length);
  for (const query of queries) {
    const { parts } = words.queries[query];
    words.keys.forEach(({ parts: columns }, key) => {
      for (const row of parts) for (const column of columns) shares[key] += head.weight(row, column) / (parts.length * queries.length);
    });
  }
  return shares;
}

// What is asked of a map: one word or several, and where they look. A person clicks words; what was not clicked follows from the numbers.

/**
 * @typedef {"queries" | "keys"} Axis
 * @typedef {{ queries: number[], keys: number[], isLink: boolean, isAsked: boolean }} Question  words, by their indices; isLink: a
 *   person chose what is looked at; isAsked: a person chose who looks
 */

// Words that stand for one before them (head_ranking.py).
export const PRONOUNS = "it its itself he him his himself she her hers herself they them their theirs themselves".split(" ");
const LETTERS = /[\p{L}\p{N}]/u;

/** The words that tell something when a word looks at them (`elsewhere` in head_ranking.py). @param {Overview} overview @param {number} query */
export function elsewhere({ words, causal }, query) {
  const own = words.own[query];
  const isNear = (/** @type {number} */ key) => (own !== null && Math.abs(key - own) < 2) || (causal && key === 0);
  const all = [...words.keys.keys()].filter((key) => !isNear(key) && isWord(words.keys[key]));
  const before = own === null ? [] : all.filter((key) => key < own);
  const isPronoun = PRONOUNS.includes(words.queries[query].text.trim().toLowerCase());
  return isPronoun && before.length ? before : all;
}

// What nobody sees is named by its characters (visibleText).
const UNSEEN = /^U\+[\dA-F]{4,}/;

/** @param {{ text: string, special?: boolean }} word */
export const isWord = ({ text, special }) => !special && LETTERS.test(text) && !UNSEEN.test(text);

/** A word's name: of one that stands there several times with its number, "the(2)", as attnviz/analysis/head_view.py has it.
 * @param {{ text: string }[]} words @param {number} index */
export function numberedName(words, index) {
  const form = (/** @type {{ text: string }} */ { text }) => caseFolded(text.trim());
  const alike = [...words.keys()].filter((other) => form(words[other]) === form(words[index]));
  return alike.length > 1 ? `${words[index].text.trim()}(${alike.indexOf(index) + 1})` : words[index].text;
}

/** The word that a row or a column belongs to. @param {Overview} overview @param {Axis} axis @param {number} index */
export const wordOf = ({ words }, axis, index) => words[axis].findIndex(({ parts }) => parts.includes(index));

/**
 * What is asked after a click on a word. The first asks about it, the next names what it looks at, one more asks anew; the word that
 * looks, clicked again, takes the link back. With `adds` a word joins those of its side, or leaves them.
 * @param {Question} question @param {Overview} overview @param {Axis} axis the line that was clicked @param {number} word
 * @param {boolean} adds @returns {Question}
 */
export function ask(question, { words }, axis, word, adds) {
  const { queries, isLink, isAsked } = question;
  const isOneLine = words.own.every((key, query) => key === query) && words.own.length === words.keys.length;
  const alone = { queries: [word], keys: [], isLink: false, isAsked: true };
  if (adds) {
    const side = isOneLine ? (isLink ? "keys" : "queries") : axis;
    const together = toggled(side === "keys" && !isLink ? [] : question[side], word);
    if (!together.length) return question;
    return { ...question, [side]: together, isAsked: true, isLink: isLink || side === "keys" };
  }
  if (axis === "keys" && !isOneLine) return { ...question, keys: [word], isLink: true, isAsked: true };
  if (queries.includes(word)) return isLink || queries.length > 1 ? alone : { ...question, isAsked: !isAsked };
  return isOneLine && isAsked && !isLink ? { ...question, keys: [word], isLink: true } : alone;
}

/** @param {number[]} words @param {number} word */
const toggled = (words, word) => (words.includes(word) ? words.filter((each) => each !== word) : [...words, word]);
