// What a picture says: the headline, where some words look, in a sentence about words; and a cell, for a screen reader.

import { cutText, make, word } from "../drawing/elements.js";
import { percent, percentVisible } from "../drawing/numbers.js";
import { isWord, numberedName } from "./word_weights.js";

/**
 * @import { ExplorerState } from "./explorer_state.js"
 * @import { Head, Overview } from "./head_store.js"
 * @import { Question } from "./word_weights.js"
 * @typedef {(Node | string)[]} Sentence
 */

// From this share on a word is looked at mostly; below the second one it is not worth a headline, below the third not a mention. What
// is nearer than the last cannot be told apart in whole percent.
const MOSTLY = 0.5;
const LEAST_SAID = 0.1;
const SECOND = 0.05;
const SAME = 0.005;
// How a number of each quantity is spoken of.
const VERBS = { weight: ["looks", "look", "at"], "norm share": ["takes", "take", "from"], "mixing share": ["takes", "take", "from"] };

/** What a row of the matrix is: a token, of which a word that the vocabulary does not have whole has several.
 * @param {Overview} overview */
export function rowMeaning({ words, signed }) {
  const split = words.queries.find(({ parts }) => parts.length > 1);
  const row = split ? `token (“${cutText(split.text)}” has ${split.parts.length})` : "word";
  return signed ? `after less before, where each row's ${row} looks` : `each row is one ${row}, and where it looks`;
}

/** Words a cell for a screen reader. @param {ExplorerState} state @param {Head} head @param {number} query @param {number} key */
export const cellSentence = ({ hiddenRows, overview: { queries, keys } }, head, query, key) =>
  `“${queries[query][0]}” to “${keys[key][0]}”, ${hiddenRows.includes(query) ? "hidden" : head.tell(query, key)}`;

/** @param {string} text */
const strong = (text) => make("strong", {}, word(cutText(text)));

/** @param {Overview["words"]} words @param {"queries" | "keys"} axis @param {number[]} indices @returns {Sentence} */
export function names(words, axis, indices) {
  return indices.flatMap((index, place) => [place ? (place === indices.length - 1 ? " and " : ", ") : "", strong(numberedName(words[axis], index))]);
}

/** Where some words look in one head. @param {Overview} overview @param {Question} question @param {Float32Array} shares
 * @param {(query: number, key: number) => boolean} masked @param {keyof typeof VERBS} number @returns {Sentence} */
export function headline({ words }, { queries, keys, isLink }, shares, masked, number) {
  const [one, several, at] = VERBS[number];
  const [who, looks] = [names(words, "queries", queries), queries.length > 1 ? several : one];
  if (isLink) return linkSentence(words, { who, looks, at }, keys, shares, keys.every((key) => queries.every((query) => masked(query, key))));
  const total = shares.reduce((sum, share) => sum + share, 0);
  if (!total) return [...who, ` ${looks} ${at} nothing here`];
  const own = queries.length === 1 ? words.own[queries[0]] : null;
  const order = [...shares.keys()].sort((first, second) => shares[second] - shares[first]);
  const special = order.filter((key) => words.keys[key].special);
  const specialShare = special.reduce((sum, key) => sum + shares[key], 0);
  const [best, ...others] = order.filter((key) => key !== own && isWord(words.keys[key]));
  const most = shares[best] ?? 0;
  if (own !== null && shares[own] >= MOSTLY) return [...who, ` ${looks} mostly ${at} itself (${percent(shares[own])})`];
  if (specialShare >= MOSTLY && specialShare > most) {
    return [...who, ` ${looks} ${at} no word: ${percent(specialShare)} goes to `, ...names(words, "keys", special.slice(0, 2).sort((a, b) => a - b))];
  }
  /** @param {number} key @returns {Sentence} */
  const named = (key) => [key === own ? "itself" : strong(numberedName(words.keys, key)), ` (${percent(shares[key])})`];
  // What gets more than the word that is named: a special token, punctuation, the word itself; and special tokens that get much.
  const skipped = order.filter((key) => key !== best && !others.includes(key) && shares[key] >= SECOND);
  const beside = skipped.filter((key) => shares[key] > most || words.keys[key].special).slice(0, 2);
  const isOfWords = beside.some((key) => shares[key] > most);
  const goes = beside.flatMap((key, place) => [place ? " and " : "; ", percent(shares[key]), place ? " to " : " goes to ", key === own ? "itself" : strong(numberedName(words.keys, key))]);
  if (most < LEAST_SAID) {
    // A text of nothing but punctuation has no word.
    return [...who, ` ${looks} ${at} no word in particular: at most `, ...(best === undefined ? named(order[0]) : [...named(best), ...goes])];
  }
  const same = [best, ...others.filter((key) => most - shares[key] < SAME)].slice(0, 3).sort((one, other) => one - other);
  const lead = isOfWords ? ", of the other words," : "";
  if (same.length > 1) {
    const alike = same.flatMap((key, place) => [place ? (place === same.length - 1 ? " and " : ", ") : "", ...named(key)]);
    return [...who, lead, ` ${looks} ${at} `, ...alike, " alike", ...goes];
  }
  /** @type {Sentence} */
  const sentence = [...who, lead, ` ${looks} ${most >= MOSTLY ? "mostly" : "most"} ${at} `, ...named(best)];
  if (shares[others[0]] >= SECOND) sentence.push(`, then ${at} `, ...named(others[0]));
  return [...sentence, ...goes];
}

/** @param {Overview["words"]} words @param {{ who: Sentence, looks: string, at: string }} subject @param {number[]} keys
 * @param {Float32Array} shares @param {boolean} isMasked @returns {Sentence} */
function linkSentence(words, { who, looks, at }, keys, shares, isMasked) {
  const whom = names(words, "keys", keys);
  if (isMasked) return [...who, " cannot look at ", ...whom, ": the link is masked"];
  const share = keys.reduce((sum, key) => sum + shares[key], 0);
  const best = [...shares.keys()].sort((first, second) => shares[second] - shares[first])[0];
  /** @type {Sentence} */
  const sentence = [...who, ` ${looks} ${at} `, ...whom, ` with ${percentVisible(share)} of its attention`];
  if (keys.length > 1 || keys[0] === best || !(shares[best] > share)) return sentence;
  return [...sentence, `, and most ${at} `, strong(numberedName(words.keys, best)), ` (${percent(shares[best])})`];
}
