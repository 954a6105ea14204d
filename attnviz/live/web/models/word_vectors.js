// Vectors of words, of which a file holds some rows: it is fetched when a text needs one of them.

import { restoreRow, storedWeights } from "./weights.js";

/** @typedef {import("./weights.js").Stored} Stored */

export class WordVectors {
  /**
   * @param {import("./types.d.ts").RowFiles} meta
   * @param {import("./model_files.js").Source} source
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

  /** Count the bytes of all that is not there yet. */
  left() {
    return this.meta.files.reduce((sum, { bytes }, number) => sum + (this.files.has(number) ? 0 : bytes), 0);
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
    const contents = missing.length ? this.source.all(missing.map((number) => this.meta.files[number])) : Promise.resolve([]);
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
