// How high the parts of the picture are.

import assert from "node:assert/strict";
import test from "node:test";

import { columnHeight, matrixHeight } from "../../../../attnviz/figures/explorer/heights.js";

test("a matrix takes its share of the window, within bounds", () => {
  assert.deepEqual([400, 1000, 2000].map((high) => matrixHeight("grid", 0, high)), [440, 580, 720]);
  assert.deepEqual([400, 1000, 2000].map((high) => matrixHeight("matrix", 0, high)), [440, 750, 900]);
});

test("heads beside a matrix end where it ends, less the list above them", () => {
  assert.equal(columnHeight({ top: 60, height: 440 }, 0, 1000), 285);
  assert.equal(columnHeight({ top: 60, height: 100 }, 0, 1000), 240);
  assert.equal(columnHeight(null, 0, 1000), 600);
});

test("while the page presents, it gives the height", () => {
  assert.deepEqual([matrixHeight("grid", 333, 1000), columnHeight(null, 333, 1000), columnHeight({ top: 60, height: 100 }, 333, 1000)], [333, 333, 0]);
});
