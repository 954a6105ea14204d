// How numbers are written.

// Numbers as attnviz writes them everywhere.

/** A number as Python writes it: one that lies exactly in the middle goes to the even digit.
 * @param {number} value @param {number} digits */
export function decimals(value, digits) {
  if (!Number.isFinite(value)) return nonFinite(value);
  const [sign, size] = [value < 0 || Object.is(value, -0) ? "-" : "", Math.abs(value)];
  // From here on toFixed writes a power of ten.
  if (size >= 1e21) return `${sign}${BigInt(size)}${digits ? `.${"0".repeat(digits)}` : ""}`;
  const scaled = size * 10 ** digits;
  const low = Math.floor(scaled);
  // Only a number of so few binary digits can be a half of the last decimal one.
  const isHalf = scaled - low === 0.5 && Number.isInteger(size * 2 ** (digits + 1));
  return sign + (isHalf && low % 2 === 0 ? low / 10 ** digits : size).toFixed(digits);
}

/** @param {number} value */
const nonFinite = (value) => String(value).replace("Infinity", "inf").replace("NaN", "nan");

/** A number with a true minus sign, and what is rounded to nothing without one, as attnviz/analysis/wording.py writes it.
 * @param {number} value @param {number} [digits] */
export const signed = (value, digits = 2) => decimals(value, digits).replace(/^-(?=[0.]+$)/, "").replace("-", MINUS).replace("inf", "∞");

/** A number with so many digits, as Python's format "g" writes it, but nothing without a sign. @param {number} value @param {number} digits */
export function significant(value, digits) {
  if (value === 0) return "0";
  if (!Number.isFinite(value)) return nonFinite(value);
  const longer = value.toExponential(digits);
  const [more, place] = longer.split("e");
  // Only a number of so few binary digits can lie in the middle: then it goes to the even digit.
  const isHalf = more.endsWith("5") && Number(longer) === value && Number.isInteger(value * 2 ** (digits - Number(place)));
  const [scaled, power] = isHalf && /[02468]\.?5$/.test(more) ? [more.slice(0, -1), place] : value.toExponential(digits - 1).split("e");
  const exponent = Number(power);
  if (exponent >= -4 && exponent < digits) return String(Number(`${scaled}e${power}`));
  return `${Number(scaled)}e${power[0]}${power.slice(1).padStart(2, "0")}`;
}

/** A whole number as an exponent. @param {number} number */
export const raised = (number) => String(number).replace("-", "⁻").replace(/\d/g, (digit) => "⁰¹²³⁴⁵⁶⁷⁸⁹"[Number(digit)]);

/** A small number as a digit and a power of ten, as attnviz/analysis/wording.py writes it. @param {number} value */
export function powerOfTen(value) {
  const [digit, exponent] = value.toExponential(0).split("e");
  return value ? `${digit} × 10${raised(Number(exponent))}` : "0";
}

/** A number of 0 or more with two digits, a very small one as a power of ten. @param {number} value */
export const twoDigits = (value) => (value < 0.001 ? powerOfTen(value) : significant(value, 2));

// Rounding that adds up, by largest remainders (Hamilton): numbers are counted in units of their last shown digit.

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
export const eightDigits = (value) => significant(value, 8).replaceAll("-", MINUS).replace("inf", "∞");

// Shares and counts in words, as attnviz/analysis/wording.py writes them.

/** A share in whole percent. @param {number} share */
export const wholePercent = (share) => `${String(Math.round(100 * share)).replace("-", MINUS)}\u00A0%`;

/** The same, but never none or all of it where that is not so. @param {number} share */
export function percent(share) {
  if (share >= 0.995 && share < 0.9995) return "over 99\u00A0%";
  return share > 0 && share < 0.005 ? "under 1\u00A0%" : wholePercent(share);
}

/** A weight of a cell that can be looked at: one that has no digit left of those that travel is some all the same. @param {number} weight */
export const percentVisible = (weight) => percent(weight || Number.MIN_VALUE);

/** A whole number as it is read: 12,345. @param {number} value */
export const grouped = (value) => value.toLocaleString("en");

/** A number with its noun, as attnviz/analysis/wording.py writes it. @param {number} number @param {string} one @param {string} [several] */
export const counted = (number, one, several = `${one}s`) => `${grouped(number)} ${number === 1 ? one : several}`;
