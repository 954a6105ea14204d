// Rounding that adds up, as attnviz/analysis/compute/steps.py does it: numbers are counted in units of their last shown digit.

import { significant } from "../number_text.js";

export const MINUS = "−";
const UNITS = 100;

/** A half goes to the even number, as in Python. @param {number} value */
export function roundEven(value) {
  const low = Math.floor(value);
  const rest = value - low;
  return rest > 0.5 || (rest === 0.5 && low % 2) ? low + 1 : low;
}

/** @param {number} value */
export const unitsOf100 = (value) => roundEven(value * UNITS);

/** @param {number} count */
export const spelled = (count) => (count / UNITS).toFixed(2).replace("-", MINUS);

/** @param {number} value */
export const numberText = (value) => spelled(unitsOf100(value));

/** Rounds values so that they add up to their rounded sum: the largest remainders get the units that are missing. A zero stays a zero.
 * @param {number[]} values @param {{ total?: number, keep?: number }} [options] total: the sum as it is shown; keep: a value that is
 *   rounded as if it stood alone */
export function largestRemainder(values, { total = values.reduce((sum, value) => sum + value, 0), keep } = {}) {
  const exact = values.map((value) => value * UNITS);
  const counts = exact.map(Math.floor);
  const lost = exact.map((value, place) => value - counts[place]);
  let missing = unitsOf100(total) - counts.reduce((sum, count) => sum + count, 0);
  let order = exact.map((_, place) => place).sort((one, other) => lost[other] - lost[one] || one - other).filter((place) => exact[place]);
  if (keep !== undefined && order.includes(keep) && order.length > 1) {
    order = order.filter((place) => place !== keep);
    missing -= roundEven(exact[keep]) - counts[keep];
    counts[keep] = roundEven(exact[keep]);
  }
  const step = missing > 0 ? 1 : -1;
  for (let turn = 0; order.length && turn < Math.abs(missing); turn++) {
    const at = (step > 0 ? turn : order.length - 1 - turn) % order.length;
    counts[order[at < 0 ? at + order.length : at]] += step;
  }
  return counts;
}

/** Rounded terms as a sum. @param {number[]} counts */
export function summed([first, ...rest]) {
  return [spelled(first), ...rest.map((count) => `${count < 0 ? ` ${MINUS} ` : " + "}${spelled(Math.abs(count))}`)].join("");
}

/** @param {number} value */
export const eightDigits = (value) => significant(value, 8).replaceAll("-", MINUS);
