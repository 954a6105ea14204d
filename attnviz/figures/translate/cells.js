// The cells of an alignment in the colours of their weights, large or small.

import { drawEdits } from "../drawing/edit_marks.js";
import { drawLines } from "../drawing/matrix.js";

/**
 * @import { Frame } from "../drawing/matrix.js"
 * @import { Surface } from "../drawing/surface.js"
 * @import { Model } from "./model_translation.js"
 */

const LINES_FROM = 6;

/** Where the cells of a model stand. @param {Model} model @param {number} left @param {number} top @param {number} cell @returns {Frame} */
export function frameOf({ queries, keys }, left, top, cell) {
  return { left, top, cell, width: cell * keys.length, height: cell * queries.length, x: 0, y: 0, ratio: devicePixelRatio };
}

/** @param {CanvasRenderingContext2D} context @param {Model} model @param {Frame} frame @param {Surface} surface @param {number} highest */
export function drawAlignment(context, model, frame, { palette, colours }, highest) {
  // Under a pixel a cell, they mix.
  context.imageSmoothingEnabled = frame.cell * devicePixelRatio < 1;
  context.drawImage(model.image(palette, highest), frame.left, frame.top, frame.width, frame.height);
  if (frame.cell >= LINES_FROM) drawLines(context, frame, colours.background);
  drawEdits(context, frame, model.edits, colours);
}

/** Whole pixels of the screen, where a cell has one: then all cells are alike. @param {number} cell */
export function wholePixels(cell) {
  return cell * devicePixelRatio >= 1 ? Math.floor(cell * devicePixelRatio) / devicePixelRatio : cell;
}
