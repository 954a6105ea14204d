// Packages, as overview.py writes them.

import assert from "node:assert/strict";
import test from "node:test";

import { readPackage } from "../../../../attnviz/figures/drawing/mount.js";

test("the header and the chunks are read, also from the middle of a buffer", () => {
  const header = new TextEncoder().encode(JSON.stringify({ kind: "é", chunks: { "0:0": [0, 2], thumbs: [2, 1] } }));
  const whole = Uint8Array.from([9, 9, header.length, 0, 0, 0, ...header, 1, 2, 3]);
  const { kind, chunks } = readPackage(whole.subarray(2));
  assert.equal(kind, "é");
  assert.deepEqual([...chunks].map(([name, chunk]) => [name, [...chunk]]), [["0:0", [1, 2]], ["thumbs", [3]]]);
});
