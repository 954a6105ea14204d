// What the page Answer draws and says of an answer, in the head that says most about it or in another one: what
// attnviz/live/pictures.py writes for the pictures that come with the site.

import { cutText, visibleText } from "../../figures/drawing/elements.js";
import { grouped, percent, percentVisible, wholePercent } from "../../figures/drawing/numbers.js";
import { inFourDigits, isWord, numberedName } from "../../figures/explorer/word_weights.js";
import { Lens } from "./head_view.js";
import { MOSTLY, quoted, textPart } from "./wording.js";

/**
 * @import { NamedWeights } from "../../figures/matrix.js"
 * @import { AttentionMap, Token, View } from "./head_view.js"
 * @import { Part, Sentence } from "./wording.js"
 */

// Question and passage in one head, and what is said of them, as attnviz/analysis/answer_attention.py has it.

/**
 * @typedef {"cross" | "passage" | "question"} Side  cross-attention, or a block of the encoder's, by the text whose tokens look
 * @typedef {[start: number, end: number]} TextPlace  characters of the passage
 */

/** @type {Record<Side, string>} */
const BLOCKS = { cross: "all", passage: "second-first", question: "first-second" };
// Characters of a label.
const MOST_LABEL = 14;
// As in the explorer's headline (wording.js).
const [LEAST_SAID, SECOND] = [0.1, 0.05];
const MOST_LOOKERS = 3;

/** @param {Token} token @param {TextPlace} place */
const isWithin = (token, [start, end]) => !token.special && token.start < end && start < token.end;
/** The lens of a side. @param {AttentionMap} map @param {Side} side @param {View} view */
const lensOf = (map, side, view) => new Lens(map, { ...view, between: BLOCKS[side] });

/** Which part of a passage of so many tokens the attention is of. @param {{ start: number, stop: number }[]} windows @param {number} best
 * @param {number} tokens @returns {[before: string, one: string, several: string][]} */
export function windowNotices(windows, best, tokens) {
  if (windows.length < 2) return [];
  const { start, stop } = windows[best];
  const one = `The attention is that of the one with the likeliest answer, tokens ${grouped(start + 1)} to ${grouped(stop)} of ${grouped(tokens)}.`;
  const said = ` read this passage in ${windows.length} overlapping windows. ${one}`;
  return [["", said, said]];
}

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
   * @param {TextPlace} place @returns {NamedWeights & { at: [number[], number[]], first: number }} first: the first row of the answer */
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
    const words = this.#units(column).filter(({ token }) => isWord(token));
    return words.sort((one, other) => inFourDigits(other.weight) - inFourDigits(one.weight)).slice(0, MOST_LOOKERS);
  }

  /** @param {number} column */
  #units(column) {
    return this.passage.flatMap((token, row) => (token.special ? [] : [{ token, weight: this.weight(row, column) }]));
  }
}

/** What the answer's words give to a word of the question, on average, in every head; from the question's side, get.
 * @param {AttentionMap} map @param {Side} side @param {View} view @param {TextPlace} place @param {number} column */
function headShares(map, side, view, place, column) {
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
function describeQuestionWords(shown, text, place, asked = null) {
  const { question } = shown;
  const [shares, subject] = [shown.ofText(place), quoted(text)];
  const places = [...shares.keys()].filter((at) => isWord(question[at]));
  places.sort((one, other) => inFourDigits(shares[other]) - inFourDigits(shares[one]) || one - other);
  if (!places.length) return [textPart("In this head nothing passes between "), subject, textPart(" and the words of the question.")];
  const named = places.slice(0, 2).map((at) => [quoted(numberedName(question, at)), textPart(` (${percentVisible(shares[at])})`)]);
  if (asked !== null) return describeAsked(shown, shares, subject, asked, places[0] === asked ? [] : named[0]);
  const hasSecond = shares[places[1]] >= SECOND;
  if (shown.isFromQuestion) {
    const then = hasSecond ? [textPart(", then "), ...named[1]] : [];
    return [textPart("Of the question, "), ...named[0], ...then, textPart(` look${hasSecond ? "" : "s"} most at `), subject, textPart(".")];
  }
  const most = shares[places[0]];
  const rest = question.reduce((sum, token, at) => sum + (token.special ? shares[at] : 0), 0);
  if (rest >= MOSTLY && rest > most) return [subject, textPart(` looks at no word of the question: ${percent(rest)} goes to its special tokens.`)];
  if (most < LEAST_SAID) return [subject, textPart(" looks at no word of the question in particular: at most "), ...named[0], textPart(".")];
  const then = hasSecond ? [textPart(", then at "), ...named[1]] : [];
  const goes = textPart(rest >= SECOND ? `; ${percent(rest)} goes to its special tokens.` : ".");
  if (most >= MOSTLY) return [subject, textPart(" looks mostly at "), ...named[0], ...then, goes];
  return [textPart("Of the question's words, "), subject, textPart(" looks most at "), ...named[0], ...then, goes];
}

/** @param {QuestionAttention} shown @param {number[]} shares @param {Part} subject @param {number} asked @param {Part[]} best @returns {Sentence} */
function describeAsked(shown, shares, subject, asked, best) {
  const name = quoted(numberedName(shown.question, asked));
  const [who, whom] = shown.isFromQuestion ? [name, subject] : [subject, name];
  const then = best.length && !shown.isFromQuestion ? [textPart(", and of the question's words most at "), ...best] : [];
  return [who, textPart(" looks at "), whom, textPart(` with ${percentVisible(shares[asked])} of its attention`), ...then, textPart(".")];
}

/** The words of the passage that look at a word of the question, or that it looks at. @param {QuestionAttention} shown
 * @param {number} asked @returns {Sentence} */
function describeWord(shown, asked) {
  const name = quoted(shown.question[asked].text);
  const lookers = shown.lookers(asked);
  if (!lookers.length) return [textPart("In this head nothing passes between the passage and "), name, textPart(".")];
  const parts = lookers.flatMap(({ token, weight }, at) => {
    const joint = at === 0 ? "" : at === lookers.length - 1 ? " and " : ", ";
    return [textPart(joint), quoted(token.text), textPart(` (${percentVisible(weight)})`)];
  });
  if (shown.isFromQuestion) return [textPart("In the passage, "), name, textPart(" looks most at "), ...parts, textPart(".")];
  return [textPart("In the passage, "), ...parts, textPart(` look${lookers.length > 1 ? "" : "s"} most at `), name, textPart(".")];
}

/** @param {Token} token */
const labelOf = ({ text }) => cutText(visibleText(text), MOST_LABEL);

/**
 * @typedef {{ start: number, end: number, probability: number, text: string }} Span
 * @typedef {{ spans: Span[], tokens: Token[], start: ArrayLike<number>, end: ArrayLike<number>, nothing: number, declined: boolean,
 *   limit: number | null, confidence: number | null, joint: Joint }} Found  limit: above which p(no answer) declines; null: where it exceeds
 *   the best answer's; confidence: how many answers this sure are right; null: it declines
 * @typedef {{ starts: number[], ends: number[], weights: number[], masked: boolean[], ranks: [number, number][] }} Joint  tokens of the passage
 * @typedef {{ share: number, layer: number, head: number }} StrongestHead
 * @typedef {{ text: string, place: TextPlace, units: TextPlace[] }} FoundAnswer  units: the tokens of the passage
 * @typedef {{ side: Side | null, layer: number | null, head: number | null, isMean: boolean | null, word: number | null, view: View }} AnswerQuestion
 *   what a person chose; null: nothing; word: of the question
 * @typedef {{ side: Side, kind: string, layer: number, head: number | null, count: number, question: [text: string, special: number][], shares: number[],
 *   word: number | null, bars: number[] | null, name: string, heads: [layer: number, head: number, weight: number][], story: Sentence[] }} AnswerHead
 *   count: of the map's heads; bars: the chosen word's with each token of the passage; name: of the word by which heads are ranked
 */

const DECLINES = "The passage does not say.";
const MOST_HEADS = 5;

/** All that the page Answer draws besides the explorer. @param {Found} found @param {AttentionMap[]} maps @param {string} model */
export function describeFound(found, maps, model) {
  const { spans, tokens, declined, nothing, confidence, joint } = found;
  const facts = [model, declined ? `${percent(nothing)} for no answer` : `${percent(spans[0].probability)} sure`];
  if (confidence !== null) facts.push(`about ${wholePercent(confidence)} of such answers are correct`);
  const units = tokens.map(({ start, end }) => /** @type {TextPlace} */ ([start, end]));
  const answer = { text: spans[0].text, place: /** @type {TextPlace} */ ([tokens[spans[0].start].start, tokens[spans[0].end].end]), units };
  const seen = describeHeadOf(maps, answer, { side: null, layer: null, head: null, isMean: null, word: null, view: { words: true } });
  return {
    shown: seen.kind,
    first: { [seen.kind]: [seen.layer, seen.head] },
    story: [...seen.story, describeAnswer(found)],
    seen,
    answer: { text: spans[0].text, declined: declined ? DECLINES : "", facts },
    passage: {
      units,
      bars: [
        { name: "how likely the answer starts here", values: Array.from(found.start) },
        { name: "how likely it ends here", values: Array.from(found.end) },
      ],
      spans: spans.map(({ start, end, probability }) => [start, end, probability]),
      declined,
    },
    joint: { ...joint, rows: joint.starts.map((at) => labelOf(tokens[at])), columns: joint.ends.map((at) => labelOf(tokens[at])) },
  };
}

/** What is drawn and said of one head. Unasked it is the head that gives most to the chosen word; without one, the firmest of the side.
 * @param {AttentionMap[]} maps @param {FoundAnswer} answer @param {AnswerQuestion} asked @returns {AnswerHead} */
export function describeHeadOf(maps, { text, place, units }, { side, layer, head, isMean, word: chosen, view }) {
  const strongest = strongestHeads(maps, place);
  const there = /** @type {Side[]} */ (["cross", "passage", "question"].slice(maps.some(({ kind }) => kind === "cross") ? 0 : 1));
  const own = side && there.includes(side) ? side : firmestSide(strongest, there);
  const kind = own === "cross" ? "cross" : "encoder";
  const map = /** @type {AttentionMap} */ (maps.find((each) => each.kind === kind));
  const { question } = new QuestionAttention(map, own, 0, 0, view);
  const asked = chosen !== null && chosen < question.length ? chosen : null;
  const sharesOf = (/** @type {number} */ column) => headShares(map, own, view, place, column);
  const at = (/** @type {number} */ index) => ({ layer: Math.floor(index / map.heads), head: index % map.heads });
  const unasked = asked !== null ? at(ranked(sharesOf(asked))[0]) : (strongest[own] ?? { layer: map.layers - 1, head: null });
  const [shownLayer, shownHead] = [Math.min(layer ?? unasked.layer, map.layers - 1), Math.min(head ?? unasked.head ?? 0, map.heads - 1)];
  const isMeanShown = map.heads === 1 || (isMean ?? unasked.head === null);
  const shown = new QuestionAttention(map, own, shownLayer, isMeanShown ? null : shownHead, view);
  const shares = shown.ofText(place);
  const words = [...question.keys()].filter((column) => isWord(question[column]));
  const most = asked ?? words.reduce((best, column) => (inFourDigits(shares[column]) > inFourDigits(shares[best]) ? column : best), words[0]);
  const weights = map.layers * map.heads > 1 && most !== undefined ? sharesOf(most) : [];
  const heads = ranked(weights).slice(0, MOST_HEADS).map((index) => /** @type {[number, number, number]} */ ([at(index).layer, at(index).head, weights[index]]));
  const looks = describeQuestionWords(shown, text, place, asked);
  return {
    side: own, kind, layer: shownLayer, head: isMeanShown ? null : shownHead, count: map.layers * map.heads,
    question: question.map((token) => [visibleText(token.text), token.special ? 1 : 0]), shares, word: asked,
    bars: asked === null ? null : shown.ofWord(asked, units), name: most === undefined ? "" : question[most].text, heads,
    story: asked === null ? [looks] : [looks, describeWord(shown, asked)],
  };
}

/** One head as a matrix, around the answer. @param {AttentionMap[]} maps @param {TextPlace} place @param {Pick<AnswerHead, "side" | "kind" | "layer" | "head">} seen @param {View} view */
export function matrixOf(maps, place, { side, kind, layer, head }, view) {
  const map = /** @type {AttentionMap} */ (maps.find((each) => each.kind === kind));
  return new QuestionAttention(map, side, layer, head, view).around(place);
}

/** The places of weights, the largest first; of those that are alike in four digits the first. @param {ArrayLike<number>} weights */
const ranked = (weights) => [...Array(weights.length).keys()].sort((one, other) => inFourDigits(weights[other]) - inFourDigits(weights[one]) || one - other);

/** The side from which the answer looks most firmly; where both are as firm, the cross-attention.
 * @param {Partial<Record<Side, StrongestHead>>} strongest @param {Side[]} sides */
function firmestSide(strongest, sides) {
  const share = (/** @type {Side} */ side) => strongest[side]?.share ?? 0;
  return sides.filter((side) => side !== "question").reduce((best, side) => (share(side) > share(best) ? side : best));
}

/** For each side the head in which the answer and one word of the question look most firmly at each other.
 * @param {AttentionMap[]} maps @param {TextPlace} place @returns {Partial<Record<Side, StrongestHead>>} */
function strongestHeads(maps, place) {
  /** @type {Partial<Record<Side, StrongestHead>>} */
  const best = {};
  for (const map of maps) {
    const answer = map.queries.flatMap((token, index) => (isInside(token, place) ? [index] : []));
    const words = wordsOfQuestion(map.keys);
    if (!answer.length || !words.length) continue;
    const size = map.keys.length;
    best[map.kind === "cross" ? "cross" : "passage"] = firmest(map, (weights) => words.map((key) => answer.reduce((sum, query) => sum + weights[query * size + key], 0) / answer.length));
    if (map.kind === "cross") continue;
    best.question = firmest(map, (weights) => wordsOfQuestion(map.queries).map((query) => answer.reduce((sum, key) => sum + weights[query * size + key], 0)));
  }
  return best;
}

/** @param {AttentionMap} map @param {(weights: Float32Array) => number[]} sharesOf @returns {StrongestHead} */
function firmest(map, sharesOf) {
  let best = { share: -1, layer: 0, head: 0 };
  for (let layer = 0; layer < map.layers; layer++) {
    for (let head = 0; head < map.heads; head++) {
      const share = Math.max(...sharesOf(map.weights(layer, head)));
      if (inFourDigits(share) > inFourDigits(best.share)) best = { share, layer, head };
    }
  }
  return best;
}

/** @param {Token[]} tokens */
const wordsOfQuestion = (tokens) => tokens.flatMap((token, index) => ((token.segment ?? 0) === 0 && isWord(token) ? [index] : []));

/** @param {Token} token @param {TextPlace} place */
const isInside = (token, [start, end]) => token.segment === 1 && !token.special && token.start < end && start < token.end;

/** The next best answer; or, where the model declines, how likely no answer is, and the best one.
 * @param {Found} found @returns {Sentence} */
function describeAnswer({ spans, declined, nothing, limit }) {
  const [best, next] = spans;
  /** @type {Sentence} */
  const named = [quoted(best.text), textPart(` (${percent(best.probability)})`)];
  if (declined) {
    const why = limit === null ? "more than any answer" : `the model declines above ${percent(limit)}`;
    return [textPart(`“No answer” has ${percent(nothing)}: ${why}. The likeliest answer would be `), ...named, textPart(".")];
  }
  if (!next) return [textPart("There is no other answer.")];
  return [textPart("The next best answer is "), quoted(next.text), textPart(` (${percent(next.probability)}).`)];
}
