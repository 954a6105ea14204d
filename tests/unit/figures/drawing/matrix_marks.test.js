// Which labels of a matrix are drawn, and how much of them.

import assert from "node:assert/strict";
import test from "node:test";

import { columnLabel, labelled, marginBelow, margins } from "../../../../attnviz/figures/drawing/matrix_marks.js";

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

// A canvas whose letters are 10 pixels wide.
const WIDE = /** @type {any} */ ({ widest: (_, tokens) => 10 * Math.max(...tokens.map(([text]) => text.length)) });

test("the last row's label has room below small cells", () => {
  assert.deepEqual([0.5, 10, 40].map(marginBelow), [8.75, 4, 2]);
});

test("the last column's label takes the room that cells leave, and no more", () => {
  const map = { queries: [["a"]], keys: [["telecommunications"]] };
  const wide = (room) => margins(WIDE, /** @type {any} */ (null), /** @type {any} */ (map), room, 110).wide(100);
  assert.deepEqual([150, 200, 1000].map(wide), [22 + 100 + 60, 22 + 100 + 78, 22 + 100 + 119]);
});

test("a column's label that reaches over the edge is shortened", () => {
  globalThis.getComputedStyle = /** @type {any} */ (() => ({ fontFamily: "sans" }));
  const drawn = (/** @type {number} */ width) => {
    let text = "";
    const nothing = () => {};
    const context = { canvas: { width }, save: nothing, restore: nothing, translate: nothing, rotate: nothing };
    Object.assign(context, { getTransform: () => ({ a: 2 }), measureText: (each) => ({ width: 10 * each.length }), fillText: (each) => (text = each) });
    columnLabel(/** @type {any} */ (context), /** @type {any} */ ({ left: 20, top: 200, cell: 10, x: 0 }), 2, "telecommunications", { colour: "" });
    return text;
  };
  assert.deepEqual([1000, 300, 200].map(drawn), ["telecommunications", "telecommunic…", "telec…"]);
});
