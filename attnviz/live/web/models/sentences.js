// Where the sentences of a text stand, as in attnviz.text.sentences; offsets count code points.

import { isSpace } from "./piece_offsets.js";

/**
 * @typedef {(language: string, text: string) => { text: string }[]} Segmenter cuts a text; what it returns is all of the text
 * @typedef {[number, number][]} Spans
 */

// English words that the segmenter takes for the end of a sentence, and those that it takes for an abbreviation.
const ABBREVIATED = /(?<![\p{Alphabetic}\p{M}\p{N}_])(?:Dr|Mrs?|Ms|Mx|Prof|approx|est|vol)\.\s*$/u;
// What ends a line: \r\n is one end, and no blank line.
const BREAK = String.raw`(?:\r\n|(?!\r\n)[\n-\r\u0085\u2028\u2029])`;
const PARAGRAPH = new RegExp(String.raw`.+?(?:${BREAK}[^\S\r\n]*${BREAK}\s*|$)`, "gsu");
const WHOLE_WORD = /(?<![\p{Alphabetic}\p{M}\p{N}_])(?:May|me|no|ok|OK|art|ill|miss|ore|min|sec)\.\s+(?=\p{Lu})/gu;

/**
 * Cut a text; a line ends no sentence, a blank line does.
 * @param {Segmenter} segmenter
 * @param {string} text
 * @returns {Spans}
 */
export function sentencesOf(segmenter, text) {
  /** @type {Spans} */
  const spans = [];
  let at = 0;
  // A paragraph with the blank lines after it: together they are the whole text.
  for (const paragraph of text.match(PARAGRAPH) ?? []) {
    const flat = paragraph.replace(/[\r\n]/g, " ");
    const ends = new Set([flat.length, ...[...flat.matchAll(WHOLE_WORD)].map((match) => match.index + match[0].length)]);
    let end = 0;
    // The segmenter ends a sentence with every line, but a text that was pasted has its lines broken anywhere.
    for (const row of segmenter("en", flat)) {
      end += row.text.length;
      if (!ABBREVIATED.test(row.text)) ends.add(end);
    }
    let start = 0;
    for (const stop of [...ends].sort((one, other) => one - other)) {
      const part = Array.from(flat.slice(start, stop));
      const first = part.findIndex((letter) => !isSpace(letter));
      if (first >= 0) spans.push([at + first, at + part.findLastIndex((letter) => !isSpace(letter)) + 1]);
      at += part.length;
      start = stop;
    }
  }
  return spans;
}

/**
 * Number the sentence that holds the character at a position, or the one before it; 0 where there is none.
 * @param {Spans} spans
 * @param {number} position
 */
export function sentenceAt(spans, position) {
  return Math.max(spans.findLastIndex(([start]) => start <= position), 0);
}
