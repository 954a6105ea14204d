// Numbers as attnviz writes them everywhere.

/** A number as Python writes it: one that lies exactly in the middle goes to the even digit.
 * @param {number} value @param {number} digits */
export function decimals(value, digits) {
  const scaled = value * 10 ** digits;
  const low = Math.floor(scaled);
  // Only a number of so few binary digits can be a half of the last decimal one.
  const isHalf = scaled - low === 0.5 && Number.isInteger(value * 2 ** (digits + 1));
  return isHalf && low % 2 === 0 ? (low / 10 ** digits).toFixed(digits) : value.toFixed(digits);
}

/** A number with so many digits, as Python's format "g" writes it. @param {number} value @param {number} digits */
export function significant(value, digits) {
  if (value === 0) return "0";
  const [scaled, power] = value.toExponential(digits - 1).split("e");
  const exponent = Number(power);
  if (exponent >= -4 && exponent < digits) return String(Number(value.toPrecision(digits)));
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
export const twoDigits = (value) => (value < 0.001 ? powerOfTen(value) : String(Number(value.toPrecision(2))));
