// Matrices drawn as SVG, side by side or alone: their tokens beside them, a title for every cell, what is chosen or edited marked. Whoever
// points at a cell, or goes there with the arrow keys, reads it: in all matrices that have the same two tokens.

import { clamp } from "./drawing/canvas.js";
import { ARROWS, drawn, isBrowsers, make } from "./drawing/elements.js";
import { mixedColour } from "./drawing/palette.js";

/**
 * @import { Palette } from "./drawing/palette.js"
 * @import { HeadEdits } from "./drawing/matrix_marks.js"
 * @typedef {[row: number, column: number]} Cell
 * @typedef {{ rows: string[], columns: string[], weights: ArrayLike<number>, masked?: boolean[] | null, ranks?: Cell[] }} NamedWeights  ranks:
 *   the best cells, which are numbered
 * @typedef {NamedWeights & { name: string, digits: number, highest: number, isSigned?: boolean, ends?: [before: string, after: string] | null,
 *   image?: string, selected?: Cell | null, edited?: HeadEdits, shared?: [rows: (number | null)[], columns: (number | null)[]] | null,
 *   longest?: [number, number] }} Matrix  highest: the number of the strongest colour; isSigned: numbers below 0 have the other colour; ends:
 *   what stands before and after the bar of the colours; image: its cells, where they are too many to point at; shared: the numbers of its
 *   rows and columns in all matrices; longest: so many letters the longest names have
 */

const [SIZE, HIGHEST, MATRIX_LABEL] = [330, 400, 14];
const NO_EDITS = { off: false, columns: [], cells: [] };

/** @param {Matrix[]} matrices @param {Palette} palette @param {{ hint?: string, pick?: ((row: number, column: number) => void) | null }} [options] hint: what
 * stands there before a cell is read @returns {HTMLElement[]} the matrices, and a line that reads a cell */
export function drawMatrices(matrices, palette, { hint = "", pick = null } = {}) {
  const reading = make("p.reading", { "aria-live": "polite" }, hint);
  const drawings = matrices.map((matrix) => svgOf(matrix, palette, Boolean(pick)));
  /** @type {Element[]} */
  let lit = [];
  /** @param {Matrix} own @param {Cell | null | undefined} cell */
  const read = (own, cell) => {
    if (!cell) return;
    for (const each of lit) each.classList.remove("read");
    const places = matrices.map((other) => (other === own ? cell : sameCell(own, cell, other)));
    lit = places.flatMap((place, at) => (place ? [drawings[at].cells[numberOf(matrices[at], place)]] : []));
    for (const each of lit) each.classList.add("read");
    const numbers = places.map((place, at) => (place ? ` · ${matrices[at].name} ${valueAt(matrices[at], place)}` : ""));
    reading.textContent = nameOf(own, cell) + numbers.join("");
  };
  for (const [at, { svg, cells }] of drawings.entries()) if (cells.length) listenToCells(svg, cells, matrices[at], read, pick);
  for (const matrix of matrices) read(matrix, matrix.image ? null : matrix.selected);
  const style = `--masked:${palette.theme.masked}`;
  const figures = drawings.map(({ svg }, at) => make("figure", {}, captionOf(matrices[at], palette), svg));
  return [make("div", { class: matrices.length === 1 ? "compared one" : "compared", style }, ...figures), reading];
}

/** @param {Matrix} matrix @param {Cell} cell */
const numberOf = ({ columns }, [row, column]) => row * columns.length + column;

/** @param {Matrix} own @param {Cell} cell @param {Matrix} other @returns {Cell | null} */
function sameCell({ shared: from }, [row, column], { shared: to }) {
  const numbers = [from?.[0][row] ?? null, from?.[1][column] ?? null];
  const [down, across] = numbers.map((number, side) => (number === null ? -1 : (to?.[side].indexOf(number) ?? -1)));
  return down < 0 || across < 0 ? null : [down, across];
}

/** @param {Matrix} matrix @param {Cell} cell */
const nameOf = ({ rows, columns }, [row, column]) => `${rows[row]} → ${columns[column]}`;

/** @param {Matrix} matrix @param {Cell} cell */
function valueAt(matrix, cell) {
  const at = numberOf(matrix, cell);
  if (matrix.masked?.[at]) return "masked";
  const number = matrix.weights[at].toFixed(matrix.digits);
  if (!matrix.isSigned) return number;
  return Number(number) < 0 ? number.replace("-", "−") : `+${number.replace("-", "")}`;
}

/** @param {Matrix} matrix @param {Palette} palette @returns {(share: number) => string} the colour of a share of the highest number */
const colouring = ({ isSigned }, palette) => {
  const { background, above, below } = palette.theme;
  return isSigned ? (share) => mixedColour(background, share < 0 ? below : above, Math.min(Math.abs(share), 1)) : (share) => palette.colour(share);
};

/** @param {Matrix} matrix @param {Palette} palette */
function captionOf(matrix, palette) {
  const { name, ends, isSigned } = matrix;
  if (!ends) return make("figcaption", {}, name);
  const stops = Array.from({ length: 9 }, (_, step) => colouring(matrix, palette)(isSigned ? (step - 4) / 4 : step / 8));
  return make("figcaption", {}, `${name} ${ends[0]} `, make("i", { style: `background:linear-gradient(90deg,${stops.join()})` }), ends[1] && ` ${ends[1]}`);
}

/** @typedef {{ left: number, top: number, cell: number }} Room  where the cells stand, squares of one size */

/** @param {Matrix} matrix @param {Palette} palette @param {boolean} isPicked */
function svgOf(matrix, palette, isPicked) {
  const { name, rows, columns, longest = [0, 0], image, masked } = matrix;
  const [left, top] = [rows, columns].map((names, side) => 12 + 7.5 * Math.max(longest[side], ...names.map((each) => Array.from(each).length)));
  const room = { left, top, cell: Math.min(SIZE / Math.max(rows.length, columns.length), (HIGHEST - top) / rows.length) };
  const [wide, high] = [left + columns.length * room.cell + 2, top + rows.length * room.cell + 2];
  const cells = image ? [] : cellsOf(matrix, palette, room, isPicked);
  const size = { x: fixed(left), y: fixed(top), width: fixed(wide - left - 2), height: fixed(high - top - 2) };
  // What is masked is the colour behind the image.
  const behind = image && masked ? [boxPath(room, "masked", 0, 0, rows.length, columns.length)] : [];
  const whole = image ? [...behind, drawn("image", { ...size, preserveAspectRatio: "none", style: "image-rendering:pixelated", href: image })] : cells;
  /** @type {Record<string, string>} */
  const kind = image ? { role: "img" } : { class: "cells", tabindex: "0", role: "application" };
  const attributes = { ...kind, "aria-label": `${name}: weights`, preserveAspectRatio: "xMinYMin", viewBox: `0 0 ${fixed(wide)} ${fixed(high)}` };
  const svg = drawn("svg", attributes, ...whole, ...marksOf(matrix, palette, room), ...labelsOf(matrix, room));
  svg.style.setProperty("--natural", `${wide.toFixed(0)}px`);
  return { svg, cells };
}

/** @param {number} place */
const fixed = (place) => place.toFixed(1);

/** @param {Matrix} matrix @param {Palette} palette @param {Room} room @param {boolean} isPicked */
function cellsOf(matrix, palette, { left, top, cell }, isPicked) {
  const { columns, weights, masked, selected, highest } = matrix;
  const [colour, side] = [colouring(matrix, palette), fixed(cell - 0.6)];
  return Array.from(weights, (weight, at) => {
    const [row, column] = [Math.floor(at / columns.length), at % columns.length];
    const isSelected = selected?.[0] === row && selected[1] === column;
    const attributes = { ...(isSelected && { class: "selected" }), ...(isPicked && { "data-pick": `${row}.${column}` }) };
    const place = { x: fixed(left + column * cell), y: fixed(top + row * cell), width: side, height: side };
    const title = `${nameOf(matrix, [row, column])}: ${valueAt(matrix, [row, column])}`;
    return drawn("rect", { ...place, ...attributes, fill: masked?.[at] ? "var(--masked)" : colour(weight / highest) }, drawn("title", {}, title));
  });
}

/** A cell has the keyboard as the matrix has it: that which was read last, or the first.
 * @param {SVGElement} svg @param {SVGElement[]} cells @param {Matrix} matrix @param {(own: Matrix, cell: Cell | null | undefined) => void} read
 * @param {((row: number, column: number) => void) | null} pick */
function listenToCells(svg, cells, matrix, read, pick) {
  const { rows, columns, selected } = matrix;
  /** @param {number} at @returns {Cell} */
  const cellAt = (at) => [Math.floor(at / columns.length), at % columns.length];
  /** @returns {Cell} */
  const cursor = () => cellAt(Math.max(cells.findIndex((each) => each.classList.contains("read")), 0));
  /** @param {Event} event @returns {Cell | null} */
  const pointed = ({ target }) => {
    const at = cells.findIndex((each) => each === /** @type {Element} */ (target).closest("rect"));
    return at < 0 ? null : cellAt(at);
  };
  svg.addEventListener("pointerover", (event) => read(matrix, pointed(event)));
  svg.addEventListener("focusin", () => read(matrix, cursor()));
  // Where a cell is chosen, that is read again as soon as no other is.
  for (const name of ["pointerleave", "focusout"]) svg.addEventListener(name, () => read(matrix, selected));
  svg.addEventListener("click", (event) => {
    const cell = pointed(event);
    if (cell) pick?.(...cell);
  });
  svg.addEventListener("keydown", (event) => {
    const step = ARROWS[event.key];
    const isPick = event.key === "Enter" || event.key === " ";
    if (isBrowsers(event) || (!step && !isPick)) return;
    event.preventDefault();
    const [row, column] = cursor();
    if (isPick) pick?.(row, column);
    else read(matrix, [clamp(row + step[0], 0, rows.length - 1), clamp(column + step[1], 0, columns.length - 1)]);
  });
}

/** What is switched off is faded, a cut link struck out, a typed weight ringed; the chosen cell outlined, the best ones numbered.
 * @param {Matrix} matrix @param {Palette} palette @param {Room} room */
function marksOf(matrix, palette, room) {
  const { rows, columns, weights, selected, ranks = [], edited = NO_EDITS, highest } = matrix;
  const { left, top, cell } = room;
  const faded = [...edited.columns, ...(edited.off ? columns.keys() : [])].map((column) => boxPath(room, "faded", 0, column, rows.length, 1));
  const cells = edited.cells.flatMap(([row, column, what]) => {
    if (what !== "cut") return [boxPath(room, "typed", row, column, 1, 1)];
    const [x, y] = [left + column * cell, top + row * cell];
    return [boxPath(room, "faded", row, column, 1, 1), drawn("path", { class: "cut", d: `M${fixed(x)} ${fixed(y + cell)}L${fixed(x + cell)} ${fixed(y)}` })];
  });
  const outlines = selected ? [boxPath(room, "outline", selected[0], 0, 1, columns.length), boxPath(room, "outline", 0, selected[1], rows.length, 1)] : [];
  const numbers = ranks.map(([row, column], rank) => {
    const text = drawn("text", { class: "rank", x: fixed(left + (column + 0.5) * cell), y: fixed(top + (row + 0.5) * cell + 5) }, String(rank + 1));
    text.style.fill = palette.ink(colouring(matrix, palette)(weights[row * columns.length + column] / highest));
    return text;
  });
  return [...faded, ...cells, ...outlines, ...numbers];
}

/** @param {Matrix} matrix @param {Room} room */
function labelsOf({ rows, columns, selected }, { left, top, cell }) {
  const down = labelledPlaces(rows.length, selected?.[0], cell).map((at) => {
    const kind = at === selected?.[0] ? "row chosen" : "row";
    return drawn("text", { x: fixed(left - 5), y: fixed(top + (at + 0.5) * cell + 5), class: kind }, rows[at]);
  });
  const across = labelledPlaces(columns.length, selected?.[1], cell).map((at) => {
    const [x, y] = [fixed(left + (at + 0.5) * cell + 5), fixed(top - 5)];
    return drawn("text", { x, y, transform: `rotate(-90 ${x} ${y})`, ...(at === selected?.[1] ? { class: "chosen" } : {}) }, columns[at]);
  });
  return [...down, ...across];
}

/** The places whose labels are written: so far apart that none touches another. @param {number} count @param {number | undefined} selected @param {number} cell */
function labelledPlaces(count, selected, cell) {
  const step = Math.max(1, Math.ceil((1.15 * MATRIX_LABEL) / cell));
  const places = Array.from({ length: Math.ceil(count / step) }, (_, at) => at * step);
  return selected === undefined ? places : [...places.filter((at) => Math.abs(at - selected) >= step), selected];
}

/** @param {Room} room @param {string} kind @param {number} row @param {number} column @param {number} rows @param {number} columns */
function boxPath({ left, top, cell }, kind, row, column, rows, columns) {
  const [x, y] = [left + column * cell, top + row * cell];
  return drawn("path", { class: kind, d: `M${fixed(x)} ${fixed(y)}H${fixed(x + columns * cell)}V${fixed(y + rows * cell)}H${fixed(x)}Z` });
}
