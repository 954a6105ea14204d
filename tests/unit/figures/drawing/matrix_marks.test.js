// Which labels of a matrix are drawn.

import assert from "node:assert/strict";
import test from "node:test";

import { labelled } from "../../../../attnviz/figures/drawing/matrix_marks.js";

test("every label where there is room", () => assert.deepEqual(labelled(4, 0, 4, 2, 20, 16), [0, 1, 2, 3]));

test("labels stand apart, and the selected one is among them", () => {
  for (const cell of [0.3, 1, 5, 9, 15]) {
    for (const selected of [null, 0, 37, 99]) {
      const drawn = labelled(100, 0, 100, selected, cell, 16);
      assert.ok(selected === null || drawn.includes(selected));
      for (let at = 1; at < drawn.length; at++) assert.ok((drawn[at] - drawn[at - 1]) * cell >= 16);
    }
  }
});

test("of a part only its own, the same ones as of the whole", () => {
  assert.deepEqual(labelled(100, 31.5, 20, null, 5, 16), [32, 36, 40, 44, 48]);
  assert.deepEqual(labelled(100, 31.5, 20, 70, 5, 16), [32, 36, 40, 44, 48]);
  assert.deepEqual(labelled(100, 31.5, 20, 38, 5, 16), [32, 38, 44, 48]);
});
