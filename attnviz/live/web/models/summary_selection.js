// What to keep of a text by attention received, as in attnviz.analysis.summary_selection.

import { sentenceAt } from "./sentences.js";

/**
 * @import { Spans } from "./sentences.js"
 * @import { Token, AttentionMap } from "./types.d.ts"
 * @typedef {{ start: number, end: number, places: number[], sentence: number, candidate: boolean }} Unit a word, and its tokens
 * @typedef {{ words: number, wanted: number, share: boolean }} Amount with `share` so many percent of the words; and wanted sentences
 */

/**
 * Split a text that a model reads as tokens into words; those that hold a letter or a digit may be kept.
 * @param {string} text
 * @param {Token[]} tokens
 * @param {Spans} sentences
 * @returns {Unit[]}
 */
export function unitsOf(text, tokens, sentences, isMerged = true) {
  const letters = [...text];
  /** @type {Unit[]} */
  const units = [];
  /** @type {number | null} */
  let last = null;
  tokens.forEach(({ start, end, special, word }, place) => {
    const unit = units[units.length - 1];
    if (isMerged && word !== null && word === last && unit) {
      unit.end = Math.max(unit.end, end);
      unit.places.push(place);
    } else if (!special && end > start) {
      units.push({ start, end, places: [place], sentence: sentenceAt(sentences, start), candidate: false });
    }
    last = special ? null : word;
  });
  for (const unit of units) unit.candidate = /[\p{L}\p{N}]/u.test(letters.slice(unit.start, unit.end).join(""));
  return units;
}

/**
 * List the queries that were typed; all of them where there is none.
 * @param {Token[]} queries
 */
function typedQueries(queries) {
  const typed = queries.flatMap(({ special }, place) => (special ? [] : [place]));
  return typed.length ? typed : queries.map((_, place) => place);
}

/**
 * Compute the attention that each key receives in a layer: the mean over its heads, or of one, and over the queries that were typed.
 * @param {Pick<AttentionMap, "queries" | "keys" | "heads" | "weights">} map
 * @param {number} layer
 * @param {number | null} [only] head
 */
export function received({ queries, keys, heads, weights }, layer, only = null) {
  const asked = typedQueries(queries);
  const total = new Float64Array(keys.length);
  const own = only === null ? [...Array(heads).keys()] : [only];
  for (const head of own) {
    const given = weights(layer, head);
    for (const query of asked) {
      for (let key = 0; key < keys.length; key += 1) total[key] += given[query * keys.length + key];
    }
  }
  return total.map((sum) => sum / own.length / asked.length);
}

/**
 * Follow what the typed queries look at down through layers, residuals counted as half: Abnar & Zuidema 2020, section 3.
 * @param {AttentionMap} map
 * @param {number[]} layers
 */
export function rollout({ queries, heads, weights }, layers) {
  const asked = typedQueries(queries);
  let flow = new Float64Array(queries.length);
  for (const query of asked) flow[query] = 1 / asked.length;
  for (const layer of [...layers].reverse()) {
    const below = flow.map((share) => share / 2);
    for (let head = 0; head < heads; head += 1) {
      const given = weights(layer, head);
      flow.forEach((share, query) => {
        for (let key = 0; key < below.length; key += 1) below[key] += (share / 2 / heads) * given[query * below.length + key];
      });
    }
    flow = below;
  }
  return flow;
}

/**
 * Sum over the tokens of each word what they receive.
 * @param {Unit[]} units
 * @param {ArrayLike<number>} tokens
 */
export function byUnit(units, tokens) {
  return units.map(({ places }) => places.reduce((sum, place) => sum + tokens[place], 0));
}

/**
 * Compute what each head gives to every word, layer by layer.
 * @param {AttentionMap} map
 * @param {Unit[]} units
 */
export function unitsByHead(map, units) {
  return Array.from({ length: map.layers * map.heads }, (_, at) => byUnit(units, received(map, Math.floor(at / map.heads), at % map.heads)));
}

/**
 * Compute the share of each head's attention to words that lands on kept words, 0 to 1.
 * @param {number[][]} byHead  what each head gives to every word
 * @param {Unit[]} units
 * @param {boolean[]} kept
 */
export function sharesOfHeads(byHead, units, kept) {
  const sum = (/** @type {number[]} */ given, /** @type {boolean[]} */ marks) => given.reduce((all, each, at) => all + (marks[at] ? each : 0), 0);
  const candidates = units.map(({ candidate }) => candidate);
  return byHead.map((given) => sum(given, kept) / Math.max(sum(given, candidates), Number.MIN_VALUE));
}

/**
 * Compute each sentence's share of what all of them receive.
 * @param {Unit[]} units
 * @param {ArrayLike<number>} tokens
 * @param {number} n sentences
 */
export function bySentence(units, tokens, n) {
  const total = Array.from({ length: n }, () => 0);
  byUnit(units, tokens).forEach((score, place) => (total[units[place].sentence] += score));
  const all = total.reduce((sum, score) => sum + score, 0);
  return total.map((score) => score / Math.max(all, Number.MIN_VALUE));
}

/**
 * Mark the k candidates of the highest scores, of equal ones the first.
 * @param {number[]} scores
 * @param {number} k
 * @param {boolean[]} candidates
 */
export function top(scores, k, candidates) {
  const ranked = scores.map((_, place) => place).filter((place) => candidates[place]);
  ranked.sort((one, other) => scores[other] - scores[one] || one - other);
  const kept = new Set(ranked.slice(0, Math.max(k, 0)));
  return scores.map((_, place) => kept.has(place));
}

/**
 * Choose what is kept: words by the attention that they receive in the first of two layers, sentences by that in the second.
 * @param {AttentionMap} map
 * @param {Unit[]} units
 * @param {Spans} sentences
 * @param {Amount & { selects: [number, number] }} amount
 */
export function choose(map, units, sentences, { selects: [wordLayer, sentenceLayer], ...amount }) {
  const unitScores = byUnit(units, received(map, wordLayer));
  const sentenceScores = bySentence(units, received(map, sentenceLayer), sentences.length);
  return chooseBy({ unitScores, sentenceScores }, units, sentences, amount);
}

/**
 * Choose what is kept by the scores of words and of sentences.
 * @param {{ unitScores: number[], sentenceScores: number[] }} scores
 * @param {Unit[]} units
 * @param {Spans} sentences
 * @param {Amount} amount
 */
export function chooseBy({ unitScores, sentenceScores }, units, sentences, { words, wanted, share }) {
  const candidates = units.map(({ candidate }) => candidate);
  const n = candidates.filter(Boolean).length;
  const readable = sentences.map((_, number) => units.some((unit) => unit.candidate && unit.sentence === number));
  const count = Math.min(Math.max(share ? evenly((words / 100) * n) : words, 1), n);
  const kept = top(unitScores, count, candidates);
  return { units, sentences, unitScores, sentenceScores, kept, keptSentences: top(sentenceScores, Math.max(wanted, 1), readable) };
}

/** As Python rounds: a half to the even number. @param {number} value */
function evenly(value) {
  const near = Math.round(value);
  return Math.abs(value % 1) === 0.5 && near % 2 ? near - 1 : near;
}

/**
 * Join the kept sentences, as they were typed.
 * @param {string} text
 * @param {Spans} sentences
 * @param {boolean[]} kept
 */
export function extract(text, sentences, kept) {
  const letters = [...text];
  return sentences.filter((_, place) => kept[place]).map(([start, end]) => letters.slice(start, end).join("")).join(" ");
}
