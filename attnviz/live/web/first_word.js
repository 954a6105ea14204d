// Which word a picture begins with where nobody asked, as attnviz/analysis/word_links.py chooses it.

import { elsewhere, isWord, PRONOUNS } from "../../figures/explorer/chosen_words.js";

/** @import { HeadAt, WordLinks } from "./word_links.js" */

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
  const isTelling = (/** @type {number} */ word) => strongest[word] >= LEAST_TELLING;
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
  return highest;
}
