// What is asked of a map: one word or several, and where they look. A person clicks words; what was not clicked follows from the numbers.

/**
 * @import { Overview } from "./head_store.js"
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

/** @param {{ text: string, special?: boolean }} word */
export const isWord = ({ text, special }) => !special && LETTERS.test(text);

/** A word's name: of one that stands there several times with its number, "the(2)", as word_names.py has it.
 * @param {{ text: string }[]} words @param {number} index */
export function numberedName(words, index) {
  const form = (/** @type {{ text: string }} */ { text }) => text.trim().toLowerCase();
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
