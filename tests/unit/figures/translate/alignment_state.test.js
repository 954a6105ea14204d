// A model's translation: its weights, where its words stand in another's, the head that is drawn, and its sentence in parts.

import assert from "node:assert/strict";
import test from "node:test";

import { headPlace, headCaption, Model, sentenceParts } from "../../../../attnviz/figures/translate/alignment_state.js";

const words = (text) => text.split(" ").reduce(([tokens, at], word) => [[...tokens, [word, 0, at, at + word.length]], at + word.length + 1], [[], 0])[0];

function model(target, source, weights, more = {}) {
  const said = { slot: 1, queries: words(target), keys: [...words(source), ["</s>", 1, 99, 99]], links: null, off: false, hidden: [], edited: [], ...more };
  return new Model(said, new Uint8Array(Float32Array.from(weights).buffer));
}
const ONE = model("le chat le", "the cat", [0.1, 0.7, 0.2, NaN, 0.4, 0.6, 0.3, 0.3, 0.4], { links: [[0, 1]] });

test("weights are those of the package; a masked one is 0", () => {
  assert.deepEqual([ONE.weight(0, 1).toFixed(1), ONE.weight(1, 0), ONE.masked(1, 0), ONE.masked(1, 1)], ["0.7", 0, true, false]);
  assert.deepEqual([ONE.highest.toFixed(1), [0, 1, 2].map((query) => ONE.strongestOf(query))], ["0.7", [1, 2, 2]]);
  assert.deepEqual([ONE.isHard(0, 1), ONE.isHard(1, 1)], [true, false]);
});

test("a word of the source stands where it stands, a special token where it is called so", () => {
  const pieces = model("le chat", "the cat", new Float32Array(6), { keys: [["t", 0, 0, 1], ["he", 0, 1, 3], ["cat", 0, 4, 7], ["</s>", 1, 0, 0]] });
  assert.deepEqual(pieces.find(ONE, { query: null, key: 1 }), { query: null, key: 2 });
  assert.deepEqual(pieces.find(ONE, { query: null, key: 2 }), { query: null, key: 3 });
});

test("a written word is found for the same time, or not at all", () => {
  const other = model("Le petit chat Le", "the cat", new Float32Array(12));
  assert.deepEqual([0, 1, 2].map((query) => other.find(ONE, { query, key: null }).query), [0, 2, 3]);
  assert.equal(ONE.find(other, { query: 1, key: null }).query, null);
});

test("colours of a long translation end where all but a hundredth of its weights lie", () => {
  const long = (length) => Array.from({ length }, (_, at) => `w${at}`).join(" ");
  const weights = Array.from({ length: 128 * 4 }, (_, at) => (at % 16 ? at / 1024 : NaN));
  const seen = weights.filter((each) => !Number.isNaN(each));
  const { limit } = model(long(128), "one two three", weights);
  assert.deepEqual([limit, ONE.limit], [Math.max(Math.fround(seen[Math.ceil(0.99 * seen.length) - 1]), 5 / 4), 1]);
  const wide = Array.from({ length: 2 * 200 }, (_, at) => Math.fround(at / 1000));
  assert.equal(model("a b", long(199), wide).limit, wide[395]);
});

test("the parts of a sentence spell it whatever its tokens cover", () => {
  const queries = [["ça", 0, 0, 2], ["😀", 0, 3, 4], ["😀", 0, 3, 4], ["va", 0, 5, 7], ["</s>", 1, 0, 0]];
  const parts = sentenceParts({ translation: "ça 😀 va!", queries, unlike: [[5, 7]] });
  assert.equal(parts.map(([text]) => text).join(""), "ça 😀 va!");
  assert.deepEqual(parts.filter(([, row]) => row !== null), [["ça", 0, false], ["😀", 1, false], ["va", 3, true]]);
});

test("a word that a limit cut off differs too", () => {
  assert.deepEqual(sentenceParts({ translation: "bon jour", queries: words("bon"), unlike: [[4, 8]] }).at(-1), [" jour", null, true]);
});

test("a head is named beside its model, and in words", () => {
  const one = { place: [1, 0], shape: [2, 4], number: "weight", isTrained: false, isGiven: false };
  const heads = [
    { isTrained: true }, { place: [0, null] }, { place: [0, null], shape: [1, 1], isGiven: true }, { number: "norm share" },
    { place: [1, null], number: "mixing share" }, { shape: [1, 4] },
  ].map((more) => ({ ...one, ...more }));
  assert.deepEqual(heads.map(headCaption), [
    "L1·H0, trained to align", "L0, mean of 4 heads", "target given", "L1·H0 · norm share", "Layer 1 · mixing share", "L1·H0",
  ]);
  assert.deepEqual(heads.map(headPlace), [
    "head 0 of layer 1, trained to align, one of 8", "the mean of layer 0", "the model's only head", "head 0 of layer 1, one of 8",
    "all heads of layer 1 together", "head 0 of layer 1, one of 4",
  ]);
});
