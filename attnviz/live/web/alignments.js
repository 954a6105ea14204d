// What is drawn of translations that were made here: of each model the head that is chosen, or that follows what is asked; and each
// translation with its alignment, described as attnviz/figures/translate/alignments.py describes it.

import { cutText, isolated, nameOfHead, visibleText } from "../../figures/drawing/elements.js";
import { counted } from "../../figures/drawing/numbers.js";
import { isWord } from "../../figures/explorer/word_weights.js";
import { largestOf } from "./head_metrics.js";
import { Lens, wordGroups } from "./head_view.js";
import { axisDirection } from "./map_package.js";

/**
 * @import { Values } from "./address.js"
 * @import { ModelPicture } from "./run_model.js"
 * @import { AttentionMap, HeadMatrix, Token, View } from "./head_view.js"
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

// All heads of a translation: how the rows of each are read, what they give to a word, and which of them give most, as
// attnviz/ui/translate.py has it.

/**
 * @typedef {{ layer: number, head: number, weight: number }} RankedHead
 */

const MOST_RANKED = 5;

export class AlignmentHeads {
  /** @type {Map<boolean, Lens>} By whether a row is named after the token that is written there. */
  #lenses = new Map();

  /** @param {AttentionMap} cross @param {Draft} draft @param {Card} card @param {View} view */
  constructor(cross, draft, card, view) {
    this.cross = cross;
    this.view = view;
    this.written = draft.steps.map(({ token }) => token);
    this.metrics = card.metrics;
    // A Transformer's row is named after the token that its step reads, and writes another.
    this.readsItsRows = cross.queries.some(({ text, start, end }, row) => {
      const other = this.written[row];
      return other?.text !== text || other.start !== start || other.end !== end;
    });
  }

  /** Whether a row is named after the token that is written there, or read: read where that was measured to be truer.
   * @param {number} layer @param {number | null} head */
  isNaive(layer, head) {
    if (!this.readsItsRows) return false;
    const name = `${nameOfHead(layer, head)}${head === null ? " mean" : ""}`;
    const [naive, shifted] = ["naive", "shifted"].map((reading) => this.metrics[`AER in domain ${name} ${reading}`]);
    return !(shifted <= naive);
  }

  /** @param {boolean} isNaive */
  lens(isNaive) {
    const lens = this.#lenses.get(isNaive) ?? new Lens(isNaive ? { ...this.cross, queries: this.written } : this.cross, this.view);
    this.#lenses.set(isNaive, lens);
    return lens;
  }

  /** What the word at a position of the address gives to some columns, in every head: of two rows the one that writes it.
   * @param {number} position @param {number[]} columns @returns {Float32Array[]} a head each */
  given(position, columns) {
    const { layers, heads, keys, queries } = this.cross;
    const tokens = this.readsItsRows ? [...queries, ...this.written.slice(-1)] : queries;
    const groups = this.view.words ? wordGroups(tokens) : tokens.map((_, place) => [place]);
    const part = groups.find((group) => group.includes(position)) ?? [];
    const rows = this.readsItsRows ? part.map((place) => Math.max(place - 1, 0)) : part;
    const { parts } = this.lens(false).columns;
    return Array.from({ length: layers * heads }, (_, place) => {
      const weights = this.cross.weights(Math.floor(place / heads), place % heads);
      const sum = (/** @type {number} */ column) => rows.reduce((all, row) => all + parts[column].reduce((some, key) => some + weights[row * keys.length + key], 0), 0);
      return Float32Array.from(columns, (column) => sum(column) / rows.length);
    });
  }

  /** The head that gives most to the link that was asked, or of a word to another; null where there is nothing to follow. Only heads
   * whose picture has the row that counts are followed.
   * @param {AskedCell} asked @returns {[layer: number, head: number] | null} */
  followed({ query, key }) {
    const { layers, heads, queries } = this.cross;
    const { columns, isEmpty } = this.lens(false);
    const token = query === null ? null : [...queries, ...this.written.slice(-1)][query];
    if (query === null || !token || isEmpty || layers * heads === 1) return null;
    const column = key === null ? -1 : columns.parts.findIndex((part) => part.includes(key));
    const given = this.given(query, column < 0 ? tellingColumns(token, columns.tokens) : [column]).map((weights, place) => {
      const isNaive = this.isNaive(Math.floor(place / heads), place % heads);
      return !this.readsItsRows || !rankedStep(query, queries.length, isNaive).includes("not") ? Math.max(...weights) : -1;
    });
    const best = given.reduce((most, weight, place) => (weight > given[most] ? place : most), 0);
    return given[best] < 0 ? null : [Math.floor(best / heads), best % heads];
  }

  /** The heads that give most to a cell of the picture, and the mean over all; null where there is but one.
   * @param {number} position of its row in the address @param {[query: number, key: number]} cell @param {boolean} isNaive as it is drawn
   * @returns {{ cell: [number, number], mean: number, first: RankedHead[], step: string } | null} */
  ranked(position, cell, isNaive) {
    const { layers, heads, queries } = this.cross;
    if (layers * heads === 1) return null;
    const all = this.given(position, [cell[1]]).map(([weight], place) => ({ layer: Math.floor(place / heads), head: place % heads, weight }));
    const mean = all.reduce((sum, { weight }) => sum + weight, 0) / all.length;
    const first = all.toSorted((one, other) => other.weight - one.weight).slice(0, MOST_RANKED);
    return { cell, mean, first, step: this.readsItsRows ? rankedStep(position, queries.length, isNaive) : "" };
  }
}

/** Which row of a word is ranked, and whether it is the drawn one, as attnviz/analysis/translation_alignment.py says it.
 * @param {number} position @param {number} count of steps @param {boolean} isNaive */
function rankedStep(position, count, isNaive) {
  const step = position === 0 ? "reads" : "writes";
  return step === (isNaive ? "writes" : "reads") ? step : `${step}, not drawn`;
}

/**
 * @typedef {{ name: string, n_layers: number, n_heads: number, supervised_head: [number, number] | null, metrics: Record<string, number> }} Card
 * @typedef {{ steps: { token: Token }[] }} Draft
 * @typedef {{ layer?: number | null, head?: number | null, isMean?: boolean | null, followed?: [layer: number, head: number] | null, words?: boolean,
 *   hideSpecial?: boolean, query?: number | null, key?: number | null, word?: string, isGiven?: boolean }} TranslationQuestion  what was chosen; null: nothing;
 *   query and key: the cell, by the numbers of the address; word: the first one to look at
 *   where none was asked; isGiven: whether the target was typed
 */

// Letters from which on a word is more likely a noun, a verb or an adjective than a small word.
const LONGER = 4;

/** @param {string} output @param {Draft} draft @param {AttentionMap} cross @param {Card} card @param {TranslationQuestion} asked */
export function describeTranslation(output, draft, cross, card, asked) {
  const { isGiven = false, words = true, hideSpecial = false, query = null, word = "" } = asked;
  // Beyond the source there is no word: the one that was asked looks where it looks most.
  const key = (asked.key ?? Infinity) < cross.keys.length ? /** @type {number} */ (asked.key) : null;
  const [layer, head] = drawnHead(cross, card, asked);
  const isTrained = String([layer, head]) === String(card.supervised_head);
  const heads = new AlignmentHeads(cross, draft, card, { words, hideSpecial });
  const firstRow = Number(heads.isNaive(layer, head));
  const matrix = heads.lens(Boolean(firstRow)).matrix(layer, head);
  const described = {
    name: card.name,
    isTrained,
    isGiven,
    number: "weight",
    off: false,
    edited: [],
    hidden: [],
    place: [layer, head],
    shape: [cross.layers, cross.heads],
    translation: output,
    queries: matrix.queries.map(alignedToken),
    keys: matrix.keys.map(alignedToken),
    directions: [axisDirection(matrix.queries), axisDirection(matrix.keys)],
    rows: matrix.rows,
    columns: matrix.columns,
    links: null,
    choices: matrix.rows.map(() => []),
  };
  const row = matrix.queries.findIndex(({ text }) => text === word);
  const cell = askedCell(matrix, firstRow, { query, key }) ?? (row < 0 ? clearestCell(matrix) : [row, largestOf(matrix, row)]);
  const ranked = heads.ranked(matrix.rows[cell[0]] + firstRow, cell, Boolean(firstRow));
  return { described, weights: new Uint8Array(matrix.weights.slice().buffer), cell, ranked, firstRow };
}

/** The head that was chosen; unasked the one that follows what is asked, else the supervised one, else the mean of the last layer.
 * @param {AttentionMap} cross @param {Card} card @param {TranslationQuestion} asked @returns {[layer: number, head: number | null]} */
function drawnHead({ layers, heads }, { supervised_head: trained }, { layer = null, head = null, isMean = null, followed = null }) {
  const unasked = followed ?? trained;
  const own = Math.min(layer ?? unasked?.[0] ?? layers - 1, layers - 1);
  return heads === 1 || (isMean ?? !unasked) ? [own, null] : [own, Math.min(head ?? unasked?.[1] ?? 0, heads - 1)];
}

/** The link to show first: the strongest between two longer words that are spelt differently; else the strongest.
 * @param {HeadMatrix} matrix @returns {[query: number, key: number]} */
function clearestCell(matrix) {
  const { weights, queries, keys } = matrix;
  const links = queries.flatMap((token, query) => {
    const key = largestOf(matrix, query);
    return isWord(token) ? [{ query, key, weight: weights[query * keys.length + key] }] : [];
  });
  const between = links.filter(({ key }) => isWord(keys[key]));
  const words = between.length ? between : links;
  const longer = words.filter(({ query, key }) => {
    const [target, source] = [queries[query], keys[key]].map(({ text }) => text.toLowerCase());
    return Math.min(Array.from(target).length, Array.from(source).length) >= LONGER && target !== source;
  });
  const candidates = longer.length ? longer : words;
  if (!candidates.length) return [0, largestOf(matrix, 0)];
  const best = candidates.reduce((one, other) => (other.weight > one.weight ? other : one));
  return [best.query, best.key];
}

/** @param {Token} token */
const alignedToken = ({ text, special, start, end }) => [visibleText(text), special ? 1 : 0, start, end];

// Tokens of the longest pairs that translators learned from.
const TRAINED_TOKENS = 40;

/** What speaks against a translation, as `textNotices` of wording.js. @param {Token[]} keys @param {number | null} cut
 * @param {Token[]} written by the model itself @returns {[before: string, one: string, several: string][]} */
export function translationNotices(keys, cut, written) {
  const [learned, after] = [` learned from ${TRAINED_TOKENS} at most: expect its end to suffer.`, `after ${counted(written.length, "token")}`];
  const words = [...new Map(wordGroups(keys).flatMap((group) => spelling(group.map((at) => keys[at]))).map((pieces) => [pieces.join("·"), pieces])).values()];
  const names = [...words.slice(0, 3).map((pieces) => `“${isolated(cutText(pieces.join("")))}” (${isolated(cutText(pieces.join("·")))})`), ...(words.length > 3 ? ["others"] : [])];
  const [its, their] = ["its", "their"].map((whose) => ` spelled out ${new Intl.ListFormat("en-GB").format(names)}, which ${whose} vocabulary does not have: expect guesses there.`);
  return [
    ...(keys.length > TRAINED_TOKENS ? [/** @type {[string, string, string]} */ ([`This text has ${cut === null ? "" : "more than "}${keys.length} tokens, and `, learned, learned])] : []),
    ...(written.length && !written[written.length - 1].special ? [/** @type {[string, string, string]} */ (["", ` had not ended its translation ${after}: it was stopped there.`, ` had not ended their translations ${after}: they were stopped there.`])] : []),
    ...(words.length ? [/** @type {[string, string, string]} */ (["", its, their])] : []),
  ];
}

/** The pieces of a word that is spelled: three or more, with fewer than three letters each. @param {Token[]} group @returns {string[][]} */
function spelling(group) {
  const pieces = group.flatMap(({ text, start = 0, end = 0 }) => (end > start ? [text] : []));
  const letters = [...pieces.join("")].length;
  return pieces.length >= 3 && letters < 3 * pieces.length && group.some(isWord) ? [pieces] : [];
}
