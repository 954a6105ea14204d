// How high the parts of the picture are: by the window, and beside each other by the matrix.

import { clamp } from "./paint.js";

// Below the heads, for some lines of the text.
const STRIP_ROOM = 100;
const LEAST = 240;

// What the page leaves to the picture while it presents; else 0.
export const roomHeight = (root) => Number.parseFloat(getComputedStyle(root).getPropertyValue("--picture-height")) || 0;

export function matrixHeight({ root, state }) {
  const [share, most] = state.view === "grid" ? [0.58, 720] : [0.75, 900];
  return roomHeight(root) || clamp(window.innerHeight * share, 440, most);
}

// Of the heads: beside a matrix they are as high as it is, less the text below them.
export function columnHeight({ root, isBeside, matrix }) {
  const room = roomHeight(root);
  if (!isBeside) return room || clamp(window.innerHeight * 0.6, LEAST, 720);
  const { top, height } = matrix.measure();
  return room ? top + height : Math.max(top + height - STRIP_ROOM, LEAST);
}
