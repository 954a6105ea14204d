// How edits of a head look in every picture: what is switched off is faded, a link that is cut struck out; a typed weight has a ring.

/**
 * @import { Frame } from "./matrix.js"
 * @import { Theme } from "./palette.js"
 * @typedef {[x: number, y: number, width: number, height: number]} Box
 * @typedef {{ off: boolean, columns: number[], cells: [query: number, key: number, what: string][] }} HeadEdits
 */

/** @param {CanvasRenderingContext2D} context @param {Theme} colours @param {Box} box */
export function fade(context, colours, box) {
  context.save();
  context.globalAlpha = 0.6;
  context.fillStyle = colours.masked;
  context.fillRect(...box);
  context.restore();
}

/** @param {CanvasRenderingContext2D} context @param {Theme} colours @param {Box} box */
export function strike(context, colours, [x, y, width, height]) {
  context.strokeStyle = colours.text;
  context.lineWidth = 1.5;
  context.beginPath();
  context.moveTo(x + 2, y + height - 2);
  context.lineTo(x + width - 2, y + 2);
  context.stroke();
}

/** Marks in the matrix of a head what of it is edited; a difference stays as bright as it is.
 * @param {CanvasRenderingContext2D} context @param {Frame} frame @param {HeadEdits} edits @param {Theme} colours */
export function drawEdits(context, frame, { off, columns, cells }, colours, isDifference = false) {
  const { left, top, width, height, cell, x, y } = frame;
  /** @param {Box} box */
  const dim = (box) => isDifference || fade(context, colours, box);
  if (off) dim([left, top, width, height]);
  for (const key of columns) dim([left + (key - x) * cell, top, cell, height]);
  for (const [query, key, what] of cells) {
    /** @type {Box} */
    const box = [left + (key - x) * cell, top + (query - y) * cell, cell, cell];
    if (what === "cut") {
      dim(box);
      strike(context, colours, box);
    } else ring(context, colours, box, Math.max(1.5, 1 / frame.ratio));
  }
}

/** @param {CanvasRenderingContext2D} context @param {Theme} colours @param {Box} box @param {number} thickness */
function ring(context, colours, [x, y, width, height], thickness) {
  context.strokeStyle = colours.text;
  context.lineWidth = thickness;
  context.setLineDash([3, 2]);
  context.strokeRect(x + 2, y + 2, Math.max(width - 4, 1), Math.max(height - 4, 1));
  context.setLineDash([]);
}
