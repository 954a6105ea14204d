// Tokens of what a translator reads and writes, as attnviz.models.translate makes them; offsets count code points.

import { END } from "./decoding.js";
import { piecesOf } from "./piece_offsets.js";

/**
 * @typedef {import("./types.d.ts").Token} Token
 * @typedef {import("./piece_offsets.js").Piece} Piece
 * @typedef {import("@huggingface/tokenizers").Tokenizer} Tokenizer
 */

/**
 * Name a piece: there is always a name.
 * @param {Tokenizer} vocabulary
 * @param {number} piece
 */
function nameOf(vocabulary, piece) {
  return vocabulary.id_to_token(piece) ?? `<${piece}>`;
}

/**
 * @param {string} text
 * @returns {Token}
 */
export function special(text) {
  return { text, start: 0, end: 0, special: true, segment: 0, word: null, piece: "" };
}

export function ended() {
  return special("</s>");
}

/**
 * Make tokens of pieces; a space before a piece is not part of its token.
 * @param {Piece[]} pieces
 * @param {string} text
 * @returns {Token[]}
 */
export function tokensOf(pieces, text) {
  const letters = [...text];
  return pieces.map(({ piece, start, end, word }) => {
    const typed = letters.slice(start, end).join("");
    const first = start + [...typed].length - [...typed.trimStart()].length;
    return token(typed.trim() || piece, first, Math.max(first, end), word, piece);
  });
}

/**
 * Lay pieces that a model wrote over the text that they spell.
 * @param {Tokenizer} vocabulary
 * @param {number[]} pieces
 * @param {string} text
 * @returns {Token[]}
 */
export function writtenTokens(vocabulary, pieces, text) {
  const letters = [...text];
  /** @type {Map<number, number>} */
  const words = new Map();
  for (const { start, end, word } of piecesOf(vocabulary, text)) for (let at = start; at < end; at += 1) words.set(at, word);
  let end = 0;
  return pieces.filter((piece) => piece !== END).map((index) => {
    const piece = nameOf(vocabulary, index);
    const label = piece.replaceAll("▁", " ").trim();
    const start = label ? find(letters, [...label], end) : end;
    end = start + [...label].length;
    return { ...token(label || piece, start, end, words.get(start) ?? null, piece), piece: piece === label ? "" : piece };
  });
}

/**
 * @param {string[]} letters
 * @param {string[]} wanted
 * @param {number} from
 */
function find(letters, wanted, from) {
  for (let at = from; at + wanted.length <= letters.length; at += 1) {
    if (wanted.every((letter, place) => letters[at + place] === letter)) return at;
  }
  return from;
}

/**
 * @param {string} text
 * @param {number} start
 * @param {number} end
 * @param {number | null} word
 * @param {string} piece
 * @returns {Token}
 */
function token(text, start, end, word, piece) {
  return { text, start, end, special: false, segment: 0, word, piece: piece === text ? "" : piece };
}
