// The encoder that is shown: a text, or a pair, and the weights of every head.

import { checked, encode } from "./bert_tokens.js";
import { layersOf } from "./session.js";

/**
 * @typedef {import("./model.js").Loaded} Loaded
 * @typedef {import("./types.d.ts").Request} Request
 */

export class Encoder {
  /** @param {Loaded} loaded */
  constructor({ manifest, passes, tokenizers, vectors }) {
    this.card = manifest.card;
    this.pass = passes.encode;
    this.tokenizer = tokenizers.text;
    this.vectors = /** @type {import("./rows.js").WordVectors} */ (vectors);
  }

  /**
   * @param {Request} request
   * @returns {Promise<import("./model.js").Outcome>}
   */
  async trace({ text, pair }) {
    const read = checked(encode(this.tokenizer, pair ? [text, pair] : [text], this.card.max_tokens));
    const outputs = await this.pass.run(await inputsOf(read, this.vectors));
    const { n_layers: layers, n_heads: heads } = this.card;
    const weights = layersOf(outputs, "encoder");
    const map = { kind: /** @type {const} */ ("encoder"), queries: read.tokens, keys: read.tokens, layers, heads, causal: false, weights };
    return { maps: [map], cuts: read.cuts };
  }
}

/**
 * What the layers of an encoder read.
 * @param {{ ids: number[], segments: number[] }} read
 * @param {import("./rows.js").WordVectors} vectors
 * @returns {Promise<Record<string, import("./session.js").Given>>}
 */
export async function inputsOf({ ids, segments }, vectors) {
  return {
    vectors: { data: await vectors.of(ids), dims: [1, ids.length, vectors.meta.width] },
    segments: { data: Int32Array.from(segments), dims: [1, ids.length] },
  };
}
