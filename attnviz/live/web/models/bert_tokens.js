// What an encoder reads: tokens of a text or a pair of texts with [CLS] and [SEP], as attnviz.text.tokens makes them.

import { ModelError } from "./model_files.js";
import { covering, isSpace, piecesOf } from "./piece_offsets.js";

// Words as Unicode cuts them (UAX #29), by the same expression as in attnviz/text/words.py: what browsers cut by themselves differs
// from one to the next. Offsets count code points.

const EXTEND = String.raw`(?:(?![\u0600-\u0605\u06dd\u070f\u0890\u0891\u08e2\u200b])[\p{M}\p{Cf}\p{Emoji_Modifier}\uff9e\uff9f])*`;
const APART = String.raw`[\p{M}\p{Ideographic}\p{sc=Hiragana}\p{sc=Katakana}\p{sc=Thai}\p{sc=Lao}\p{sc=Khmer}\p{sc=Myanmar}\p{sc=Tai_Le}\p{sc=New_Tai_Lue}\p{sc=Tai_Tham}\p{sc=Tai_Viet}\p{sc=Ahom}\u3031-\u3035\u30fc\uff70\uff9e\uff9f]`;
const LETTER = String.raw`(?:(?!${APART})[\p{Alphabetic}\u00b8\u02c2-\u02c5\u02d2-\u02d7\u02de-\u02ff\u055a-\u055c\u055e\u058a\u05f3\u070f\ua708-\ua721\ua789\ua78a\uab5b])${EXTEND}`;
const DIGIT = String.raw`[\p{Nd}\u0600-\u0605\u066b\u06dd\u0890\u0891\u08e2\u19da]${EXTEND}`;
const KANA = String.raw`[\p{sc=Katakana}\u3031-\u3035\u309b\u309c\u30a0\u30fc\uff70]${EXTEND}`;
const JOINER = String.raw`[\p{Pc}\u202f]${EXTEND}`;
const IN_LETTERS = String.raw`[.:'\u00b7\u0387\u055f\u05f4\u2018\u2019\u2024\u2027\ufe13\ufe52\ufe55\uff07\uff0e\uff1a]${EXTEND}`;
const IN_DIGITS = String.raw`[.,;'\u037e\u0589\u060c\u060d\u066c\u07f8\u2018\u2019\u2024\u2044\ufe50\ufe52\ufe54\uff07\uff0c\uff0e\uff1b]${EXTEND}`;
const LETTERS = String.raw`${LETTER}(?:(?:${IN_LETTERS})?${LETTER}|(?<=\p{sc=Hebrew}\p{M}*)"${EXTEND}(?=\p{sc=Hebrew}))*`;
const DIGITS = `${DIGIT}(?:(?:${IN_DIGITS})?${DIGIT})*`;
const RUN = `(?:(?:${LETTERS}|${DIGITS})+|(?:${KANA})+)`;
const WORD = `(?:(?:${JOINER})+(?:${RUN}(?:${JOINER})*)*|${RUN}(?:(?:${JOINER})+${RUN})*(?:${JOINER})*)`;
const REST = String.raw`\p{Regional_Indicator}${EXTEND}\p{Regional_Indicator}${EXTEND}|\r\n|[\n\r\u000b\u000c\u0085\u2028\u2029]|`
  + String.raw`[ \u1680\u2000-\u2006\u2008-\u200a\u205f\u3000]+${EXTEND}|[\s\S]${EXTEND}`;
const VOWEL = "[aàáâeèéêiìíîoòóôuùúûAÀÁÂEÈÉÊIÌÍÎOÒÓÔUÙÚÛ]";
/** What stands between two boundaries: a word, a run of space, or a mark. */
export const PIECE = new RegExp(String.raw`(?:['\u2019](?=${VOWEL})${WORD}|${WORD}|${REST})(?:(?<=\u200d)\p{Extended_Pictographic}${EXTEND})*`, "gu");

// Python counts them as space, too.
const SEPARATORS = new Set(["\x1c", "\x1d", "\x1e", "\x1f"]);

/**
 * Find where the words of a text start and end; spaces between them belong to none.
 * @param {string} text
 * @returns {[number, number][]}
 */
export function wordSpans(text) {
  /** @type {[number, number][]} */
  const spans = [];
  let at = 0;
  for (const [piece] of text.matchAll(PIECE)) {
    const length = [...piece].length;
    if (/\P{White_Space}/u.test(piece) && !SEPARATORS.has(piece)) spans.push([at, at + length]);
    at += length;
  }
  return spans;
}

/**
 * Number the word that holds the character at a position; null between two words.
 * @param {[number, number][]} spans
 * @param {number} position
 */
export function wordAt(spans, position) {
  let low = 0;
  let high = spans.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (spans[middle][1] <= position) low = middle + 1;
    else high = middle;
  }
  return low < spans.length && spans[low][0] <= position ? low : null;
}

/**
 * @import { Token } from "./types.d.ts"
 * @import { Piece } from "./piece_offsets.js"
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
  // A mark that was typed beside the same mark of the tokenizer's own is read once; one alone is a text, too.
  if (tokens.filter((token) => !token.special).length > 1) {
    for (const [place, own] of [[tokens.length - 2, tokens.length - 1], [1, 0]]) {
      if (tokens[place].special || ids[place] !== ids[own]) continue;
      tokens.splice(place, 1);
      ids.splice(place, 1);
    }
  }
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
export function special(text, segment) {
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
export function placed(pieces, text, segment, isWhole) {
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
export function cutOf(tokens, segment, text) {
  const end = Math.max(0, ...tokens.filter((token) => token.segment === segment && !token.special).map((token) => token.end));
  return [...text].slice(end).join("").trim() ? end : null;
}
