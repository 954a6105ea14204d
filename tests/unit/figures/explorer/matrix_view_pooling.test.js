// Pixels show their cell, or the largest of the cells that they cover.

import assert from "node:assert/strict";
import test from "node:test";

import { MASKED } from "../../../../attnviz/figures/explorer/head_store.js";
import { poolRegion } from "../../../../attnviz/figures/explorer/matrix_view.js";

const head = (nQueries, nKeys, codes, zero = 0) => ({ nQueries, nKeys, zero, codes: Uint16Array.from(codes) });
const SMALL = head(2, 3, [1, 2, 3, 4, 5, MASKED]);

test("a cell larger than a pixel fills its pixels", () => {
  const pooled = poolRegion(SMALL, { x: 0, y: 0, step: 0.5, columns: 6, rows: 4 });
  assert.deepEqual([...pooled.subarray(0, 6)], [1, 1, 2, 2, 3, 3]);
  assert.deepEqual([...pooled.subarray(6, 12)], [1, 1, 2, 2, 3, 3]);
  assert.deepEqual([...pooled.subarray(18)], [4, 4, 5, 5, MASKED, MASKED]);
});

test("a region begins at its own cell and ends at the last one", () => {
  assert.deepEqual([...poolRegion(SMALL, { x: 1, y: 1, step: 1, columns: 3, rows: 1 })], [5, MASKED, MASKED]);
});

test("a pixel over several cells shows the largest, and is masked only where all are", () => {
  const codes = [0, 7, 0, 0, 0, 0, 0, 0, MASKED, MASKED, 1, MASKED, MASKED, MASKED, MASKED, MASKED];
  assert.deepEqual([...poolRegion(head(4, 4, codes), { x: 0, y: 0, step: 2, columns: 2, rows: 2 })], [7, 0, MASKED, 1]);
});

test("one bright cell of thousands survives", () => {
  const codes = new Uint16Array(900 * 900);
  codes[617 * 900 + 404] = 10_000;
  const pooled = poolRegion(head(900, 900, codes), { x: 0, y: 0, step: 900 / 211, columns: 211, rows: 211 });
  const bright = [...pooled].flatMap((code, at) => (code ? [[Math.floor(at / 211), at % 211]] : []));
  assert.ok(bright.length >= 1 && bright.length <= 4);
  for (const [row, column] of bright) {
    assert.ok(Math.abs((row + 0.5) * (900 / 211) - 617.5) < 900 / 211);
    assert.ok(Math.abs((column + 0.5) * (900 / 211) - 404.5) < 900 / 211);
  }
});

test("of a difference the furthest from 0 is shown, on either side", () => {
  assert.deepEqual([...poolRegion(head(1, 4, [100, 130, 90, 40], 100), { x: 0, y: 0, step: 2, columns: 2, rows: 1 })], [130, 40]);
});
