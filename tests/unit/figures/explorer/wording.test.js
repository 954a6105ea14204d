// Where words look, in a sentence.

import assert from "node:assert/strict";
import test from "node:test";

import { headline, rowMeaning } from "../../../../attnviz/figures/explorer/wording.js";

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

test("of the words the first is named, with what gets more beside it", () => {
  const percent = (number) => `${number}\u00A0%`;
  assert.equal(said(["The", "cat", "sofa", "[CLS]", "."], [0.1, 0.12, 0.18, 0.35, 0.25]), `The, of the other words, looks most at sofa (${percent(18)}), then at cat (${percent(12)}); ${percent(35)} goes to [CLS] and ${percent(25)} to .`);
  assert.equal(said(["The", "cat", "sofa", "[CLS]"], [0.4, 0.1, 0.3, 0.2]), `The, of the other words, looks most at sofa (${percent(30)}), then at cat (${percent(10)}); ${percent(40)} goes to itself and ${percent(20)} to [CLS]`);
  assert.equal(said(["The", "cat", "sofa", "[CLS]"], [0.1, 0.1, 0.7, 0.1]), `The looks mostly at sofa (${percent(70)}), then at cat (${percent(10)}); ${percent(10)} goes to [CLS]`);
  assert.equal(said(["it", "cat", "sofa", "[CLS]"], [0.1, 0.04, 0.83, 0.03]), `it looks mostly at sofa (${percent(83)})`);
});

test("words that get as much are alike, and those that stand several times have their number", () => {
  assert.equal(said(["x", "the", "a", "the", "The"], [0.054, 0.317, 0.0, 0.317, 0.313]), "x looks at the(1) (32\u00A0%), the(2) (32\u00A0%) and The(3) (31\u00A0%) alike");
  assert.equal(said(["x", "the", "a", "the"], [0.0, 0.6, 0.0, 0.4]), "x looks mostly at the(1) (60\u00A0%), then at the(2) (40\u00A0%)");
});

test("a very long word is cut between letters, also between those that take two", () => {
  assert.equal(said(["😀".repeat(99), "[CLS]"], [0.9, 0.1]), `${"😀".repeat(59)}… looks mostly at itself (90\u00A0%)`);
});

test("a text without a word is told by the token that is looked at most", () => {
  assert.equal(said(["[CLS]", "!", "?", "[SEP]"], [0.2, 0.28, 0.28, 0.24]), "[CLS] looks at no word in particular: at most ! (28\u00A0%)");
  assert.equal(said(["[CLS]", "a", "b", "?"], [0.4, 0.06, 0.04, 0.5]), "[CLS] looks at no word in particular: at most a (6\u00A0%); 50\u00A0% goes to ? and 40\u00A0% to itself");
  assert.equal(said(["L'", "👩", "and"], [0.1, 0.89, 0.01]), "L' looks at no word in particular: at most and (1\u00A0%); 89\u00A0% goes to 👩 and 10\u00A0% to itself");
});

test("a row is a word, or a token where a word has several", () => {
  const meaning = (/** @type {[string, number][]} */ texts, signed = false) => rowMeaning(/** @type {any} */ ({ signed, words: { queries: texts.map(([text, count]) => ({ text, parts: Array(count).fill(0) })) } }));
  assert.equal(meaning([["It", 1], ["did", 1]]), "each row is one word, and where it looks");
  assert.equal(meaning([["It", 1], ["didn't", 3]]), "each row is one token (“didn't” has 3), and where it looks");
  assert.equal(meaning([["didn't", 3]], true), "after less before, where each row's token (“didn't” has 3) looks");
});
