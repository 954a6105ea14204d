// Where words look, in a sentence.

import assert from "node:assert/strict";
import test from "node:test";

import { headline } from "../../../../attnviz/figures/explorer/wording.js";

// As much of a page as a sentence needs.
class Part {
  /** @type {(Part | string)[]} */
  parts = [];

  setAttribute() {}

  /** @param {(Part | string)[]} parts */
  append(...parts) {
    this.parts.push(...parts);
  }

  toString() {
    return this.parts.join("");
  }
}
Object.assign(globalThis, { document: { createElement: () => new Part() } });

/** @param {string[]} texts @param {number[]} shares */
function said(texts, shares) {
  const words = texts.map((text, index) => ({ text, special: text.startsWith("["), parts: [index] }));
  const overview = /** @type {any} */ ({ words: { queries: words, keys: words, own: [...words.keys()] } });
  const question = /** @type {any} */ ({ queries: [0], keys: [], isLink: false });
  return headline(overview, question, Float32Array.from(shares), () => false, "weight").join("");
}

test("a text without a word is told by the token that is looked at most", () => {
  assert.equal(said(["[CLS]", "!", "?", "[SEP]"], [0.2, 0.28, 0.28, 0.24]), "[CLS] looks at no word in particular: at most ! (28\u00A0%)");
  assert.equal(said(["[CLS]", "a", "b", "?"], [0.4, 0.06, 0.04, 0.5]), "[CLS] looks at no word in particular: at most a (6\u00A0%)");
});
