// Long vectors on a page, as attnviz/analysis/compute/dot_product.py shows them: the largest numbers, and how many others there are.

import { bySize, placeIn, quotedCell, writtenDot } from "./matrix.js";
import { numberText } from "./rounding.js";

/** @import { CellOrigin, CellPlace, ComputationStep, KnownVector, LabelledMatrix } from "./matrix.js" */

const DOTS = "…";
// So many of a token's numbers are written out, each beside its row of the matrix.
const MOST_ROWS = 4;

// Some positions of a long axis, in their order; the others are counted.
export class Excerpt {
  /** @param {number[]} kept @param {number} length */
  constructor(kept, length) {
    this.kept = kept;
    this.length = length;
    this.rest = Array.from({ length }, (_, place) => place).filter((place) => !kept.includes(place));
  }

  /** The `most` largest, those of `always` among them; all, where there are no more than two too many.
   * @param {number[]} sizes @param {number} most @param {number[]} always */
  static of(sizes, most, always = []) {
    const order = bySize(sizes);
    if (order.length <= most + 2) return new Excerpt(order.sort((one, other) => one - other), order.length);
    const first = [...new Set([...always, ...order])].slice(0, most);
    return new Excerpt(first.sort((one, other) => one - other), order.length);
  }

  /** @param {string[]} [all] */
  names(all) {
    const names = this.kept.map((place) => all?.[place] ?? String(place));
    return this.rest.length ? [...names, `${this.rest.length.toLocaleString("en")} more`] : names;
  }

  /** @param {ArrayLike<number>} values */
  row(values) {
    return [...this.kept.map((place) => values[place]), ...(this.rest.length ? [NaN] : [])];
  }

  /** @param {ArrayLike<number>} values */
  texts(values) {
    return [...this.kept.map((place) => numberText(values[place])), ...(this.rest.length ? [DOTS] : [])];
  }

  /** All values, of which the first row of a matrix shows some. @param {LabelledMatrix} matrix @param {number[]} values @returns {KnownVector} */
  vector(matrix, values) {
    return { name: matrix.name, values, known: new Map(this.kept.map((place, column) => [place, [matrix.shown[0][column], placeIn(matrix, 0, column)]])) };
  }
}

/** @param {string} name @param {string} row @param {number[]} values @param {Excerpt} excerpt @param {string[]} [names] @returns {LabelledMatrix} */
export function excerptRow(name, row, values, excerpt, names) {
  const size = `1 × ${excerpt.length.toLocaleString("en")}`;
  return { name, values: [excerpt.row(values)], rows: [row], columns: excerpt.names(names), shown: [excerpt.texts(values)], size };
}

/** Some rows and columns of a large matrix, and the whole of each shown column. @param {string} name @param {number[][]} values
 * @param {Excerpt} down @param {Excerpt} across @param {string[]} [names] @returns {[LabelledMatrix, (at: number) => KnownVector]} */
export function excerptMatrix(name, values, down, across, names) {
  const [rows, shown] = [down.kept.map((place) => across.row(values[place])), down.kept.map((place) => across.texts(values[place]))];
  const columns = across.names();
  if (down.rest.length) {
    rows.push(columns.map(() => NaN));
    shown.push(columns.map(() => DOTS));
  }
  const size = `${down.length.toLocaleString("en")} × ${across.length.toLocaleString("en")}`;
  const matrix = { name, values: rows, rows: down.names(names), columns, shown, size };
  return [matrix, (at) => {
    const known = down.kept.map((place, row) => /** @type {[number, [string, CellPlace]]} */ ([place, [shown[row][at], placeIn(matrix, row, at)]]));
    return { name, values: values.map((row) => row[across.kept[at]]), known: new Map(known) };
  }];
}

/** x W + b of one token. @param {{ states: number[], weight: number[][], bias: number[] }} made weight: a row for each number that it makes
 * @param {[string, string]} names of x and W @param {LabelledMatrix} result @param {Excerpt} units that `result` shows
 * @param {Pick<ComputationStep, "symbol" | "title" | "formula" | "sentence">} caption @returns {ComputationStep} */
export function projectionStep({ states, weight, bias }, names, result, units, caption) {
  const sizes = states.map((state, place) => units.kept.reduce((sum, unit) => sum + Math.abs(state * weight[unit][place]), 0));
  const excerpt = Excerpt.of(sizes, MOST_ROWS);
  const left = excerptRow(names[0], result.rows[0], states, excerpt);
  const turned = states.map((_, place) => weight.map((row) => row[place]));
  const [table, down] = excerptMatrix(names[1], turned, excerpt, units);
  const across = excerpt.vector(left, states);
  const origins = new Map(units.kept.map((unit, column) => /** @type {[string, CellOrigin]} */ ([
    `0:${column}`, writtenDot(across, down(column), quotedCell(result, 0, column), bias[unit]),
  ])));
  return { ...caption, matrices: [left, table, result], signs: ["×", "="], origins, start: [0, 0] };
}
