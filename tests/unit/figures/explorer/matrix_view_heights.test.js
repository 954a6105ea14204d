// How high the parts of the picture are.

import assert from "node:assert/strict";
import test from "node:test";

import { columnHeight, matrixHeight, visiblePart } from "../../../../attnviz/figures/explorer/matrix_view.js";

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

test("of more rows than fit, those around the chosen one are shown", () => {
  assert.deepEqual(visiblePart(16, 10, 16, 217), { shown: 13, first: 3 });
  assert.deepEqual([null, 0, 8, 15].map((chosen) => visiblePart(16, chosen, 16, 100).first), [0, 0, 5, 10]);
  assert.deepEqual(visiblePart(7, 3, 16, Infinity), { shown: 7, first: 0 });
  assert.deepEqual(visiblePart(7, 3, 16, 5), { shown: 1, first: 3 });
});
