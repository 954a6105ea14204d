// Where the sentences of a text stand, as in attnviz.text.words; offsets count code points.

/**
 * @typedef {(language: string, text: string) => { text: string }[]} Segmenter cuts a text; what it returns is all of the text
 * @typedef {[number, number][]} Spans
 */

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
  for (const paragraph of text.match(/.+?(?:(?:\r\n|[\n-\r\u0085\u2028\u2029])[^\S\r\n]*(?:\r\n|[\n-\r\u0085\u2028\u2029])\s*|$)/gsu) ?? []) {
    // The segmenter ends a sentence with every line, but a text that was pasted has its lines broken anywhere.
    for (const row of segmenter("en", paragraph.replace(/[\r\n]/g, " "))) {
      const left = lengthOf(row.text) - lengthOf(row.text.trimStart());
      if (row.text.trim()) spans.push([at + left, at + left + lengthOf(row.text.trim())]);
      at += lengthOf(row.text);
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

/** @param {string} text */
function lengthOf(text) {
  return [...text].length;
}
