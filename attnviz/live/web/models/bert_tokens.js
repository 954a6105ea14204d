// What an encoder reads: tokens of a text or a pair of texts with [CLS] and [SEP], as attnviz.text.tokens makes them.

import { ModelError } from "./errors.js";
import { covering, isSpace, piecesOf } from "./piece_offsets.js";
import { wordAt, wordSpans } from "./words.js";

/**
 * @typedef {import("./types.d.ts").Token} Token
 * @typedef {import("./piece_offsets.js").Piece} Piece
 * @typedef {{ ids: number[], segments: number[], tokens: Token[], cuts: (number | null)[] }} Encoded
 */

/**
 * Tokenize one text or a pair of them, cut to `limit` tokens: of a pair, the longer text loses tokens first.
 * @param {import("@huggingface/tokenizers").Tokenizer} tokenizer
 * @param {string[]} texts
 * @param {number} limit
 * @returns {Encoded}
 */
export function encode(tokenizer, texts, limit) {
  const all = texts.map((text) => piecesOf(tokenizer, text));
  const sizes = cutSizes(all.map(({ length }) => length), limit - texts.length - 1);
  const isCut = sizes.some((size, segment) => size < all[segment].length);
  const tokens = [special("[CLS]", 0)];
  const ids = [idOf(tokenizer, "[CLS]")];
  all.forEach((pieces, segment) => {
    const read = pieces.slice(0, sizes[segment]);
    tokens.push(...placed(read, texts[segment], segment, !isCut), special("[SEP]", segment));
    ids.push(...read.map(({ id }) => id), idOf(tokenizer, "[SEP]"));
  });
  const cuts = texts.map((text, segment) => (isCut ? cutOf(tokens, segment, text) : null));
  return { ids, segments: tokens.map(({ segment }) => segment), tokens, cuts };
}

/**
 * Refuse what holds no token.
 * @param {Encoded} encoded
 */
export function checked(encoded) {
  if (encoded.tokens.every((token) => token.special)) {
    throw new ModelError("There is nothing to read in this text: type a word.");
  }
  return encoded;
}

/**
 * @param {import("@huggingface/tokenizers").Tokenizer} tokenizer
 * @param {string} name
 */
function idOf(tokenizer, name) {
  return /** @type {number} */ (tokenizer.token_to_id(name));
}

/**
 * How much of each text fits: the shorter one whole if it can be, else half and half.
 * @param {number[]} sizes
 * @param {number} room
 */
function cutSizes(sizes, room) {
  if (sizes.length < 2) return [Math.min(sizes[0], room)];
  if (sizes[0] + sizes[1] <= room) return sizes;
  let [less, more] = [...sizes].sort((one, other) => one - other);
  more = less > room ? less : Math.max(less, room - less);
  if (less + more > room) [less, more] = [Math.floor(room / 2), Math.floor(room / 2) + (room % 2)];
  return sizes[0] > sizes[1] ? [more, less] : [less, more];
}

/**
 * @param {string} text
 * @param {number} segment
 * @returns {Token}
 */
function special(text, segment) {
  return { text, start: 0, end: 0, special: true, segment, word: null, piece: "" };
}

/**
 * Make tokens of pieces, with the text that they stand for.
 * @param {Piece[]} pieces
 * @param {string} text
 * @param {number} segment
 * @param {boolean} isWhole whether the texts were not cut
 * @returns {Token[]}
 */
function placed(pieces, text, segment, isWhole) {
  const letters = [...text];
  const words = wordSpans(text);
  const wide = covering(pieces.map(({ start, end }) => [start, end]), letters, isWhole);
  return pieces.map((each, place) => {
    let [start, end] = wide[place];
    while (start < end && isSpace(letters[end - 1])) end -= 1;
    while (start < end && isSpace(letters[start])) start += 1;
    if (start === end) [start, end] = wide[place];
    const typed = letters.slice(start, end).join("");
    const name = typed || each.piece;
    const word = wordAt(words, Math.max(each.start, start));
    return { text: name, start, end, special: false, segment, word, piece: each.piece === name ? "" : each.piece };
  });
}

/**
 * @param {Token[]} tokens
 * @param {number} segment
 * @param {string} text
 */
function cutOf(tokens, segment, text) {
  const end = Math.max(0, ...tokens.filter((token) => token.segment === segment && !token.special).map((token) => token.end));
  return [...text].slice(end).join("").trim() ? end : null;
}
