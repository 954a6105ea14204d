// A picture's numbers in words, as attnviz/analysis/wording.py says them: a test compares both.

import { percent } from "../../figures/drawing/percent.js";
import { strongestLink, summarize } from "./head_metrics.js";
import { decimals } from "./number_text.js";

/**
 * @import { HeadMatrix } from "./head_view.js"
 * @typedef {[text: string, strength: 0 | 1 | 2]} Part  1 is strong, 2 a token, which is quoted, too
 * @typedef {Part[]} Sentence
 */

// A share of the attention from which on a head is called by it.
export const MOSTLY = 0.5;
/** @type {Record<"previous" | "following" | "itself" | "special" | "first", [tokens: string, remark: string]>} */
const PATTERNS = {
  previous: ["the token before", ", wherever it stands: a previous-token head"],
  following: ["the token after", ", wherever it stands: a next-token head"],
  itself: ["the token itself", ""],
  special: ["special tokens", ", usually a sign that it finds nothing to do here (Clark et al. 2019)"],
  first: ["the very first token", ", where a decoder parks attention that it has no other use for (Xiao et al. 2023)"],
};

/** @param {string} text @returns {Part} */
const quoted = (text) => [text, 2];
/** @param {string} text @returns {Part} */
const said = (text) => [text, 0];

/** How large one weight is, and which link between words is the head's strongest.
 * @param {HeadMatrix} matrix @param {string} name @param {[query: number, key: number]} cell @returns {Sentence} */
export function describeLink(matrix, name, [query, key]) {
  const { weights, queries, keys } = matrix;
  const [subject, object] = [quoted(queries[query].text), quoted(keys[key].text)];
  if (!matrix.visible(query, key)) return [subject, said(" cannot look at "), object, said(": this cell is masked.")];
  /** @type {Sentence} */
  const lead = [[name, 1], said(" sends "), subject, said(" to "), object, said(` with weight ${percent(weights[query * keys.length + key])}`)];
  const link = strongestLink(matrix);
  if (!link) return [...lead, said(".")];
  if (link.query === query && link.key === key) return [...lead, said(": its strongest link between different words.")];
  const best = [quoted(queries[link.query].text), said(" to "), quoted(keys[link.key].text)];
  return [...lead, said("; its strongest link between different words is "), ...best, said(` (${percent(link.weight)}).`)];
}

/** Where most of a head's attention goes, or how far it is spread. @param {HeadMatrix} matrix @returns {Sentence} */
export function describeHead(matrix) {
  const shares = summarize(matrix);
  const names = /** @type {(keyof typeof PATTERNS)[]} */ (Object.keys(PATTERNS));
  const name = names.reduce((best, other) => (shares[other] > shares[best] ? other : best));
  const [tokens, remark] = PATTERNS[name];
  if (shares[name] >= MOSTLY) {
    const share = percent(shares[name]);
    return [said(`${share[0].toUpperCase()}${share.slice(1)} of its attention goes to ${tokens}${remark}.`)];
  }
  const width = decimals(2 ** shares.entropy, 1);
  return [said(`Its attention has the entropy of an even spread over ${width} tokens (${decimals(shares.entropy, 1)} bits).`)];
}

/** How much attention goes to hidden tokens; empty where it is nothing. @param {HeadMatrix} matrix */
export function describeHidden({ hidden }) {
  return hidden < 0.0005 ? "" : `Hidden tokens hold ${percent(hidden)} of the attention; rows sum to the rest.`;
}
