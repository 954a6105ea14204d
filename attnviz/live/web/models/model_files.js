// The files of a model: fetched with progress, unpacked, and those of the version that the manifest names.

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

/** @typedef {import("./types.d.ts").File} File */

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
