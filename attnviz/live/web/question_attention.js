// Question and passage in one head, and what is said of them, as attnviz/analysis/answer_attention.py has it.

import { percent } from "../../figures/drawing/percent.js";
import { isWord, numberedName } from "../../figures/explorer/chosen_words.js";
import { Lens } from "./head_view.js";
import { MOSTLY } from "./wording.js";
import { visibleText } from "./token_labels.js";

/**
 * @import { AttentionMap, Token, View } from "./head_view.js"
 * @import { SmallMatrix } from "./small_matrix.js"
 * @import { Part, Sentence } from "./wording.js"
 * @typedef {"cross" | "passage" | "question"} Side  cross-attention, or a block of the encoder's, by the text whose tokens look
 * @typedef {[start: number, end: number]} TextPlace  characters of the passage
 */

/** @type {Record<Side, string>} */
const BLOCKS = { cross: "all", passage: "second-first", question: "first-second" };
// Of an answer in a sentence, and of a label.
const [MOST_CHARACTERS, MOST_LABEL] = [60, 14];
// As in the explorer's headline (wording.js).
const [LEAST_SAID, SECOND] = [0.1, 0.05];
const MOST_LOOKERS = 3;

/** @param {string} text @returns {Part} */
export const nameOf = (text) => [text, 2];
/** @param {string} text @returns {Part} */
export const word = (text) => [text, 0];
/** @param {Token} token @param {TextPlace} place */
const isWithin = (token, [start, end]) => !token.special && token.start < end && start < token.end;
/** The lens of a side. @param {AttentionMap} map @param {Side} side @param {View} view */
const lensOf = (map, side, view) => new Lens(map, { ...view, between: BLOCKS[side] });

export class QuestionAttention {
  /** @param {AttentionMap} map @param {Side} side @param {number} layer @param {number | null} head @param {View} view */
  constructor(map, side, layer, head, view) {
    const matrix = lensOf(map, side, view).matrix(layer, head);
    const { weights, queries, keys } = matrix;
    this.matrix = matrix;
    this.isFromQuestion = side === "question";
    this.question = this.isFromQuestion ? queries : keys;
    this.passage = this.isFromQuestion ? keys : queries;
    /** @param {number} row of the passage @param {number} column of the question */
    this.weight = (row, column) => weights[this.isFromQuestion ? column * keys.length + row : row * keys.length + column];
  }

  /** The mean over some words of the passage, for each word of the question. @param {TextPlace} place */
  ofText(place) {
    const rows = this.passage.flatMap((token, row) => (isWithin(token, place) ? [row] : []));
    return this.question.map((_, column) => (rows.length ? rows.reduce((sum, row) => sum + this.weight(row, column), 0) / rows.length : 0));
  }

  /** The weight between a word of the question and each token of the passage, or the word it belongs to.
   * @param {number} column @param {TextPlace[]} units */
  ofWord(column, units) {
    const read = this.#units(column);
    return units.map(([start]) => read.find(({ token }) => token.start <= start && start < token.end)?.weight ?? 0);
  }

  /** The part with so many words of the passage, those of the answer in the middle; at: where its rows and columns stand in the map.
   * @param {TextPlace} place @returns {SmallMatrix & { at: [number[], number[]], first: number }} first: the first row of the answer */
  around([start, end], most = 16) {
    const { matrix: { weights, queries, keys, rows, columns }, passage, isFromQuestion } = this;
    const inside = passage.flatMap((token, at) => (token.start < end && start < token.end ? [at] : []));
    const middle = inside.length ? Math.floor((inside[0] + inside[inside.length - 1]) / 2) : 0;
    const first = Math.max(Math.min(middle - most / 2, passage.length - most), 0);
    const kept = [...passage.keys()].slice(first, first + most);
    const [down, across] = isFromQuestion ? [[...queries.keys()], kept] : [kept, [...keys.keys()]];
    const row = isFromQuestion ? 0 : down.findIndex((at) => queries[at].end > start);
    return {
      rows: down.map((at) => labelOf(queries[at])), columns: across.map((at) => labelOf(keys[at])),
      weights: down.flatMap((query) => across.map((key) => weights[query * keys.length + key])),
      at: [down.map((at) => rows[at]), across.map((at) => columns[at])], first: Math.max(row, 0),
    };
  }

  /** The words of the passage with the largest weights to, or from, a word of the question. @param {number} column */
  lookers(column) {
    const words = this.#units(column).filter(({ token, weight }) => isWord(token) && weight > 0);
    return words.sort((one, other) => other.weight - one.weight).slice(0, MOST_LOOKERS);
  }

  /** @param {number} column */
  #units(column) {
    return this.passage.flatMap((token, row) => (token.special ? [] : [{ token, weight: this.weight(row, column) }]));
  }
}

/** What the answer's words give to a word of the question, on average, in every head; from the question's side, get.
 * @param {AttentionMap} map @param {Side} side @param {View} view @param {TextPlace} place @param {number} column */
export function headShares(map, side, view, place, column) {
  const { rows, columns } = lensOf(map, side, view);
  const axis = side === "question" ? columns : rows;
  const inside = axis.tokens.flatMap((token, at) => (isWithin(token, place) ? [at] : []));
  const own = [axis === rows ? columns.parts[column] : rows.parts[column]];
  const answer = inside.map((at) => axis.parts[at]);
  const [queries, keys] = axis === rows ? [answer, own] : [own, answer];
  const size = map.keys.length;
  return Float64Array.from({ length: map.layers * map.heads }, (_, at) => {
    const weights = map.weights(Math.floor(at / map.heads), at % map.heads);
    const given = (/** @type {number[]} */ parts) => parts.reduce((sum, row) => sum + keys.flat().reduce((all, key) => all + weights[row * size + key], 0), 0) / parts.length;
    return inside.length ? queries.reduce((sum, parts) => sum + given(parts), 0) / inside.length : 0;
  });
}

/** Which words of the question the answer looks at, or which look at it. @param {QuestionAttention} shown
 * @param {string} text of the answer @param {TextPlace} place @param {number | null} asked the word that was chosen @returns {Sentence} */
export function describeQuestionWords(shown, text, place, asked = null) {
  const { question } = shown;
  const [shares, subject] = [shown.ofText(place), nameOf(cutTo(text))];
  const places = [...shares.keys()].filter((at) => isWord(question[at]) && shares[at] > 0);
  places.sort((one, other) => shares[other] - shares[one] || one - other);
  if (!places.length) return [word("In this head nothing passes between "), subject, word(" and the words of the question.")];
  const named = places.slice(0, 2).map((at) => [nameOf(numberedName(question, at)), word(` (${percent(shares[at])})`)]);
  if (asked !== null) return describeAsked(shown, shares, subject, asked, places[0] === asked ? [] : named[0]);
  const hasSecond = shares[places[1]] >= SECOND;
  if (shown.isFromQuestion) {
    const then = hasSecond ? [word(", then "), ...named[1]] : [];
    return [word("Of the question, "), ...named[0], ...then, word(` look${hasSecond ? "" : "s"} most at `), subject, word(".")];
  }
  const most = shares[places[0]];
  const rest = question.reduce((sum, token, at) => sum + (token.special ? shares[at] : 0), 0);
  if (rest >= MOSTLY && rest > most) return [subject, word(` looks at no word of the question: ${percent(rest)} goes to its special tokens.`)];
  if (most < LEAST_SAID) return [subject, word(" looks at no word of the question in particular: at most "), ...named[0], word(".")];
  const then = hasSecond ? [word(", then at "), ...named[1]] : [];
  const goes = word(rest >= SECOND ? `; ${percent(rest)} goes to its special tokens.` : ".");
  if (most >= MOSTLY) return [subject, word(" looks mostly at "), ...named[0], ...then, goes];
  return [word("Of the question's words, "), subject, word(" looks most at "), ...named[0], ...then, goes];
}

/** @param {QuestionAttention} shown @param {number[]} shares @param {Part} subject @param {number} asked @param {Part[]} best @returns {Sentence} */
function describeAsked(shown, shares, subject, asked, best) {
  const name = nameOf(numberedName(shown.question, asked));
  const [who, whom] = shown.isFromQuestion ? [name, subject] : [subject, name];
  const then = best.length && !shown.isFromQuestion ? [word(", and of the question's words most at "), ...best] : [];
  return [who, word(" looks at "), whom, word(` with ${percent(shares[asked])} of its attention`), ...then, word(".")];
}

/** The words of the passage that look at a word of the question, or that it looks at. @param {QuestionAttention} shown
 * @param {number} asked @returns {Sentence} */
export function describeWord(shown, asked) {
  const name = nameOf(shown.question[asked].text);
  const lookers = shown.lookers(asked);
  if (!lookers.length) return [word("In this head nothing passes between the passage and "), name, word(".")];
  const parts = lookers.flatMap(({ token, weight }, at) => {
    const joint = at === 0 ? "" : at === lookers.length - 1 ? " and " : ", ";
    return [word(joint), nameOf(token.text), word(` (${percent(weight)})`)];
  });
  if (shown.isFromQuestion) return [word("In the passage, "), name, word(" looks most at "), ...parts, word(".")];
  return [word("In the passage, "), ...parts, word(` look${lookers.length > 1 ? "" : "s"} most at `), name, word(".")];
}

/** @param {string} text */
export function cutTo(text, most = MOST_CHARACTERS) {
  const letters = Array.from(text);
  return letters.length <= most ? text : `${letters.slice(0, most - 1).join("")}…`;
}

/** @param {Token} token */
export const labelOf = ({ text }) => cutTo(visibleText(text), MOST_LABEL);
