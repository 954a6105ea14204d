// The files of a model: fetched with progress, unpacked, of the version that the manifest names; and the weights that they hold.

// What a person can do something about: the message is one clear sentence.

export class ModelError extends Error {
  name = "ModelError";
}

// Memory that nobody needs any more.

/**
 * Give memory back at once: to find out that nobody has it takes a browser until there are tens of megabytes of it.
 * @param {{ buffer: ArrayBufferLike }} numbers
 */
export function forget({ buffer }) {
  if (buffer instanceof ArrayBuffer && !buffer.detached) buffer.transfer?.(0);
}

/** @import { File } from "./types.d.ts" */

// Bytes that are unpacked before the next ones are.
const AT_ONCE = 1 << 18;

/** Where files are fetched, and how many bytes have come. */
export class Source {
  /**
   * @param {string} base the folder of all models
   * @param {(url: string) => Promise<Response>} get
   * @param {import("./types.d.ts").Progress} onProgress
   */
  constructor(base, get, onProgress) {
    this.base = base.endsWith("/") ? base : `${base}/`;
    this.get = get;
    this.onProgress = onProgress;
    this.received = 0;
    this.total = 0;
  }

  /**
   * Fetch files at the same time, unpacked.
   * @param {File[]} files
   * @param {string} [what] they are, to a person
   * @returns {Promise<Uint8Array<ArrayBuffer>[]>}
   */
  async all(files, what = "The model") {
    this.total += files.reduce((sum, { bytes }) => sum + bytes, 0);
    this.onProgress(this.received, this.total);
    return Promise.all(files.map((file) => this.one(file, what)));
  }

  /**
   * @param {File} file
   * @param {string} what
   */
  async one(file, what) {
    const content = await this.download(file, what);
    // A server that says that a file is compressed has had the browser unpack it.
    const isPacked = content[0] === 0x1f && content[1] === 0x8b;
    const isRight = isPacked ? content.length === file.bytes && (await isOf(content, file.sha256)) : content.length === file.size;
    if (!isRight) {
      await forgetFile(this.base + file.file);
      throw new ModelError(`${what} is of another version than this page: reload the page.`);
    }
    return isPacked ? unpacked(content, file.size) : content;
  }

  /**
   * @param {File} file
   * @param {string} what
   */
  async download({ file, bytes, size }, what) {
    const response = await this.get(this.base + file).catch(() => null);
    if (response?.status === 404) throw new ModelError(`${what} is no longer on the server: reload the page, for the site may have been published anew.`);
    if (!response?.ok || !response.body) {
      throw new ModelError(`${what} could not be fetched: check the connection, and press Run again.`);
    }
    let before = 0;
    const onBytes = (/** @type {number} */ more) => void (before = this.count(before, more, bytes));
    return collected(response.body, bytes, size, onBytes).catch(() => {
      throw new ModelError(`${what} came only in part: press Run again.`);
    });
  }

  /**
   * Count bytes that have come of a file, never more than it has.
   * @param {number} before
   * @param {number} more
   * @param {number} bytes
   */
  count(before, more, bytes) {
    const now = Math.min(before + more, bytes);
    this.received += now - before;
    this.onProgress(this.received, this.total);
    return now;
  }
}

/**
 * Put the parts of a stream in one place as they come: parts that wait would take the memory of the whole again.
 * @param {ReadableStream<Uint8Array>} stream
 * @param {number} expected size
 * @param {number} other size that it may have
 * @param {(count: number) => void} [onBytes]
 */
async function collected(stream, expected, other, onBytes = () => {}) {
  let content = new Uint8Array(expected);
  let length = 0;
  for (const reader = stream.getReader(); ; ) {
    const { done, value } = await reader.read();
    if (done) return length === content.length ? content : content.slice(0, length);
    if (length + value.length > content.length) {
      const larger = new Uint8Array(Math.max(other, length + value.length));
      larger.set(content.subarray(0, length));
      content = larger;
    }
    content.set(value, length);
    length += value.length;
    onBytes(value.length);
  }
}

/**
 * @param {Uint8Array<ArrayBuffer>} content compressed, which is let go of
 * @param {number} size
 */
async function unpacked(content, size) {
  const { readable, writable } = new DecompressionStream("gzip");
  const [whole] = await Promise.all([collected(readable, size, size), written(writable.getWriter(), content)]);
  forget(content);
  return whole;
}

/**
 * @param {WritableStreamDefaultWriter<Uint8Array<ArrayBuffer>>} writer
 * @param {Uint8Array<ArrayBuffer>} content
 */
async function written(writer, content) {
  for (let at = 0; at < content.length; at += AT_ONCE) await writer.write(content.subarray(at, at + AT_ONCE));
  await writer.close();
}

/**
 * @param {Uint8Array<ArrayBuffer>} content
 * @param {string} sha256
 */
async function isOf(content, sha256) {
  // Pages that came over an unsafe connection have no checksums.
  if (!globalThis.crypto?.subtle) return true;
  const digest = new Uint8Array(await crypto.subtle.digest("SHA-256", content));
  return [...digest].map((byte) => byte.toString(16).padStart(2, "0")).join("") === sha256;
}

/**
 * Whether the browser keeps a file, of this visit or one before.
 * @param {string} url
 */
export async function isKept(url) {
  return Boolean(await globalThis.caches?.match(url).catch(() => undefined));
}

/**
 * A file that is not the right one is not kept: the next visit fetches it again.
 * @param {string} url
 */
async function forgetFile(url) {
  for (const name of (await globalThis.caches?.keys().catch(() => [])) ?? []) await (await caches.open(name)).delete(url);
}

// Weights out of safetensors files: a matrix as integers with one power of two a row, as blocks of a GGUF file, or numbers in half precision.

/**
 * @typedef {{ dtype: string, shape: number[], data: Uint8Array<ArrayBuffer>, exponents?: Int8Array, blocks?: keyof typeof BLOCKS }} Stored
 *   blocks: of which type its blocks are; then a row of `shape` is so many bytes
 */

const EXPONENTS = ".exponents";
// Of a block of 32 numbers: its bytes. It begins with a scale in half precision, with 4 bits a number followed by the least number.
const BLOCKS = { q8_0: 34, q4_1: 20 };
const NUMBERS = 32;

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
    const end = name.slice(name.lastIndexOf(".") + 1);
    const blocks = end in BLOCKS ? /** @type {keyof typeof BLOCKS} */ (end) : undefined;
    const own = blocks ? name.slice(0, -end.length - 1) : name;
    stored.set(own, { dtype, shape, data: content.subarray(8 + length + start, 8 + length + stop), blocks });
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
  if (stored.blocks) {
    restoreBlocks(data, stored.blocks, target);
  } else if (stored.exponents) {
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

/**
 * Write the numbers of blocks: of 4 bits scale · q + the least one, the first half of a block in the lower bits; of 8 bits scale · q.
 * @param {Uint8Array<ArrayBuffer>} data
 * @param {keyof typeof BLOCKS} kind
 * @param {Float32Array} target
 */
export function restoreBlocks(data, kind, target) {
  const size = BLOCKS[kind];
  for (let from = 0, to = 0; from < data.length; from += size, to += NUMBERS) {
    const scale = half(data[from] | (data[from + 1] << 8));
    if (kind === "q8_0") {
      for (let at = 0; at < NUMBERS; at += 1) target[to + at] = ((data[from + 2 + at] << 24) >> 24) * scale;
      continue;
    }
    const least = half(data[from + 2] | (data[from + 3] << 8));
    for (let at = 0; at < NUMBERS / 2; at += 1) {
      const both = data[from + 4 + at];
      target[to + at] = (both & 15) * scale + least;
      target[to + NUMBERS / 2 + at] = (both >> 4) * scale + least;
    }
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

// Vectors of words, of which a file holds some rows: it is fetched when a text needs one of them.

const WORDS = "The part of the model that knows some words of this text";

export class WordVectors {
  /**
   * @param {import("./types.d.ts").RowFiles} meta
   * @param {Source} source
   */
  constructor(meta, source) {
    this.meta = meta;
    this.source = source;
    /** @type {Map<number, Promise<Stored>>} */
    this.files = new Map();
  }

  /**
   * Look up the vectors of tokens, one behind the other.
   * @param {number[]} ids
   */
  async of(ids) {
    const { width, rows_per_file } = this.meta;
    const files = await this.fetched([...new Set(ids.map((id) => Math.floor(id / rows_per_file)))]);
    const vectors = new Float32Array(ids.length * width);
    ids.forEach((id, place) => {
      const stored = /** @type {Stored} */ (files.get(Math.floor(id / rows_per_file)));
      restoreRow(stored, id % rows_per_file, vectors.subarray(place * width));
    });
    return vectors;
  }

  /** Count the bytes of all that is neither here nor kept by the browser. */
  async left() {
    const left = this.meta.files.map(async ({ file, bytes }, number) => (this.files.has(number) || (await isKept(this.source.base + file)) ? 0 : bytes));
    return (await Promise.all(left)).reduce((sum, bytes) => sum + bytes, 0);
  }

  /** Fetch all that is not there yet. */
  async complete() {
    // One after the other: what a person runs meanwhile comes first.
    for (const number of this.meta.files.keys()) await this.fetched([number]);
  }

  /**
   * @param {number[]} numbers of files
   * @returns {Promise<Map<number, Stored>>}
   */
  async fetched(numbers) {
    const missing = numbers.filter((number) => !this.files.has(number));
    const contents = missing.length ? this.source.all(missing.map((number) => this.meta.files[number]), WORDS) : Promise.resolve([]);
    missing.forEach((number, place) => {
      const file = contents.then((all) => /** @type {Stored} */ (storedWeights(all[place]).get("rows")));
      // What failed is fetched again by the next run.
      file.catch(() => this.files.delete(number));
      this.files.set(number, file);
    });
    const rows = await Promise.all(numbers.map(async (number) => /** @type {const} */ ([number, await this.files.get(number)])));
    return /** @type {Map<number, Stored>} */ (new Map(rows));
  }
}
