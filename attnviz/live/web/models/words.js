// Words as Unicode cuts them (UAX #29), as in attnviz.text.words; offsets count code points.

// Browsers look words of these scripts up in a dictionary, where the standard has a boundary at every letter.
const APART = /[\p{sc=Han}\p{sc=Hiragana}\p{sc=Thai}\p{sc=Lao}\p{sc=Khmer}\p{sc=Myanmar}]/u;

// Python's expressions set no boundary between an apostrophe and a vowel.
const VOWEL = /^[aeiouàáâèéêìíîòóôùúû]/iu;

/**
 * Find where the words of a text start and end; spaces between them belong to none.
 * @param {string} text
 * @returns {[number, number][]}
 */
export function wordSpans(text) {
  const segmenter = new Intl.Segmenter("en", { granularity: "word" });
  /** @type {[number, number][]} */
  const spans = [];
  let at = 0;
  let before = "";
  for (const { segment } of segmenter.segment(text)) {
    for (const word of APART.test(segment) ? lettersOf(segment) : [segment]) {
      const length = [...word].length;
      if (/^['’]$/u.test(before) && VOWEL.test(word)) spans[spans.length - 1][1] += length;
      else if (word.trim()) spans.push([at, at + length]);
      before = word;
      at += length;
    }
  }
  return spans;
}

/** @param {string} text */
function lettersOf(text) {
  return text.match(/\P{M}[\p{M}\u200d]*|\p{M}+/gu) ?? [text];
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
