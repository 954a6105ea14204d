// How high the parts of the picture are: by the window, and beside each other by the matrix.

import { clamp } from "./paint.js";

// Below the heads, for some lines of the text.
const STRIP_ROOM = 100;
const LEAST = 240;

export function matrixHeight(view) {
  const [share, most] = view === "grid" ? [0.58, 720] : [0.75, 900];
  return clamp(window.innerHeight * share, 440, most);
}

// Of the heads: beside a matrix they are as high as it is, less the text below them.
export function columnHeight({ isBeside, matrix }) {
  if (!isBeside) return clamp(window.innerHeight * 0.6, LEAST, 720);
  const { top, height } = matrix.measure();
  return Math.max(top + height - STRIP_ROOM, LEAST);
}
