// The weights of all heads of a map, as a graph gives them, or made of the queries and keys that it gives.

import { forget } from "./model_files.js";

/**
 * @import { Computed, Pass } from "./onnx_graph.js"
 * @typedef {Pick<import("./types.d.ts").AttentionMap, "weights" | "row" | "release">} MapWeights
 */

// Of a map with more weights, each takes two bytes: four would be 75 MB for 512 tokens.
const MOST_IN_FLOAT32 = 4e6;
const STEPS = 65535;

/**
 * @param {Float32Array[]} layers in the order head, query, key
 * @param {number} heads
 * @returns {MapWeights}
 */
export function weightsOf(layers, heads) {
  const total = layers.reduce((sum, { length }) => sum + length, 0);
  return new HeadWeights(heads, total > MOST_IN_FLOAT32).add(...layers);
}

/**
 * Collect what each layer gives, lowest first.
 * @param {Record<string, Computed>} outputs by name, such as encoder.0
 * @param {string} kind
 */
export function layersOf(outputs, kind) {
  const layers = [];
  while (outputs[`${kind}.${layers.length}`]) layers.push(outputs[`${kind}.${layers.length}`].data);
  return layers;
}

/**
 * Weigh an encoder's queries and keys. A pass for each layer of a long text: all at once would need the memory of all.
 * @param {Pass} pass
 * @param {Record<string, Computed>} outputs with query.0, key.0 and so on, and the weights of layers above as top.0
 * @param {number} heads
 * @returns {Promise<MapWeights>}
 */
export async function encoderWeights(pass, outputs, heads) {
  const [queries, keys, top] = ["query", "key", "top"].map((kind) => layersOf(outputs, kind));
  const [, tokens, dim] = outputs["query.0"].dims;
  const size = heads * tokens ** 2;
  const all = new HeadWeights(heads, (queries.length + top.length) * size > MOST_IN_FLOAT32);
  const atOnce = all.isPacked ? 1 : queries.length;
  for (let layer = 0; layer < queries.length; layer += atOnce) {
    const [query, key] = [queries, keys].map((each) => ({ data: joined(each.slice(layer, layer + atOnce)), dims: [atOnce, tokens, dim] }));
    const { weights: { data } } = await pass.run({ query, key });
    for (let at = 0; at < data.length; at += size) all.add(data.subarray(at, at + size));
    [query.data, key.data, ...(all.isPacked ? [data] : [])].forEach(forget);
  }
  [...queries, ...keys].forEach(forget);
  return all.add(...top);
}

class HeadWeights {
  /** @type {(Float32Array | Uint16Array)[]} */
  #all = [];
  /** @type {number[]} The largest weight of each. */
  #highest = [];

  /**
   * @param {number} heads
   * @param {boolean} isPacked whether a weight takes two bytes, in steps of 1/65535 of its head's largest
   */
  constructor(heads, isPacked) {
    this.heads = heads;
    this.isPacked = isPacked;
  }

  /** @param {Float32Array[]} layers */
  add(...layers) {
    for (const layer of layers) {
      const size = layer.length / this.heads;
      for (let at = 0; at < layer.length; at += size) this.#push(layer.subarray(at, at + size));
    }
    return this;
  }

  /** @param {Float32Array} weights */
  #push(weights) {
    if (!this.isPacked) return this.#all.push(weights);
    let highest = 0;
    for (let at = 0; at < weights.length; at += 1) if (weights[at] > highest) highest = weights[at];
    const one = highest > 0 ? STEPS / highest : 0;
    const packed = new Uint16Array(weights.length);
    for (let at = 0; at < weights.length; at += 1) packed[at] = weights[at] * one + 0.5;
    this.#highest.push(highest);
    return this.#all.push(packed);
  }

  /** @type {MapWeights["weights"]} */
  weights = (layer, head, into) => this.#read(layer * this.heads + head, 0, Infinity, into);

  /** @type {NonNullable<MapWeights["row"]>} */
  row = (layer, head, query, keys) => this.#read(layer * this.heads + head, query * keys, (query + 1) * keys);

  // Short texts share their memory with what a graph gave, and are small.
  release = () => {
    if (this.isPacked) this.#all.forEach(forget);
  };

  /**
   * @param {number} place
   * @param {number} start
   * @param {number} stop
   * @param {Float32Array} [into]
   */
  #read(place, start, stop, into) {
    const own = this.#all[place].subarray(start, stop);
    if (own instanceof Float32Array) return own;
    const step = this.#highest[place] / STEPS;
    const weights = into ?? new Float32Array(own.length);
    for (let at = 0; at < own.length; at += 1) weights[at] = own[at] * step;
    return weights;
  }
}

/**
 * Weigh the queries and keys of a causal map when a head is asked for: the weights of 270 heads would be a hundred times as large.
 * @param {{ queries: Float32Array[][], keys: Float32Array[], heads: number, keyHeads: number }} layers  queries: of each layer a row a token; keys: in
 *   the order key head, key, dim
 * @returns {MapWeights}
 */
export function causalWeights({ queries, keys, heads, keyHeads }) {
  const tokens = queries[0].length;
  const dim = queries[0][0].length / heads;
  /** @param {number} layer @param {number} head @param {number} query @param {Float32Array} row */
  const weigh = (layer, head, query, row) => {
    const [own, all] = [queries[layer][query].subarray(head * dim, (head + 1) * dim), keys[layer]];
    const first = Math.floor(head / (heads / keyHeads)) * tokens * dim;
    let highest = -Infinity;
    for (let key = 0; key <= query; key += 1) {
      let score = 0;
      for (let at = 0; at < dim; at += 1) score += own[at] * all[first + key * dim + at];
      row[key] = score / Math.sqrt(dim);
      if (row[key] > highest) highest = row[key];
    }
    let total = 0;
    for (let key = 0; key <= query; key += 1) total += row[key] = Math.exp(row[key] - highest);
    for (let key = 0; key <= query; key += 1) row[key] /= total;
    return row;
  };
  return {
    weights(layer, head, into = new Float32Array(tokens * tokens)) {
      into.fill(0);
      for (let query = 0; query < tokens; query += 1) weigh(layer, head, query, into.subarray(query * tokens, (query + 1) * tokens));
      return into;
    },
    row: (layer, head, query) => weigh(layer, head, query, new Float32Array(tokens)),
    release() {},
  };
}

/** @param {Float32Array[]} parts */
export function joined(parts) {
  if (parts.length === 1) return parts[0];
  const whole = new Float32Array(parts.reduce((sum, { length }) => sum + length, 0));
  let at = 0;
  for (const part of parts) {
    whole.set(part, at);
    at += part.length;
  }
  return whole;
}
