// From cells to pixels: which code every pixel of a region of a head shows.

import { MASKED } from "./head_store.js";

/**
 * @import { Head } from "./head_store.js"
 * @typedef {{ x: number, y: number, step: number, columns: number, rows: number }} Region  the cell at the top left; cells a pixel
 */

// A pixel inside a cell shows that cell. A pixel that covers several shows the largest of them, so that a single bright one
// survives, and is masked only where all of them are.
/** @param {Pick<Head, "codes" | "nKeys" | "nQueries" | "zero">} head @param {Region} region */
export function poolRegion(head, { x, y, step, columns, rows }) {
  const across = spans(x, step, columns, head.nKeys);
  const down = spans(y, step, rows, head.nQueries);
  const pooled = new Uint16Array(columns * rows);
  for (let row = 0; row < rows; row++) {
    const at = row * columns;
    const [top, bottom] = [down.starts[row], down.ends[row]];
    if (row && top === down.starts[row - 1] && bottom === down.ends[row - 1]) {
      pooled.copyWithin(at, at - columns, at);
      continue;
    }
    for (let column = 0; column < columns; column++) {
      pooled[at + column] = largestCode(head, top, bottom, across.starts[column], across.ends[column]);
    }
  }
  return pooled;
}

/** The cells that each pixel of a side stands for, from start to just before end.
 * @param {number} from @param {number} step @param {number} pixels @param {number} count */
function spans(from, step, pixels, count) {
  const starts = new Int32Array(pixels);
  const ends = new Int32Array(pixels);
  for (let pixel = 0; pixel < pixels; pixel++) {
    const start = Math.floor(from + (step > 1 ? pixel : pixel + 0.5) * step + 1e-9);
    const end = step > 1 ? Math.ceil(from + (pixel + 1) * step - 1e-9) : start + 1;
    starts[pixel] = Math.min(start, count - 1);
    ends[pixel] = Math.min(Math.max(end, start + 1), count);
  }
  return { starts, ends };
}

/** @param {Pick<Head, "codes" | "nKeys" | "zero">} head @param {number} top @param {number} bottom @param {number} left @param {number} right */
function largestCode({ codes, nKeys, zero }, top, bottom, left, right) {
  if (bottom - top === 1 && right - left === 1) return codes[top * nKeys + left];
  let largest = -1;
  let pooled = MASKED;
  for (let query = top; query < bottom; query++) {
    for (let cell = query * nKeys + left; cell < query * nKeys + right; cell++) {
      if (codes[cell] === MASKED || Math.abs(codes[cell] - zero) <= largest) continue;
      largest = Math.abs(codes[cell] - zero);
      pooled = codes[cell];
    }
  }
  return pooled;
}
