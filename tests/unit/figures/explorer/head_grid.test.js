// A head as small arcs.

import assert from "node:assert/strict";
import test from "node:test";

import { smallArcs } from "../../../../attnviz/figures/explorer/head_grid.js";
import { THUMB_MASKED } from "../../../../attnviz/figures/explorer/head_store.js";

test("a weight that is a little above 1 is drawn as strong as 1", () => {
  const drawn = [];
  class Path2D {
    lines = [];
    moveTo(x, y) {
      this.lines.push([x, y]);
    }
    lineTo() {}
  }
  class OffscreenCanvas {
    getContext() {
      const context = { scale() {}, globalAlpha: 0, stroke: ({ lines }) => drawn.push(...lines.map(() => context.globalAlpha)) };
      return context;
    }
  }
  Object.assign(globalThis, { Path2D, OffscreenCanvas });
  const size = { width: 10, height: 10, ratio: 1 };
  smallArcs(Uint8Array.of(THUMB_MASKED - 1, THUMB_MASKED, 0, (THUMB_MASKED - 1) / 2), { rows: 2, columns: 2 }, 1.0000001, "#000", size);
  assert.deepEqual(drawn, [4 / 6, 1]);
});
