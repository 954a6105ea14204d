// What the large matrix and the small ones share: cells in the colours of their weights, and the row and column of a word.

import { fade, ring, strike } from "./strike.js";

// `size`: where the cells begin, and how large one is.
export function paintCells(context, model, { left, top, cell }, { palette, highest }) {
  const width = cell * model.keys.length;
  const height = cell * model.queries.length;
  // Under a pixel a cell, they mix.
  context.imageSmoothingEnabled = cell * devicePixelRatio < 1;
  context.drawImage(model.image(palette, highest), left, top, width, height);
  if (cell < 6) return;
  const crisp = (value) => (Math.round(value * devicePixelRatio) + 0.5) / devicePixelRatio;
  context.strokeStyle = palette.background;
  context.lineWidth = 1 / devicePixelRatio;
  context.beginPath();
  for (let column = 1; column < model.keys.length; column++) {
    context.moveTo(crisp(left + column * cell), top);
    context.lineTo(crisp(left + column * cell), top + height);
  }
  for (let row = 1; row < model.queries.length; row++) {
    context.moveTo(left, crisp(top + row * cell));
    context.lineTo(left + width, crisp(top + row * cell));
  }
  context.stroke();
}

// Of an edited head: that it is off, links that are cut, weights that were typed, words that nobody looks at.
export function markEdits(context, model, { left, top, cell }, { palette }) {
  const height = cell * model.queries.length;
  if (model.off) fade(context, palette.masked, [left, top, cell * model.keys.length, height]);
  for (const key of model.hidden) fade(context, palette.masked, [left + key * cell, top, cell, height]);
  for (const [query, key, what] of model.edited) {
    const [x, y] = [left + key * cell, top + query * cell];
    if (what === "cut") {
      fade(context, palette.masked, [x, y, cell, cell]);
      strike(context, palette.text, [x, y, cell, cell]);
    } else ring(context, palette.text, [x, y, cell], 1.5);
  }
}

export function markWords(context, model, { left, top, cell }, { query, key }, [colour, thickness]) {
  context.strokeStyle = colour;
  context.lineWidth = thickness;
  if (query !== null) context.strokeRect(left, top + query * cell, cell * model.keys.length, cell);
  if (key !== null) context.strokeRect(left + key * cell, top, cell, cell * model.queries.length);
}

// Whole pixels of the screen, where a cell has one: then all cells are alike.
export function wholePixels(cell) {
  return cell * devicePixelRatio >= 1 ? Math.floor(cell * devicePixelRatio) / devicePixelRatio : cell;
}
