// What some words give to every word in every head: what heads are ranked by. Of several tokens of a word, and of several words
// that look, the mean counts; of what is looked at, the sum.

/**
 * @import { Head, HeadStore, Overview } from "./head_store.js"
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
    return all.sort((one, other) => other.weight - one.weight);
  }

  /** The head that looks hardest at one of some words. @param {number[]} keys */
  hardest(keys) {
    let best = { ...this.#ranked(0, -1), key: -1 };
    for (let place = 0; place < this.count; place++) {
      for (const key of keys) {
        const weight = this.weights[place * this.size + key];
        if (weight > best.weight) best = { ...this.#ranked(place, weight), key };
      }
    }
    return best;
  }

  /** @param {number} place @param {number} weight @returns {Ranked} */
  #ranked(place, weight) {
    return { layer: Math.floor(place / this.heads), head: place % this.heads, weight };
  }
}

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
