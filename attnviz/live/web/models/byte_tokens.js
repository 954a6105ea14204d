// The pieces of a text by a byte-level tokenizer (Radford et al. 2019) that takes each digit by itself, and the texts of pieces. The
// library's own steps give no places, and none of a letter whose bytes are in several pieces.

import { LETTER_OF_BYTE } from "./letter_of_byte.js";
import { isSpace, sections } from "./piece_offsets.js";

/**
 * @import { Tokenizer } from "@huggingface/tokenizers"
 * @import { Piece } from "./piece_offsets.js"
 */

const WORDS = /'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\p{White_Space}\p{L}\p{N}]+|\p{White_Space}+(?!\P{White_Space})|\p{White_Space}+/gu;

const BYTES = new Map(LETTER_OF_BYTE.map((letter, byte) => [letter, byte]));

/**
 * Cut a text into pieces; offsets count code points, and a piece that has some bytes of a letter has the whole letter.
 * @param {Tokenizer} tokenizer
 * @param {string} text
 * @returns {Piece[]}
 */
export function bytePieces(tokenizer, text) {
  const model = /** @type {any} */ (tokenizer.model);
  /** @type {Piece[]} */
  const pieces = [];
  let word = 0;
  for (const { mark, content, at } of sections(tokenizer, text)) {
    if (mark !== undefined) {
      pieces.push({ id: mark, piece: content, start: at, end: at + [...content].length, word: word++ });
      continue;
    }
    let start = at;
    for (const own of content.match(/\p{N}|\P{N}+/gu) ?? []) {
      for (const cut of own.match(WORDS) ?? []) {
        pieces.push(...piecesOfWord(model, cut, start, word++));
        start += [...cut].length;
      }
    }
  }
  return pieces;
}

/**
 * @param {any} model
 * @param {string} text
 * @param {number} start
 * @param {number} word
 * @returns {Piece[]}
 */
function piecesOfWord(model, text, start, word) {
  const places = [...text].flatMap((letter, place) => [...new TextEncoder().encode(letter)].map((byte) => ({ byte, place: start + place })));
  const names = /** @type {string[]} */ (model([places.map(({ byte }) => LETTER_OF_BYTE[byte]).join("")]));
  let at = 0;
  return names.map((piece) => {
    const first = places[at].place;
    at += [...piece].length;
    return { id: model.tokens_to_ids.get(piece), piece, start: first, end: places[at - 1].place + 1, word };
  });
}

/**
 * Spell pieces; bytes that make no letter become U+FFFD.
 * @param {string[]} names
 */
export const spelled = (names) => decoded(names.flatMap(bytesOf));

/** @param {string} name of a piece */
const bytesOf = (name) => [...name].map((letter) => BYTES.get(letter) ?? 0);

/** @param {number[]} bytes */
const decoded = (bytes) => new TextDecoder("utf-8", { ignoreBOM: true }).decode(Uint8Array.from(bytes));

/**
 * Lay pieces that were written over the text that they spell, as attnviz.text.tokens.align does: a piece has its whole letters, and one that has
 * none what lies between its neighbours'. Spaces and marks count nowhere.
 * @param {{ id: number, piece: string, special: boolean }[]} written
 * @returns {Piece[]} marks, which spell nothing, begin and end at 0
 */
export function placedPieces(written) {
  const bytes = written.flatMap(({ piece, special }) => (special ? [] : bytesOf(piece)));
  const letters = [...decoded(bytes)];
  const counted = letters.flatMap((letter, place) => (isCounted(letter) ? [place] : []));
  // Of each letter that counts the byte at which it begins, and the one behind it.
  const spans = lettersIn(bytes).filter(({ letter }) => isCounted(letter));
  let from = 0;
  const found = written.map(({ piece, special }) => {
    const to = from + (special ? 0 : [...piece].length);
    const own = spans.flatMap(({ start, end }, place) => (start >= from && end <= to ? [place] : []));
    from = to;
    return own.length ? /** @type {[number, number]} */ ([own[0], own[own.length - 1] + 1]) : null;
  });
  return written.map(({ id, piece, special }, word) => {
    if (special) return { id, piece, start: 0, end: 0, word };
    const before = found.slice(0, word).findLast(Boolean)?.[1] ?? 0;
    const [first, last] = found[word] ?? [before, found.slice(word + 1).find(Boolean)?.[0] ?? counted.length];
    const start = counted[first] ?? letters.length;
    if (first >= last) return { id, piece, start, end: start, word };
    let end = counted[last - 1] + 1;
    while (end < (counted[last] ?? letters.length) && /\p{M}/u.test(letters[end])) end += 1;
    return { id, piece, start, end, word };
  });
}

/** @param {string} letter */
const isCounted = (letter) => letter !== "\ufffd" && !isSpace(letter) && !/\p{Mn}/u.test(letter);

/**
 * The letters that bytes make, each with the bytes that it has; bytes that make none are left out.
 * @param {number[]} bytes
 */
function lettersIn(bytes) {
  const all = [];
  for (let start = 0; start < bytes.length; ) {
    const size = [1, 2, 3, 4].find((length) => start + length <= bytes.length && !decoded(bytes.slice(start, start + length)).includes("\ufffd"));
    if (size) all.push({ letter: decoded(bytes.slice(start, start + size)), start, end: start + size });
    start += size ?? 1;
  }
  return all;
}
