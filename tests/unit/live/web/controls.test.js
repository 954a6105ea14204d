// Which head a file has that can be taken from a page.

import assert from "node:assert/strict";
import test from "node:test";

import { shownHead } from "../../../../attnviz/live/web/controls.js";

const bytes = (...weights) => new Uint8Array(Float32Array.from(weights).buffer);
const describe = (name, slot, place) => ({ name, slot, place, queries: [["le", 0, 0, 2]], keys: [["the", 0, 0, 3], ["</s>", 1, 0, 0]], rows: [0], columns: [0, 1] });

test("of several translators a file has the head that is large, as it is drawn", async () => {
  const aligned = { models: [describe("a", 1, [0, null]), describe("b", 2, [1, 3])], chunks: new Map([["1", bytes(1, 0)], ["2", bytes(0.25, NaN)]]) };
  const picture = { said: { models: ["a", "b"] }, aligned, table: () => assert.fail("the worker has the maps of the first model") };
  const headOf = (values) => shownHead({ config: { page: "translate" }, values }, picture);
  const { model, shown, table, hasAllHeads } = headOf({ hero: 2, hide_special: true });
  assert.deepEqual([model, hasAllHeads], ["b", false]);
  assert.deepEqual(shown, { kind: "cross", layer: 1, head: 3, view: { words: true, hideSpecial: true } });
  const { weights, masked, queries } = await table();
  assert.deepEqual([[...weights], masked, queries[0].text], [[0.25, 0], [false, true], "le"]);
  assert.deepEqual([headOf({}).model, headOf({}).hasAllHeads, [...(await headOf({}).table()).weights]], ["a", true, [1, 0]]);
});
