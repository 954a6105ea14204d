// A head as small arcs, as BertViz's model view draws it: lines from who looks, on the left, to whom, on the right.

import { THUMB_MASKED } from "./head_store.js";

const LEAST_SHARE = 0.05;
const SMALL_LEVELS = 6;

// `levels`: the head's small picture, a share of its largest weight a pixel; `end`: the share of the scale that the largest has.
/** @param {Uint8Array} levels @param {{ rows: number, columns: number }} overview @param {number} end @param {string} colour
 * @param {{ width: number, height: number, ratio: number }} size */
export function smallArcs(levels, { rows, columns }, end, colour, { width, height, ratio }) {
  const canvas = new OffscreenCanvas(Math.max(1, Math.round(width * ratio)), Math.max(1, Math.round(height * ratio)));
  const context = /** @type {OffscreenCanvasRenderingContext2D} */ (canvas.getContext("2d"));
  context.scale(ratio, ratio);
  const paths = Array.from({ length: SMALL_LEVELS + 1 }, () => new Path2D());
  for (let cell = 0; cell < levels.length; cell++) {
    if (levels[cell] === THUMB_MASKED) continue;
    const share = (levels[cell] / (THUMB_MASKED - 1)) * end;
    if (share < LEAST_SHARE) continue;
    const path = paths[Math.ceil(share * SMALL_LEVELS)];
    path.moveTo(0, ((Math.floor(cell / columns) + 0.5) * height) / rows);
    path.lineTo(width, (((cell % columns) + 0.5) * height) / columns);
  }
  context.strokeStyle = colour;
  paths.forEach((path, level) => {
    context.globalAlpha = level / SMALL_LEVELS;
    context.lineWidth = 0.6 + level / SMALL_LEVELS;
    context.stroke(path);
  });
  return canvas;
}
