// What an answer says, and the head that says most about it, as attnviz/analysis/answer/question_attention.py finds and says it.

import { isWord } from "../../figures/explorer/question.js";
import { Lens } from "./head_view.js";
import { percent } from "./wording.js";
import { decimals, nameOfHead } from "./written.js";

/**
 * @import { AttentionMap, Token } from "./head_view.js"
 * @import { Part, Sentence } from "./wording.js"
 * @typedef {{ start: number, end: number, probability: number, text: string }} Span
 * @typedef {{ spans: Span[], tokens: Token[], start: ArrayLike<number>, end: ArrayLike<number>, nothing: number, declined: boolean }} Found
 * @typedef {{ side: "cross" | "passage", share: number, layer: number, head: number }} StrongestHead
 */

// Of an answer in a sentence.
const MOST_CHARACTERS = 60;
const DECLINES = "The passage does not say.";

/** @param {string} text @returns {Part} */
const nameOf = (text) => [text, 2];
/** @param {string} text @returns {Part} */
const word = (text) => [text, 0];

/** All that the page Answer draws besides heads. @param {Found} found @param {AttentionMap[]} maps @param {string} model
 * @param {number | null} limit above which p(no answer) declines */
export function describeFound(found, maps, model, limit) {
  const { spans, tokens, declined, nothing } = found;
  const place = /** @type {[number, number]} */ ([tokens[spans[0].start].start, tokens[spans[0].end].end]);
  const strongest = strongestHead(maps, place);
  const kind = strongest.side === "cross" ? "cross" : "encoder";
  const map = /** @type {AttentionMap} */ (maps.find((each) => each.kind === kind));
  const facts = [model, ...(declined ? [`p(no answer) = ${decimals(nothing, 2)}`] : []), `p = ${decimals(spans[0].probability, 2)}`];
  return {
    shown: kind,
    first: { [kind]: [strongest.layer, strongest.head] },
    story: [describeAnswer(found, limit), describeQuestionWords(map, strongest, place)],
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

/** How likely the best span is beside the next; or, where the model declines, beside no answer.
 * @param {Found} found @param {number | null} limit @returns {Sentence} */
export function describeAnswer({ spans, declined, nothing }, limit) {
  const [best, next] = spans;
  /** @type {Sentence} */
  const named = [nameOf(cutTo(best.text)), word(` (${percent(best.probability)})`)];
  if (declined) {
    const why = limit === null ? "more than that of any span" : `it declines above ${percent(limit)}`;
    return [word("The likeliest span is "), ...named, word(`, but p(no answer) is ${percent(nothing)}: ${why}.`)];
  }
  if (!next) return [word("Of all spans "), ...named, word(" is the likeliest; no other that does not overlap is left.")];
  const rest = [nameOf(cutTo(next.text)), word(` (${percent(next.probability)}).`)];
  return [word("Of all spans "), ...named, word(" is the likeliest; the next that does not overlap is "), ...rest];
}

/** Which words of the question the answer's words look at. @param {AttentionMap} map @param {StrongestHead} strongest
 * @param {[start: number, end: number]} place @returns {Sentence} */
export function describeQuestionWords(map, { side, layer, head }, [start, end]) {
  const name = nameOfHead(layer, head);
  const { weights, queries, keys } = new Lens(map, { words: true, between: side === "cross" ? "all" : "second-first" }).matrix(layer, head);
  const rows = queries.flatMap((token, row) => (!token.special && token.start < end && start < token.end ? [row] : []));
  const shares = keys.map((_, key) => (rows.length ? rows.reduce((sum, row) => sum + weights[row * keys.length + key], 0) / rows.length : 0));
  const places = shares.map((_, key) => key).filter((key) => isWord(keys[key]) && shares[key] > 0);
  places.sort((one, other) => shares[other] - shares[one] || one - other);
  if (!places.length) return [word(`In ${name} there is no attention between the answer and the words of the question.`)];
  /** @type {Sentence} */
  const parts = [word(`${name}: the answer's words look most at `)];
  for (const [index, key] of places.slice(0, 2).entries()) {
    parts.push(word(index ? " and " : ""), nameOf(keys[key].text), word(` (${decimals(shares[key], 2)})`));
  }
  const rest = keys.reduce((sum, token, key) => sum + (token.special ? shares[key] : 0), 0);
  return [...parts, word(` of the question${rest >= 0.005 ? `; ${percent(rest)} goes to its special tokens.` : "."}`)];
}

/** @param {string} text */
function cutTo(text) {
  const letters = Array.from(text);
  return letters.length <= MOST_CHARACTERS ? text : `${letters.slice(0, MOST_CHARACTERS - 1).join("")}…`;
}
