// What is drawn of translations that were made here: of each model the head that is chosen, or that follows what is asked.

import { isWord } from "../../figures/explorer/word_weights.js";

/**
 * @import { Values } from "./address.js"
 * @import { ModelPicture } from "./run_model.js"
 * @import { TranslationQuestion } from "./translation_picture.js"
 * @import { Answer } from "./worker.js"
 */

// Weights below this one are drawn as no link (attnviz/figures/translate/alignments.py).
const LEAST_WEIGHT = 0.03;

/** @param {Values} values */
export const isHeadChosen = ({ layer, head, all_heads: isMean }) => [layer, head, isMean].some((each) => (each ?? null) !== null);

/** The number of the model that is large. @param {Values} values @param {number} count of the models */
export const heroOf = ({ hero }, count) => (hero >= 1 && hero <= count ? hero : 1);

/** @param {ModelPicture} picture @param {Values} values */
export async function alignmentsOf(picture, values) {
  const { models, prompt, word } = picture.said;
  const { layer = null, head = null, all_heads: isMean = null, whole_words: words = true, hide_special: hideSpecial = false } = values;
  const view = { words, hideSpecial };
  const cellAt = (/** @type {number} */ slot) => ({ query: values[`query${slot}`] ?? null, key: values[`key${slot}`] ?? null });
  const hero = heroOf(values, models.length);
  const isPinned = isHeadChosen(values);
  const followed = isPinned ? null : await picture.ask("follow", { name: models[hero - 1], asked: { ...view, ...cellAt(hero) } });
  const asked = { ...view, layer, head, isMean, followed, word, isGiven: Boolean(prompt.target) };
  const made = await Promise.all(models.map((name, index) => picture.ask("translation", { name, asked: { ...asked, ...cellAt(index + 1) } })));
  /** @template Part @param {(each: Answer<"translation">) => Part} part @returns {Record<string, NonNullable<Part>>} */
  const bySlot = (part) => Object.fromEntries(made.flatMap((each, index) => {
    const value = part(each);
    return value === null || value === undefined ? [] : [[String(index + 1), value]];
  }));
  const unlike = differences(made.map(({ described }) => described.translation));
  return {
    name: JSON.stringify([picture.said.prompt, models, made.map(({ described }) => described.place), view, made.map(({ described }) => described.translation)]),
    models: made.map(({ described }, index) => ({ slot: index + 1, ...described, unlike: unlike[index] })),
    chunks: new Map(made.map(({ weights }, index) => [String(index + 1), weights])),
    cells: bySlot(({ cell }) => cell),
    ranked: bySlot(({ ranked }) => ranked),
    firstRows: bySlot(({ firstRow }) => firstRow),
    likely: bySlot(({ likely }) => likely),
    scores: bySlot(({ score }) => score),
    open: false,
    isPinned,
    least: LEAST_WEIGHT,
  };
}

/** What is drawn of a model; a masked weight is no number. @param {any} model @param {Map<string, Uint8Array>} chunks */
export function drawnOf({ slot, queries, keys, rows, columns }, chunks) {
  const words = (/** @type {[text: string, special: number][]} */ tokens) => tokens.map(([text, special]) => ({ text, special: Boolean(special) }));
  const weights = new Float32Array(/** @type {Uint8Array<ArrayBuffer>} */ (chunks.get(String(slot))).slice().buffer);
  return { queries: words(queries), keys: words(keys), rows, columns, weights };
}

const WORD = /[\p{L}\p{N}_]+|[^\p{L}\p{N}_\s]/gu;

/** Finds in each translation the words that most of the others do not have at that place, as attnviz/analysis/translation_alignment.py does.
 * @param {string[]} translations @returns {[start: number, end: number][][]} */
export function differences(translations) {
  const matches = translations.map((text) => [...text.matchAll(WORD)]);
  const words = matches.map((each) => each.map(([word]) => word));
  return matches.map((each, one) => {
    const others = words.toSpliced(one, 1).map((theirs) => new Set(sharedPlaces(words[one], theirs)));
    const unlike = each.filter((_, place) => 2 * others.filter((shared) => !shared.has(place)).length > others.length);
    return unlike.map(({ 0: word, index }) => {
      const start = Array.from(translations[one].slice(0, index)).length;
      return [start, start + Array.from(word).length];
    });
  });
}

/** The places of words that another text has there, too, along the longest runs that both share. @param {string[]} mine @param {string[]} theirs
 * @param {number} [first] the number of the first word @returns {number[]} */
function sharedPlaces(mine, theirs, first = 0) {
  let [size, at, there] = [0, 0, 0];
  /** @type {number[]} Of each of their words how long the run is that ends there. */
  let runs = [];
  for (const [place, word] of mine.entries()) {
    runs = theirs.map((other, column) => (other === word ? (runs[column - 1] ?? 0) + 1 : 0));
    const longest = Math.max(...runs);
    if (longest > size) [size, at, there] = [longest, place + 1 - longest, runs.indexOf(longest) + 1 - longest];
  }
  if (!size) return [];
  const [run, end] = [Array.from({ length: size }, (_, step) => first + at + step), at + size];
  return [...sharedPlaces(mine.slice(0, at), theirs.slice(0, there), first), ...run, ...sharedPlaces(mine.slice(end), theirs.slice(there + size), first + end)];
}

// Which cell of an alignment is looked at, as attnviz/ui/translate.py chooses it.

/**
 * @typedef {{ query: number | null, key: number | null }} AskedCell  query: the number that the address has for a row; null: nobody chose
 * @typedef {{ text: string, special?: boolean }} ShownWord
 * @typedef {{ queries: ShownWord[], keys: ShownWord[], rows: number[], columns: number[], weights: ArrayLike<number> }} DrawnAlignment
 */

/** The columns that tell something when a word looks at them. @param {ShownWord} query @param {ShownWord[]} keys */
export function tellingColumns(query, keys) {
  const words = isWord(query) ? [...keys.keys()].filter((column) => isWord(keys[column])) : [];
  return words.length ? words : [...keys.keys()];
}

/** The cell that was asked; of a word alone the one that it looks at most; null where nothing was asked.
 * @param {DrawnAlignment} alignment @param {number} firstRow @param {AskedCell} asked @returns {[query: number, key: number] | null} */
export function askedCell({ queries, keys, rows, columns, weights }, firstRow, { query, key }) {
  const row = query === null ? -1 : rows.indexOf(query - firstRow);
  if (row < 0) return null;
  const column = key === null ? -1 : columns.indexOf(key);
  if (column >= 0) return [row, column];
  if (key !== null) return null;
  return [row, tellingColumns(queries[row], keys).reduce((best, other) => (weights[row * keys.length + other] > weights[row * keys.length + best] ? other : best))];
}
