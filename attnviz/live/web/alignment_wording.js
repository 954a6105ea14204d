// What an alignment says, as attnviz/analysis/translation_alignment.py says it; a test compares both.

import { MOSTLY } from "./wording.js";

/**
 * @import { Part, Sentence } from "./wording.js"
 * @typedef {[text: string, special: number, ...rest: any[]]} AlignedWord
 * @typedef {{ queries: AlignedWord[], keys: AlignedWord[], weight(query: number, key: number): number }} Alignment
 * @typedef {{ query: number, key: number, weight: number }} WordLink
 */

// From this weight on a link counts as the source of a word; small words are often off by one, and need a firmer one.
const [SURE, FIRM] = [0.4, 0.5];

/** @param {string} text @returns {Part} */
const namePart = (text) => [text, 2];
/** @param {string} text @returns {Part} */
export const textPart = (text) => [text, 0];
/** @param {AlignedWord} word */
const isWordToken = ([text, special]) => !special && /[\p{L}\p{N}]/u.test(text);

/** Words that changed their order, one word that became several, or that order was kept. @param {Alignment} alignment @returns {Sentence} */
export function describeAlignment(alignment) {
  const { queries, keys } = alignment;
  const links = queries
    .map((_, query) => ({ query, key: strongestKey(alignment, query), weight: alignment.weight(query, strongestKey(alignment, query)) }))
    .filter(({ query, key, weight }) => weight >= SURE && isWordToken(queries[query]) && isWordToken(keys[key]));
  if (!links.length) return [textPart("No word of the translation looks mainly at one word of the source.")];
  const sentence = [...describeOrder(alignment, links), ...describeSplit(alignment, links)];
  if (sentence.length) return sentence;
  if (links.filter(({ weight }) => weight >= FIRM).length > 1) return [textPart("The clearly linked words stand in the same order in both languages.")];
  // One word has no order.
  const { query, key } = links.reduce((best, each) => (each.weight > best.weight ? each : best));
  return [textPart("The clearest link is from "), namePart(queries[query][0]), textPart(" to "), namePart(keys[key][0]), textPart(".")];
}

/** @param {Alignment} alignment @param {number} query */
function strongestKey(alignment, query) {
  let best = 0;
  for (let key = 1; key < alignment.keys.length; key++) if (alignment.weight(query, key) > alignment.weight(query, best)) best = key;
  return best;
}

/** The two neighbours, in the translation, that most surely stand in the other order in the source.
 * @param {Alignment} alignment @param {WordLink[]} links @returns {Sentence} */
function describeOrder({ queries, keys }, links) {
  const firm = links.filter(({ weight }) => weight >= FIRM);
  /** @type {[WordLink, WordLink][]} */
  const crossing = firm.slice(1).flatMap((two, index) => (two.key < firm[index].key ? [[firm[index], two]] : []));
  if (!crossing.length) return [];
  const least = (/** @type {[WordLink, WordLink]} */ [one, two]) => Math.min(one.weight, two.weight);
  const [one, two] = crossing.reduce((best, pair) => (least(pair) > least(best) ? pair : best));
  return [
    namePart(queries[one.query][0]), textPart(" stands before "), namePart(queries[two.query][0]), textPart(", but "),
    namePart(keys[one.key][0]), textPart(" after "), namePart(keys[two.key][0]), textPart(": the order changed. "),
  ];
}

/** The source word that most words of the translation look at, if they are several.
 * @param {Alignment} alignment @param {WordLink[]} links @returns {Sentence} */
function describeSplit({ queries, keys }, links) {
  const becomes = new Map();
  for (const link of links) becomes.set(link.key, [...(becomes.get(link.key) ?? []), link]);
  const [key, several] = [...becomes].reduce((best, each) => (each[1].length > best[1].length ? each : best));
  if (several.length < 2) return [];
  const last = several.length - 1;
  const names = several.flatMap((/** @type {WordLink} */ { query }, /** @type {number} */ index) => {
    return [textPart(index === 0 ? "" : index === last ? " and " : ", "), namePart(queries[query][0])];
  });
  return [...names.slice(1), textPart(last === 1 ? " both" : " all"), textPart(` look ${several.every((/** @type {WordLink} */ { weight }) => weight >= MOSTLY) ? "mostly" : "most"} at `), namePart(keys[key][0]), textPart(".")];
}
