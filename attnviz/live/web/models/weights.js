// Weights out of safetensors files: a matrix as integers with one power of two a row, or numbers in half precision.

/** @typedef {{ dtype: string, shape: number[], data: Uint8Array<ArrayBuffer>, exponents?: Int8Array }} Stored */

const EXPONENTS = ".exponents";

/**
 * List the weights of a file by name; a matrix has its exponents beside it.
 * @param {Uint8Array<ArrayBuffer>} content
 * @returns {Map<string, Stored>}
 */
export function storedWeights(content) {
  const length = Number(new DataView(content.buffer, content.byteOffset).getBigUint64(0, true));
  const header = JSON.parse(new TextDecoder().decode(content.subarray(8, 8 + length)));
  /** @type {Map<string, Stored>} */
  const stored = new Map();
  for (const [name, { dtype, shape, data_offsets }] of Object.entries(header)) {
    if (name === "__metadata__") continue;
    const [start, stop] = data_offsets;
    stored.set(name, { dtype, shape, data: content.subarray(8 + length + start, 8 + length + stop) });
  }
  for (const [name, { data }] of stored) {
    const matrix = name.endsWith(EXPONENTS) && stored.get(name.slice(0, -EXPONENTS.length));
    if (matrix) matrix.exponents = new Int8Array(data.buffer, data.byteOffset, data.length);
  }
  return stored;
}

/**
 * Write a tensor as float32.
 * @param {Stored} stored
 * @param {Float32Array} target as long as the tensor
 */
export function restore(stored, target) {
  const { dtype, shape, data } = stored;
  if (stored.exponents) {
    const [, rows, width] = shape;
    for (let row = 0; row < rows; row += 1) restoreRow(stored, row, target.subarray(row * width));
  } else if (dtype === "F32") {
    new Uint8Array(target.buffer, target.byteOffset, data.length).set(data);
  } else {
    // Bytes in two planes, the high ones first, or side by side.
    const [high, low, step] = dtype === "U8" ? [0, data.length / 2, 1] : [1, 0, 2];
    for (let at = 0; at < data.length / 2; at += 1) target[at] = half((data[high + at * step] << 8) | data[low + at * step]);
  }
}

/**
 * Write one row of a matrix: integer · 2^exponent.
 * @param {Stored} stored the highest bytes of all integers, then the lower
 * @param {number} row
 * @param {Float32Array} target
 */
export function restoreRow({ shape, data, exponents }, row, target) {
  const [planes, rows, width] = shape;
  const step = 2 ** /** @type {Int8Array} */ (exponents)[row];
  for (let column = 0; column < width; column += 1) {
    const at = row * width + column;
    let integer = (data[at] << 24) >> 24;
    for (let plane = 1; plane < planes; plane += 1) integer = integer * 256 + data[plane * rows * width + at];
    target[column] = integer * step;
  }
}

/** @param {number} bits of a number in half precision */
function half(bits) {
  const sign = bits & 0x8000 ? -1 : 1;
  const exponent = (bits >> 10) & 31;
  const fraction = bits & 1023;
  if (exponent === 0) return sign * fraction * 2 ** -24;
  return exponent === 31 ? (fraction ? NaN : sign * Infinity) : sign * (1024 + fraction) * 2 ** (exponent - 25);
}
