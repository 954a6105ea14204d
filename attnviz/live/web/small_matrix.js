// A small matrix with its tokens beside it and a bar for its colours, as attnviz/figures/matrix.py draws it.

import { ARROWS, drawn, make } from "../../figures/drawing/elements.js";
import { Palette } from "../../figures/drawing/palette.js";
import { THEMES } from "../../figures/drawing/themes.js";
import { twoDigits } from "./labels.js";

// The colours that the reader's system asks for.

export const DARK = matchMedia("(prefers-color-scheme: dark)");

export const paletteNow = () => new Palette(THEMES[DARK.matches ? "dark" : "light"]);

/**
 * @typedef {{ rows: string[], columns: string[], weights: ArrayLike<number>, masked?: boolean[], ranks?: [row: number, column: number][] }} SmallMatrix
 *   ranks: the best cells, which are numbered
 * @typedef {{ number: string, isFull: boolean, selected?: [row: number, column: number], pick?: (row: number, column: number) => void }} MatrixLook
 *   number: what its numbers are; isFull: colours run from 0 to 1, not to the largest number
 */

const [MATRIX_SIZE, MATRIX_HEIGHT, LABEL_FONT] = [330, 400, 14];

/** @param {SmallMatrix} matrix @param {MatrixLook} look @returns {HTMLElement[]} the matrix, and a line that reads the selected cell */
export function smallMatrix(matrix, look) {
  const { number, isFull, selected } = look;
  const palette = paletteNow();
  const highest = isFull ? 1 : Math.max(...Array.from(matrix.weights), 1e-9);
  const stops = Array.from({ length: 9 }, (_, step) => palette.colour(step / 8));
  const bar = make("i", { style: `background:linear-gradient(90deg,${stops.join()})` });
  const caption = make("figcaption", {}, `${number} 0 `, bar, ` ${twoDigits(highest)}`);
  const picture = make("div", { class: "compared one", style: `--masked:${palette.theme.masked}` }, make("figure", {}, caption, cellsOf(matrix, look, (weight) => palette.colour(weight / highest))));
  if (!selected) return [picture];
  const [cell, value] = titleOf(matrix, ...selected);
  return [picture, make("p", { class: "reading", "aria-live": "polite" }, `${cell} · ${number} ${value}`)];
}

/** @param {SmallMatrix} matrix @param {number} row @param {number} column @returns {[cell: string, value: string]} */
function titleOf({ rows, columns, weights, masked }, row, column) {
  const at = row * columns.length + column;
  return [`${rows[row]} → ${columns[column]}`, masked?.[at] ? "masked" : weights[at].toFixed(4)];
}

/** @param {SmallMatrix} matrix @param {MatrixLook} look @param {(weight: number) => string} colour */
function cellsOf(matrix, { number, selected, pick }, colour) {
  const { rows, columns, weights, masked, ranks = [] } = matrix;
  const [left, top] = [rows, columns].map((names) => 12 + 7.5 * Math.max(...names.map((name) => Array.from(name).length)));
  const cell = Math.min(MATRIX_SIZE / Math.max(rows.length, columns.length), (MATRIX_HEIGHT - top) / rows.length);
  const [wide, high] = [left + columns.length * cell + 2, top + rows.length * cell + 2];
  const rectangles = Array.from(weights, (weight, at) => {
    const [row, column] = [Math.floor(at / columns.length), at % columns.length];
    const place = { x: (left + column * cell).toFixed(1), y: (top + row * cell).toFixed(1), width: (cell - 0.6).toFixed(1), height: (cell - 0.6).toFixed(1) };
    const rectangle = drawn("rect", { ...place, fill: masked?.[at] ? "var(--masked)" : colour(weight) }, drawn("title", {}, titleOf(matrix, row, column).join(": ")));
    if (selected?.[0] === row && selected[1] === column) rectangle.setAttribute("class", "read selected");
    if (pick) rectangle.setAttribute("data-pick", `${row}.${column}`);
    return rectangle;
  });
  const outlines = selected ? [boxPath(left, top + selected[0] * cell, columns.length * cell, cell), boxPath(left + selected[1] * cell, top, cell, rows.length * cell)] : [];
  const numbers = ranks.map(([row, column], rank) => {
    const ink = paletteNow().ink(colour(weights[row * columns.length + column]));
    const text = drawn("text", { class: "rank", x: (left + (column + 0.5) * cell).toFixed(1), y: (top + (row + 0.5) * cell + 5).toFixed(1) }, String(rank + 1));
    text.style.fill = ink;
    return text;
  });
  const attributes = { class: "cells", tabindex: "0", role: "application", "aria-label": `${number}: weights`, preserveAspectRatio: "xMinYMin", viewBox: `0 0 ${wide.toFixed(1)} ${high.toFixed(1)}` };
  const svg = drawn("svg", attributes, ...rectangles, ...outlines, ...numbers, ...labelsOf(matrix, selected, { left, top, cell }));
  svg.style.setProperty("--natural", `${wide.toFixed(0)}px`);
  if (pick) listenToCells(svg, [rows.length, columns.length], selected ?? [0, 0], pick);
  return svg;
}

/** @param {SVGElement} svg @param {[number, number]} size @param {[number, number]} selected @param {(row: number, column: number) => void} pick */
function listenToCells(svg, [rows, columns], [row, column], pick) {
  svg.addEventListener("click", ({ target }) => {
    const picked = /** @type {Element} */ (target).closest("[data-pick]")?.getAttribute("data-pick");
    if (picked) pick(...(/** @type {[number, number]} */ (picked.split(".").map(Number))));
  });
  svg.addEventListener("keydown", (event) => {
    const step = ARROWS[event.key];
    if (!step) return;
    event.preventDefault();
    pick(Math.min(Math.max(row + step[0], 0), rows - 1), Math.min(Math.max(column + step[1], 0), columns - 1));
  });
}

/** @param {SmallMatrix} matrix @param {[number, number] | undefined} selected @param {{ left: number, top: number, cell: number }} room */
function labelsOf({ rows, columns }, selected, { left, top, cell }) {
  const down = labelled(rows.length, selected?.[0], cell).map((at) => {
    const kind = at === selected?.[0] ? "row chosen" : "row";
    return drawn("text", { x: (left - 5).toFixed(1), y: (top + (at + 0.5) * cell + 5).toFixed(1), class: kind }, rows[at]);
  });
  const across = labelled(columns.length, selected?.[1], cell).map((at) => {
    const [x, y] = [(left + (at + 0.5) * cell + 5).toFixed(1), (top - 5).toFixed(1)];
    return drawn("text", { x, y, transform: `rotate(-90 ${x} ${y})`, ...(at === selected?.[1] ? { class: "chosen" } : {}) }, columns[at]);
  });
  return [...down, ...across];
}

/** The places whose labels are written: so far apart that none touches another. @param {number} count @param {number | undefined} selected @param {number} cell */
function labelled(count, selected, cell) {
  const step = Math.max(1, Math.ceil((1.15 * LABEL_FONT) / cell));
  const places = Array.from({ length: Math.ceil(count / step) }, (_, at) => at * step);
  return selected === undefined ? places : [...places.filter((at) => Math.abs(at - selected) >= step), selected];
}

/** @param {number} x @param {number} y @param {number} width @param {number} height */
const boxPath = (x, y, width, height) => drawn("path", { class: "outline", d: `M${x.toFixed(1)} ${y.toFixed(1)}h${width.toFixed(1)}v${height.toFixed(1)}h${(-width).toFixed(1)}Z` });
