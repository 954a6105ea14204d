// The walk through the steps: where it may go, and what stays when something else is computed.

import assert from "node:assert/strict";
import test from "node:test";

import "../fake_page.js";
import { asks, follow, go, isLocked, look, tone, verdict, written } from "../../../../attnviz/figures/compute/equations.js";
import { describeSteps } from "../../../../attnviz/figures/compute/worded_steps.js";

function step(name, rows, columns) {
  const cells = rows.map((_, row) => columns.map((_, column) => ({ id: `${name}:${row}:${column}`, text: "0" })));
  return { title: name, start: [0, 0], matrices: [{ name, rows, columns, cells, weights: name === "W" }] };
}
const STEPS = [step("S", ["a", "b"], ["a", "b", "c"]), step("W", ["a", "b"], ["a", "b", "c"]), step("O", ["a"], ["0"])];
const data = (more = {}) => ({ steps: STEPS, key: "k", seq: 0, hidden: null, at: [0, 1, 2], expanded: null, theme: { heads: ["red", "blue", "green", "yellow", "cyan", "pink"] }, ...more });
const walk = (more) => Object.assign(follow(data(more)), { draw() {}, tell() {} });

test("it opens where Python says, at a cell that is there", () => {
  assert.deepEqual([walk().step, walk().cell], [0, [1, 2]]);
  assert.deepEqual(walk({ at: [2, 1, 2] }).cell, [0, 0]);
  assert.equal(walk({ expanded: "S:0:1" }).expanded, "S:0:1");
  assert.equal(walk({ expanded: "X:0:1" }).expanded, null);
  const opened = ["1,7,0", "7,0,0"].map((at) => walk({ at: at.split(",").map(Number), first: [0, 1, 1] }));
  assert.deepEqual(opened.map(({ step: own, cell }) => [own, ...cell]), [[1, 0, 0], [0, 1, 1]]);
});

test("a cell that was chosen stays while the same rows and columns stand there", () => {
  const one = walk();
  look(one, [1, 1]);
  go(one, 1);
  assert.deepEqual([one.step, one.cell], [1, [1, 1]]);
  go(one, 2);
  assert.deepEqual(one.cell, [0, 0]);
  go(one, 7);
  look(one, [3, 3]);
  assert.deepEqual([one.step, one.cell], [2, [0, 0]]);
});

test("what comes after the weights is locked while a class guesses", () => {
  const one = walk({ hidden: 1, at: [1, 0, 0] });
  assert.deepEqual([asks(one), isLocked(one, 1), isLocked(one, 2)], [true, false, true]);
  go(one, 2);
  assert.equal(one.step, 1);
});

test("a person's own last move is newer than what Python says, until another computation comes", () => {
  const one = walk();
  go(one, 1);
  Object.assign(one, { seq: 3, guess: 1, guessed: [0, 0] });
  assert.deepEqual([follow(data({ seq: 2 }), one).step, one.guess], [1, 1]);
  assert.deepEqual([follow(data({ seq: 3, key: "other" }), one).step, one.guess], [0, null]);
});

test("the result has a colour of its own, whatever stands before it", () => {
  const three = { matrices: [{}, {}, {}] };
  assert.deepEqual([0, 1, 2].map((index) => tone(walk(), three, index)), ["red", "blue", "green"]);
  const many = { matrices: Array(7).fill({}) };
  assert.deepEqual([0, 1, 2, 3, 4, 5, 6].map((index) => tone(walk(), many, index)), ["red", "blue", "yellow", "cyan", "pink", "red", "green"]);
});

test("of equal weights each is right, and what is hidden is no number", () => {
  const [ones, half] = [1, 0.5].map((value) => [[value, value], [value, value]]);
  const known = { kind: "worked", tokens: ["a", "b"], columns: [], heads: 1, head: 0, divides: false, focus: [1, 0], visible: [[true, false], [true, true]],
    ...Object.fromEntries(["x", "wQ", "wK", "wV", "q", "k", "v", "scores"].map((name) => [name, ones])) };
  const mixed = { weights: [[1, 0], [0.5, 0.5]], divided: half, undivided: half, contexts: [ones], concatenated: ones, wO: ones, output: ones };
  const one = Object.assign(walk({ ...describeSteps({ known, mixed, symbols: [] }), predict: "most" }), { guessed: [1, 0], guess: 1 });
  const stepOf = (name) => (one.step = one.data.steps.findIndex(({ symbol }) => symbol === name), one.data.steps[one.step]);
  assert.match(verdict(one, stepOf("softmax"))[0].textContent, /^Right: “b” gets most, 0\.50/);
  assert.match(written(Object.assign(one, { cell: [0, 1] }), stepOf("mask")).textContent, /exactly 0$/);
});
