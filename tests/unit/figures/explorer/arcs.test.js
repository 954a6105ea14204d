// Which links are drawn as arcs, and what is said of the others.

import assert from "node:assert/strict";
import test from "node:test";

import { gatherArcs } from "../../../../attnviz/figures/explorer/arcs.js";
import { MASKED } from "../../../../attnviz/figures/explorer/head_store.js";

const head = (name, codes) => ({ head: name, codes: Uint16Array.from(codes), highest: Math.max(...codes.filter((code) => code !== MASKED)), one: 100, nKeys: 3 });
const ONE = head(4, [10, 50, MASKED, 0, 30, 10]);

test("arcs are the links from the threshold on, the weakest first", () => {
  const { arcs, leftOut, isCapped, least } = gatherArcs([ONE], 0.3, true);
  assert.deepEqual(arcs, [[4, 1, 1, 0.3, 0.3], [4, 0, 1, 0.5, 0.5]]);
  assert.deepEqual([leftOut.toFixed(6), isCapped, least], ["0.200000", false, 0.3]);
});

test("on a scale that ends at the largest weight the threshold is a share of it", () => {
  const { arcs, least } = gatherArcs([ONE], 0.3, false);
  assert.equal(least, 0.15);
  assert.deepEqual(arcs.map(([, , , share]) => share), [0.6, 1]);
});

test("a weight of 0 is no arc, and the mean is called so", () => {
  assert.deepEqual(gatherArcs([head(null, [0, 20, 80])], 0, true).arcs.map(([name]) => name), ["mean", "mean"]);
});

test("of too many the strongest are drawn, and that is said", () => {
  const { arcs, isCapped, leftOut } = gatherArcs([ONE], 0, true, 2);
  assert.deepEqual(arcs.map(([, , , , weight]) => weight), [0.3, 0.5]);
  assert.deepEqual([isCapped, leftOut.toFixed(6)], [true, "0.200000"]);
});

test("not all is left out where an arc is drawn, and nothing where all are", () => {
  const many = head(0, [50, ...Array(60_000).fill(10)]);
  assert.deepEqual([gatherArcs([many], 0.3, true).leftOut, gatherArcs([many], 0.9, true).leftOut, gatherArcs([ONE], 0, true).leftOut], [0.999, 1, 0]);
});
