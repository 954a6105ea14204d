// The encoder that is shown: a text, or a pair, and the weights of every head; and what one of them was computed from.

import { checked, encode } from "./bert_tokens.js";
import { encoderWeights } from "./attention_weights.js";
import { restore, restoreRow } from "./model_files.js";

/**
 * @import { Loaded } from "./load_model.js"
 * @import { Request } from "./types.d.ts"
 */

export class Encoder {
  /** @param {Loaded} loaded */
  constructor({ manifest, passes, tokenizers, vectors, learned }) {
    this.learned = learned;
    this.card = manifest.card;
    this.pass = passes.encode;
    this.weigh = passes.weigh;
    this.tokenizer = tokenizers.text;
    this.vectors = /** @type {import("./model_files.js").WordVectors} */ (vectors);
  }

  /**
   * @param {Request} request
   * @returns {Promise<import("./load_model.js").Outcome>}
   */
  async trace({ text, pair }) {
    const read = checked(encode(this.tokenizer, pair ? [text, pair] : [text], this.card.max_tokens));
    const { n_layers: layers, n_heads: heads } = this.card;
    const names = this.pass.session.outputNames.filter((name) => !name.startsWith("states."));
    const weights = await encoderWeights(this.weigh, await this.pass.run(await inputsOf(read, this.vectors), names), heads);
    const map = { kind: /** @type {const} */ ("encoder"), queries: read.tokens, keys: read.tokens, layers, heads, causal: false, ...weights };
    return { maps: [map], cuts: read.cuts };
  }

  /**
   * Read what a head compares: the states of all tokens, and its rows of the matrices that make queries, keys and values of them.
   * @param {Request} request
   * @param {number} layer
   * @param {number} head
   */
  async inspect({ text, pair }, layer, head) {
    const read = checked(encode(this.tokenizer, pair ? [text, pair] : [text], this.card.max_tokens));
    const name = `states.${layer}`;
    const { [name]: { data, dims } } = await this.pass.run(await inputsOf(read, this.vectors), [name]);
    const [, tokens, dim] = dims;
    const states = Array.from({ length: tokens }, (_, token) => [...data.subarray(token * dim, (token + 1) * dim)]);
    const [query, key, value] = ["query", "key", "value"].map((kind) => this.ownRows(`encoder.layer.${layer}.attention.self.${kind}`, head, dim));
    return { states, query, key, value };
  }

  /**
   * @param {string} name of a matrix that all heads share
   * @param {number} head
   * @param {number} dim
   */
  ownRows(name, head, dim) {
    const [weight, bias] = ["weight", "bias"].map((part) => /** @type {import("./model_files.js").Stored} */ (this.learned.get(`${name}.${part}`)));
    const width = dim / this.card.n_heads;
    const all = new Float32Array(dim);
    restore(bias, all);
    const rows = Array.from({ length: width }, (_, row) => {
      const numbers = new Float32Array(dim);
      restoreRow(weight, head * width + row, numbers);
      return [...numbers];
    });
    return { weight: rows, bias: [...all.subarray(head * width, (head + 1) * width)] };
  }
}

/**
 * What the layers of an encoder read.
 * @param {{ ids: number[], segments: number[] }} read
 * @param {import("./model_files.js").WordVectors} vectors
 * @returns {Promise<Record<string, import("./onnx_graph.js").Given>>}
 */
export async function inputsOf({ ids, segments }, vectors) {
  return {
    vectors: { data: await vectors.of(ids), dims: [1, ids.length, vectors.meta.width] },
    segments: { data: Int32Array.from(segments), dims: [1, ids.length] },
  };
}
