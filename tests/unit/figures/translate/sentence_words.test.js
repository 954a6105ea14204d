// What the words of a translation are told of their model: how many heads it has, and which row of a word is ranked.

import assert from "node:assert/strict";
import test from "node:test";

import { WordsState } from "../../../../attnviz/figures/translate/sentence_words.js";

const word = (/** @type {string} */ text) => [text, 0, 0, text.length];

/** @param {object} said @param {string} step */
function stateOf(said, step) {
  const model = { said: { directions: ["ltr", "ltr"], number: "weight", place: [0, 0], shape: [1, 1], ...said }, queries: [word("rouge")], keys: [word("red")] };
  return new WordsState(/** @type {any} */ ({ model, rankedHeads: { step } }));
}

test("a Transformer has all of its heads, a model of one has one", () => {
  const counts = [{ shape: [3, 4] }, { shape: [1, 1] }].map((said) => stateOf(said, "").overview).map(({ layers, heads }) => layers * heads);
  assert.deepEqual(counts, [12, 1]);
});

test("which row is ranked is said, and whether the picture has the other", () => {
  const texts = ["writes", "reads", "writes, not drawn", "reads, not drawn", ""].map((step) => stateOf({}, step).rankedBy);
  assert.deepEqual(texts, [
    "the row that writes it", "the row that reads it", "the row that writes it, while the picture has the one that reads it",
    "the row that reads it, while the picture has the one that writes it", "",
  ]);
});
