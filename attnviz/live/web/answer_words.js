// What the page Answer draws and says of an answer, in the head that says most about it or in another one: what
// attnviz/live/pictures.py writes for the pictures that come with the site.

import { percent, wholePercent } from "../../figures/drawing/percent.js";
import { isWord } from "../../figures/explorer/chosen_words.js";
import { cutTo, describeQuestionWords, describeWord, headShares, labelOf, nameOf, QuestionAttention, word } from "./question_attention.js";
import { visibleText } from "./token_labels.js";

/**
 * @import { AttentionMap, Token, View } from "./head_view.js"
 * @import { Side, TextPlace } from "./question_attention.js"
 * @import { Sentence } from "./wording.js"
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
  const most = asked ?? words.reduce((best, column) => (shares[column] > shares[best] ? column : best), words[0]);
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

/** The places of weights, the largest first. @param {ArrayLike<number>} weights */
const ranked = (weights) => [...Array(weights.length).keys()].sort((one, other) => weights[other] - weights[one] || one - other);

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
      if (share > best.share) best = { share, layer, head };
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
  const named = [nameOf(cutTo(best.text)), word(` (${percent(best.probability)})`)];
  if (declined) {
    const why = limit === null ? "more than any answer" : `it declines above ${percent(limit)}`;
    return [word(`No answer has ${percent(nothing)}: ${why}. The likeliest answer would be `), ...named, word(".")];
  }
  if (!next) return [word("There is no other answer.")];
  return [word("The next best answer is "), nameOf(cutTo(next.text)), word(` (${percent(next.probability)}).`)];
}
