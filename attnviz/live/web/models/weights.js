// Weights out of safetensors files: a matrix as 16-bit integers with one power of two a row, or floats.

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
export function restore({ dtype, shape, data, exponents }, target) {
  if (exponents) {
    const [, rows, width] = shape;
    for (let row = 0; row < rows; row += 1) restoreRow(data, exponents, width, row, target.subarray(row * width));
  } else if (dtype === "F32") {
    new Uint8Array(target.buffer, target.byteOffset, data.length).set(data);
  } else {
    const view = new DataView(data.buffer, data.byteOffset, data.length);
    for (let at = 0; at < data.length / 2; at += 1) target[at] = half(view.getUint16(2 * at, true));
  }
}

/**
 * Write one row of a matrix: (256 · high + low) · 2^exponent.
 * @param {Uint8Array} data the high bytes of all numbers, then the low ones
 * @param {Int8Array} exponents
 * @param {number} width
 * @param {number} row
 * @param {Float32Array} target
 */
export function restoreRow(data, exponents, width, row, target) {
  const step = 2 ** exponents[row];
  const half = data.length / 2;
  for (let column = 0; column < width; column += 1) {
    const at = row * width + column;
    target[column] = (((data[at] << 24) >> 16) + data[half + at]) * step;
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
