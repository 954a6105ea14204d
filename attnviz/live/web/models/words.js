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
