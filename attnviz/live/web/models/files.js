// The files of a model: fetched with progress, unpacked, and those of the version that the manifest names.

import { ModelError } from "./errors.js";

/** @typedef {import("./types.d.ts").File} File */

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
   * @returns {Promise<Uint8Array<ArrayBuffer>[]>}
   */
  async all(files) {
    this.total += files.reduce((sum, { bytes }) => sum + bytes, 0);
    this.onProgress(this.received, this.total);
    return Promise.all(files.map((file) => this.one(file)));
  }

  /** @param {File} file */
  async one(file) {
    const content = await this.download(file);
    // A server that says that a file is compressed has had the browser unpack it.
    const isPacked = content[0] === 0x1f && content[1] === 0x8b;
    const isRight = isPacked ? content.length === file.bytes && (await isOf(content, file.sha256)) : content.length === file.size;
    if (!isRight) {
      await forget(this.base + file.file);
      throw new ModelError(`The file ${file.file} is of another version than this page: reload the page.`);
    }
    if (!isPacked) return content;
    const stream = new Blob([content]).stream().pipeThrough(new DecompressionStream("gzip"));
    return new Uint8Array(await new Response(stream).arrayBuffer());
  }

  /** @param {File} file */
  async download({ file, bytes }) {
    const response = await this.get(this.base + file).catch(() => null);
    if (!response?.ok || !response.body) {
      throw new ModelError(`The file ${file} could not be fetched: check the connection and run again.`);
    }
    const parts = [];
    let before = 0;
    try {
      for (const reader = response.body.getReader(); ; ) {
        const { done, value } = await reader.read();
        if (done) break;
        parts.push(value);
        before = this.count(before, value.length, bytes);
      }
    } catch {
      throw new ModelError(`The download of ${file} broke off: run again.`);
    }
    return joined(parts);
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

/** @param {Uint8Array<ArrayBuffer>[]} parts */
function joined(parts) {
  const whole = new Uint8Array(parts.reduce((sum, { length }) => sum + length, 0));
  let at = 0;
  for (const part of parts) {
    whole.set(part, at);
    at += part.length;
  }
  return whole;
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
 * A file that is not the right one is not kept: the next visit fetches it again.
 * @param {string} url
 */
async function forget(url) {
  for (const name of (await globalThis.caches?.keys().catch(() => [])) ?? []) await (await caches.open(name)).delete(url);
}
