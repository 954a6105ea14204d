// Steps as attnviz/figures/compute/steps.js draws them, described as attnviz/figures/compute/steps.py does.

import { visibleText } from "../token_labels.js";
import { placeIn } from "./matrix.js";
import { eightDigits } from "./rounding.js";

/**
 * @import { CellPlace, ComputationStep, LabelledMatrix } from "./matrix.js"
 * @typedef {{ steps: any[], origins: Record<string, any> }} DescribedSteps  colours are given to them where they are drawn
 */

/** @param {CellPlace} place */
const idOf = (place) => place.join(":");

/** @param {ComputationStep[]} steps @returns {DescribedSteps} */
export function describeSteps(steps) {
  /** @type {Record<string, any>} */
  const origins = {};
  steps.forEach(({ matrices, origins: own }, step) => {
    for (const [at, { cells, sum }] of own) {
      const [row, column] = at.split(":").map(Number);
      origins[idOf(placeIn(matrices[matrices.length - 1], row, column))] = { step, from: cells.map(idOf), sum };
    }
  });
  const described = steps.map(({ symbol, title, formula, sentence, signs, start, matrices }) => {
    return { symbol, title, formula, sentence, signs, start, matrices: matrices.map(describeMatrix) };
  });
  return { steps: described, origins };
}

/** @param {LabelledMatrix} matrix */
function describeMatrix(matrix) {
  const { name, label = name, rows, columns, values, shown, totals = [], size, weights = false } = matrix;
  const cells = values.map((row, at) => row.map((value, column) => {
    const cell = { id: idOf(placeIn(matrix, at, column)), text: shown[at][column] };
    if (!Number.isFinite(value)) return cell;
    return { ...cell, exact: eightDigits(value), ...(weights ? { value } : {}) };
  }));
  return { name, label, shape: size, rows: rows.map(axisName), columns: columns.map(axisName), totals, blocks: 1, weights, cells };
}

/** @param {string} text */
const axisName = (text) => (text ? visibleText(text) : "");
