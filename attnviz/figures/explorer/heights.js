// How high the parts of the picture are: by the window, and beside each other by the matrix. `given`: what the page leaves to the
// picture while it presents; else 0.

import { clamp } from "../drawing/canvas.js";

// Above the heads, for the first of the ranking.
const [LIST_ROOM, PRESENTED_LIST] = [215, 200];
const LEAST = 240;

/** @param {string} view @param {number} given @param {number} windowHeight */
export function matrixHeight(view, given, windowHeight) {
  const [share, most] = view === "grid" ? [0.58, 720] : [0.75, 900];
  return given || clamp(windowHeight * share, 440, most);
}

/** Of the heads: beside a matrix they are as high as it is, less the list above them.
 * @param {{ top: number, height: number } | null} matrix @param {number} given @param {number} windowHeight */
export function columnHeight(matrix, given, windowHeight) {
  if (!matrix) return given || clamp(windowHeight * 0.6, LEAST, 720);
  const whole = matrix.top + matrix.height;
  return given ? Math.max(whole - PRESENTED_LIST, 0) : Math.max(whole - LIST_ROOM, LEAST);
}

/** As many of `count` rows or columns as fit into the room, and the first of them: around the chosen one.
 * @param {number} count @param {number | null} chosen @param {number} cell @param {number} room */
export function visiblePart(count, chosen, cell, room) {
  const shown = clamp(Math.floor(room / cell), 1, count);
  return { shown, first: clamp(Math.floor((chosen ?? 0) + 0.5 - shown / 2), 0, count - shown) };
}
