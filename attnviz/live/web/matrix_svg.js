// A head as a drawing for paper: its tokens beside it and above it, each cell with its weight.

import { THEMES } from "../../figures/drawing/themes.js";
import { endOf } from "../../figures/explorer/colour_limit.js";
import { endsOf } from "./colour_ends.js";
import { visibleText } from "./written.js";

/** @import { Table } from "./downloads.js" */

const CELL = 20;
const [LABEL_SIZE, LETTER_WIDTH] = [14, 7.6];
const [BAR_LENGTH, BAR_HEIGHT, BAR_ROOM, BAR_STEPS] = [112, 8, 52, 28];

/** @param {Table} table @param {string} title @param {boolean} isFull whether colours run from 0 to 1, not to the largest weight */
export function drawMatrix(table, title, isFull) {
  const { weights, queries, keys, masked } = table;
  const [end, highest] = endsOf(table, isFull);
  const { light } = THEMES;
  const [rows, columns] = [queries, keys].map((tokens) => tokens.map(({ text }) => visibleText(text)));
  const [left, top] = [widest(rows) + 14, widest(columns) + 14];
  const said = endOf(end, highest);
  const width = Math.max(keys.length * CELL, BAR_LENGTH + 60, said.length * LETTER_WIDTH + 30);
  const size = [left + width + 8, top + queries.length * CELL + BAR_ROOM];
  const cells = Array.from(weights, (weight, cell) => {
    const [row, column] = [Math.floor(cell / keys.length), cell % keys.length];
    const fill = masked[cell] ? light.masked : colourOf(light.scale, weight / end);
    const told = `${rows[row]} → ${columns[column]}: ${masked[cell] ? "masked" : weight.toFixed(4)}`;
    const place = `x="${left + column * CELL}" y="${top + row * CELL}" width="${CELL - 1}" height="${CELL - 1}"`;
    return `<rect ${place} fill="${fill}"><title>${escaped(told)}</title></rect>`;
  });
  const down = rows.map((text, row) => `<text x="${left - 6}" y="${top + row * CELL + 14}" text-anchor="end">${escaped(text)}</text>`);
  const across = columns.map((text, column) => {
    const [x, y] = [left + column * CELL + 14, top - 6];
    return `<text x="${x}" y="${y}" transform="rotate(-90 ${x} ${y})">${escaped(text)}</text>`;
  });
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" width="${size[0]}" height="${size[1]}" viewBox="0 0 ${size.join(" ")}" font-family="sans-serif" font-size="${LABEL_SIZE}">`,
    `<title>${escaped(title)}</title><rect width="100%" height="100%" fill="#ffffff"/>`,
    ...cells,
    ...down,
    ...across,
    ...legend(left, size[1] - BAR_ROOM + 12, said, end < highest),
    "</svg>",
  ].join("\n");
}

/** The colours, and the weights of the first and the last. @param {number} left @param {number} top @param {string} said @param {boolean} isCut whether larger weights have the last */
function legend(left, top, said, isCut) {
  const step = BAR_LENGTH / BAR_STEPS;
  const bar = Array.from({ length: BAR_STEPS }, (_, at) => {
    return `<rect x="${left + at * step}" y="${top}" width="${step + 0.3}" height="${BAR_HEIGHT}" fill="${colourOf(THEMES.light.scale, at / (BAR_STEPS - 1))}"/>`;
  });
  const below = top + BAR_HEIGHT + 18;
  const last = isCut ? `x="${left + 24}"` : `x="${left + BAR_LENGTH}" text-anchor="end"`;
  return [...bar, `<text x="${left}" y="${below}">0</text>`, `<text ${last} y="${below}">${said}</text>`, `<text x="${left + BAR_LENGTH + 8}" y="${top + BAR_HEIGHT}">weight</text>`];
}

/** @param {string[]} texts */
const widest = (texts) => Math.max(...texts.map((text) => Array.from(text).length)) * LETTER_WIDTH;

/** The colour of a weight: the scale is 256 colours in hexadecimal digits. @param {string} scale @param {number} weight */
function colourOf(scale, weight) {
  const at = Math.round(Math.min(Math.max(weight, 0), 1) * 255);
  return `#${scale.slice(6 * at, 6 * at + 6)}`;
}

/** @param {string} text */
export function escaped(text) {
  const named = text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;").replaceAll('"', "&quot;");
  // Neither in XML nor in HTML is there another control character.
  return named.replace(/[^\P{Cc}\t\n]|[\ufffe\uffff]/gu, "");
}
