// How a map is looked at, as text in an address.

import assert from "node:assert/strict";
import test from "node:test";

import { FIRST_OPTIONS, readOptions, writeOptions } from "../../../../attnviz/figures/explorer/view_options.js";

const CHOSEN = {
  order: "entropy", kind: "arcs", links: 0.1, gives: false, several: true, chips: { of: "1.2", on: new Map([[2, 0], [null, 1]]) },
  zoom: { of: "abcdef", zoom: 1.5, x: 3.25, y: 0 },
};

test("nothing chosen is no text", () => assert.equal(writeOptions(FIRST_OPTIONS), ""));

test("what is written is read", () => {
  const text = writeOptions(CHOSEN);
  assert.equal(text, "order_entropy~kind_arcs~links_0.1~gives_no~several_yes~chips_1.2_2.0-mean.1~zoom_abcdef_1.5_3.25_0");
  assert.deepEqual(readOptions(text), CHOSEN);
});

for (const text of ["", "?", "order_?~kind_~links_9~chips_1.2_x-99~zoom_0_1", "zoom_______~~_", "links_-1", "zoom_a_0.5_0_0", "toString_1", "order_toString~kind_constructor"]) {
  test(`"${text}" is the first view`, () => assert.deepEqual(readOptions(text), FIRST_OPTIONS));
}

test("what can be read of a damaged text counts", () => {
  assert.deepEqual(readOptions("order_?~links_0.2"), { ...FIRST_OPTIONS, links: 0.2 });
});
