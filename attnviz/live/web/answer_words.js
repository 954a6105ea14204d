// What an answer says, and the head that says most about it, as attnviz/analysis/answer/question_attention.py finds and says it.

import { isWord } from "../../figures/explorer/question.js";
import { Lens } from "./head_view.js";
import { MOSTLY, percent } from "./wording.js";
import { decimals } from "./written.js";

/**
 * @import { AttentionMap, Token } from "./head_view.js"
 * @import { Part, Sentence } from "./wording.js"
 * @typedef {{ start: number, end: number, probability: number, text: string }} Span
 * @typedef {{ spans: Span[], tokens: Token[], start: ArrayLike<number>, end: ArrayLike<number>, nothing: number, declined: boolean,
 *   limit: number | null, confidence: number | null }} Found  limit: above which p(no answer) declines; null: where it exceeds
 *   the best answer's; confidence: how many answers this sure are right; null: it declines
 * @typedef {{ side: "cross" | "passage", share: number, layer: number, head: number }} StrongestHead
 */

// Of an answer in a sentence.
const MOST_CHARACTERS = 60;
// As in the explorer's headline (wording.js).
const [LEAST_SAID, SECOND] = [0.1, 0.05];
const DECLINES = "The passage does not say.";

/** @param {string} text @returns {Part} */
const nameOf = (text) => [text, 2];
/** @param {string} text @returns {Part} */
const word = (text) => [text, 0];

/** All that the page Answer draws besides heads. @param {Found} found @param {AttentionMap[]} maps @param {string} model */
export function describeFound(found, maps, model) {
  const { spans, tokens, declined, nothing, confidence } = found;
  const place = /** @type {[number, number]} */ ([tokens[spans[0].start].start, tokens[spans[0].end].end]);
  const strongest = strongestHead(maps, place);
  const kind = strongest.side === "cross" ? "cross" : "encoder";
  const map = /** @type {AttentionMap} */ (maps.find((each) => each.kind === kind));
  const facts = [model, declined ? `${percent(nothing)} for no answer` : `${percent(spans[0].probability)} sure`];
  if (confidence !== null) facts.push(`answers this sure are right ${decimals(100 * confidence, 0)} times in 100`);
  return {
    shown: kind,
    first: { [kind]: [strongest.layer, strongest.head] },
    story: [describeQuestionWords(map, strongest, spans[0].text, place), describeAnswer(found)],
    answer: { text: spans[0].text, declined: declined ? DECLINES : "", facts },
    passage: {
      units: tokens.map(({ start, end }) => [start, end]),
      bars: [
        { name: "the answer starts here", values: Array.from(found.start) },
        { name: "the answer ends here", values: Array.from(found.end) },
      ],
      spans: spans.map(({ start, end, probability }) => [start, end, probability]),
      declined,
    },
  };
}

/** The head in which the answer looks most firmly at one word of the question.
 * @param {AttentionMap[]} maps @param {[start: number, end: number]} place @returns {StrongestHead} */
export function strongestHead(maps, [start, end]) {
  /** @type {StrongestHead[]} */
  const best = [];
  for (const map of maps) {
    const answer = map.queries.flatMap((token, index) => (isInside(token, start, end) ? [index] : []));
    const words = map.keys.flatMap((token, index) => ((token.segment ?? 0) === 0 && isWord(token) ? [index] : []));
    const side = map.kind === "cross" ? "cross" : "passage";
    let firmest = { side: /** @type {"cross" | "passage"} */ (side), share: -1, layer: 0, head: 0 };
    for (let layer = 0; layer < map.layers; layer++) {
      for (let head = 0; head < map.heads; head++) {
        const weights = map.weights(layer, head);
        const shares = words.map((key) => answer.reduce((sum, query) => sum + weights[query * map.keys.length + key], 0) / answer.length);
        const share = Math.max(0, ...shares);
        if (share > firmest.share) firmest = { ...firmest, share, layer, head };
      }
    }
    best.push(firmest);
  }
  // Where both are as firm, the cross-attention stands first.
  return best.sort((one, other) => other.share - one.share || (one.side === "cross" ? -1 : 1))[0];
}

/** @param {Token} token @param {number} start @param {number} end */
const isInside = (token, start, end) => token.segment === 1 && !token.special && token.start < end && start < token.end;

/** The best answer and the next; or, where the model declines, how likely no answer is.
 * @param {Found} found @returns {Sentence} */
export function describeAnswer({ spans, declined, nothing, limit }) {
  const [best, next] = spans;
  /** @type {Sentence} */
  const named = [nameOf(cutTo(best.text)), word(` (${percent(best.probability)})`)];
  if (declined) {
    const why = limit === null ? "more than any answer" : `it declines above ${percent(limit)}`;
    return [word(`No answer has ${percent(nothing)}: ${why}. The likeliest answer would be `), ...named, word(".")];
  }
  if (!next) return [word("Best answer "), ...named, word("; there is no other.")];
  return [word("Best answer "), ...named, word("; next best "), nameOf(cutTo(next.text)), word(` (${percent(next.probability)}).`)];
}

/** Which words of the question the answer looks at. @param {AttentionMap} map @param {StrongestHead} strongest
 * @param {string} text the answer @param {[start: number, end: number]} place @returns {Sentence} */
export function describeQuestionWords(map, { side, layer, head }, text, [start, end]) {
  const { weights, queries, keys } = new Lens(map, { words: true, between: side === "cross" ? "all" : "second-first" }).matrix(layer, head);
  const rows = queries.flatMap((token, row) => (!token.special && token.start < end && start < token.end ? [row] : []));
  const shares = keys.map((_, key) => (rows.length ? rows.reduce((sum, row) => sum + weights[row * keys.length + key], 0) / rows.length : 0));
  const places = shares.map((_, key) => key).filter((key) => isWord(keys[key]) && shares[key] > 0);
  places.sort((one, other) => shares[other] - shares[one] || one - other);
  const subject = nameOf(cutTo(text));
  if (!places.length) return [word("In this head nothing passes between "), subject, word(" and the words of the question.")];
  const named = places.slice(0, 2).map((key) => [nameOf(keys[key].text), word(` (${percent(shares[key])})`)]);
  const most = shares[places[0]];
  const rest = keys.reduce((sum, token, key) => sum + (token.special ? shares[key] : 0), 0);
  if (rest >= MOSTLY && rest > most) return [subject, word(` looks at no word of the question: ${percent(rest)} goes to its special tokens.`)];
  if (most < LEAST_SAID) return [subject, word(" looks at no word of the question in particular: at most "), ...named[0], word(".")];
  const then = shares[places[1]] >= SECOND ? [word(", then at "), ...named[1]] : [];
  return [subject, word(` looks ${most >= MOSTLY ? "mostly" : "most"} at `), ...named[0], ...then, word(".")];
}

/** @param {string} text */
function cutTo(text) {
  const letters = Array.from(text);
  return letters.length <= MOST_CHARACTERS ? text : `${letters.slice(0, MOST_CHARACTERS - 1).join("")}…`;
}
