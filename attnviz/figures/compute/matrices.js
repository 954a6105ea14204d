// The matrices of a step, as an equation whose cells can be chosen.

import { make, typeset } from "./typeset.js";
import { asks, look, result, tone } from "./step_by_step.js";

/** @import { Cell, Matrix, Place, Step, Walk } from "./step_by_step.js" */

/** Rows one under the other: their columns meet, and there is room for large digits. @param {Step} step */
export const isStack = (step) => step.matrices.length > 1 && step.matrices.every((matrix) => matrix.rows.length === 1) && step.matrices[0].columns.length > 3;

// One row times a matrix: the row stands upright beside the rows that it weighs, and what they add up to below them.
/** @param {Step} step */
export const isMixed = (step) => step.matrices.length === 3 && step.signs[0] === "×" && step.matrices[0].rows.length === 1 && step.matrices[1].rows.length > 1;

/** @param {Walk} walk @param {Step} step @param {Set<string>} lit */
function mixed(walk, step, lit) {
  const [given, matrix, sum] = step.matrices;
  /** @param {HTMLElement} row @param {string} tone */
  const paint = (row, tone) => (row.style.setProperty("--tone", tone), row);
  /** @param {Matrix} each @param {number} index */
  const name = (each, index, options = {}) =>
    make("th", { className: "name", tone: tone(walk, step, index), ...options }, make("i", {}, ...typeset(each.label)), make("span", {}, each.shape));
  /** @param {Matrix} each @param {number} index @param {number} row @param {number} column */
  const cell = (each, index, row, column) => paint(square(walk, each, [row, column], each.cells[row][column], index === 2, lit), tone(walk, step, index));
  /** @param {string} text */
  const column = (text) => make("th", { className: /^\d/.test(text) ? "column" : "column word", title: text, dir: "auto" }, text);
  const rows = matrix.rows.map((text, row) => {
    const line = make("tr", {}, make("th", { className: "row", title: text, dir: "auto" }, text), cell(given, 0, 0, row));
    if (!row) line.append(make("th", { className: "sign", rowSpan: matrix.rows.length }, step.signs[0]));
    line.append(...matrix.columns.map((_, at) => cell(matrix, 1, row, at)));
    return line;
  });
  return make("table", { className: "mixed" },
    make("tr", {}, make("td"), name(given, 0), make("td"), name(matrix, 1, { colSpan: matrix.columns.length })),
    make("tr", {}, make("td"), column(given.rows[0]), make("td"), ...matrix.columns.map(column)),
    ...rows,
    make("tr", { className: "gap" }),
    make("tr", {}, make("td"), name(sum, 2), make("th", { className: "sign" }, step.signs[1]), ...sum.columns.map((_, at) => cell(sum, 2, 0, at))),
  );
}

/** @param {Walk} walk @param {Step} step */
export function equation(walk, step) {
  const place = make("div", { className: isStack(step) ? "equation stack" : "equation" });
  const chosen = result(walk).cells[walk.cell[0]]?.[walk.cell[1]]?.id;
  const lit = new Set(asks(walk) ? [] : walk.data.origins[chosen]?.from);
  if (isMixed(step)) {
    place.append(make("div", { className: "matrix" }, mixed(walk, step, lit)));
    return place;
  }
  step.matrices.forEach((matrix, index) => {
    if (index || isStack(step)) place.append(make("div", { className: "sign" }, index ? isStack(step) ? step.signs[index - 1].replace("→", "↓") : step.signs[index - 1] : ""));
    place.append(table(walk, matrix, index === step.matrices.length - 1, tone(walk, step, index), lit));
  });
  return place;
}

/** @param {Walk} walk @param {Matrix} matrix @param {boolean} isResult @param {string} colour @param {Set<string>} lit */
function table(walk, matrix, isResult, colour, lit) {
  const words = matrix.columns.map((name) => !/^\d/.test(name));
  const head = make("tr", {}, make("td"));
  matrix.columns.forEach((name, column) => head.append(make("th", { className: words[column] ? "column word" : "column", title: name, dir: "auto" }, name)));
  const body = matrix.rows.map((name, row) => {
    const line = make("tr", {}, make("th", { className: "row", title: name, dir: "auto" }, name));
    matrix.cells[row].forEach((cell, column) => line.append(square(walk, matrix, [row, column], cell, isResult, lit)));
    if (matrix.totals.length) line.append(make("td", { className: "total" }, `= ${matrix.totals[row]}`));
    return line;
  });
  const name = make("div", { className: "name" }, make("i", {}, ...typeset(matrix.label)), make("span", {}, matrix.shape));
  return make("div", { className: "matrix", tone: colour }, name, make("table", {}, head, ...body));
}

/**
 * @param {Walk} walk @param {Matrix} matrix @param {Place} place @param {Cell} cell @param {boolean} isResult
 * @param {Set<string>} lit
 */
function square(walk, matrix, [row, column], cell, isResult, lit) {
  const classes = [];
  const isHere = walk.cell[0] === row && (walk.cell[1] === column || (asks(walk) && walk.data.predict === "most"));
  const perBlock = matrix.columns.length / matrix.blocks;
  if (matrix.blocks > 1 && column && column % perBlock === 0) classes.push("block");
  if (cell.masked) classes.push("masked");
  if (isResult && asks(walk)) classes.push("hidden");
  if (lit.has(cell.id)) classes.push("from");
  if (isResult ? isHere && !walk.expanded : walk.expanded === cell.id) classes.push("chosen");
  const square = make("td", { className: classes.join(" "), title: cell.exact ?? "" }, cell.text);
  square.dataset.id = cell.id;
  if (cell.shade) Object.assign(square.style, { background: lit.has(cell.id) ? "" : cell.shade, color: cell.ink });
  square.onclick = () => {
    if (isResult) return look(walk, [row, column]);
    walk.expanded = cell.id;
    walk.draw();
    walk.tell();
  };
  return square;
}
