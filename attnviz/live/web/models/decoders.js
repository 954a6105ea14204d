// What the two kinds of translators carry from step to step, as `beamSearch` wants it, and all weights of what is written.

import { joined, layersOf } from "./map_weights.js";

/**
 * @typedef {import("./session.js").Computed} Computed
 * @typedef {import("./session.js").Given} Given
 * @typedef {import("./session.js").Pass} Pass
 * @typedef {Record<string, Computed>} Arrays by name
 * @typedef {{ scores: Float32Array, weights: Record<string, Float32Array[]> }} Written  of every step; and by kind those of each layer
 */

/** An LSTM: its state goes from step to step, and each step looks at the source once. */
export class RecurrentDecoder {
  /**
   * @param {Pass} pass
   * @param {Arrays} source its annotations, key and value
   * @param {Arrays} state hidden and cell
   */
  constructor(pass, source, state) {
    this.pass = pass;
    this.source = source;
    this.state = state;
  }

  /**
   * @param {Record<string, Pass>} passes
   * @param {number[]} ids
   */
  static async begin({ read, write }, ids) {
    const { key, value, hidden, cell } = await read.run({ source: tokens(ids, [1, ids.length]) });
    return new RecurrentDecoder(write, { key, value }, { hidden, cell });
  }

  /** @param {number[]} ids the last token of each row */
  async next(ids) {
    const outputs = await this.step(ids);
    const after = new RecurrentDecoder(this.pass, this.source, { hidden: outputs.next_hidden, cell: outputs.next_cell });
    return { scores: outputs.scores.data, after, weights: outputs.weights.data };
  }

  /** @param {number[]} ids */
  step(ids) {
    return this.pass.run({ tokens: tokens(ids, [ids.length]), ...given(this.state), ...given(this.source) });
  }

  /** @param {number[]} rows */
  select(rows) {
    return new RecurrentDecoder(this.pass, this.source, picked(this.state, rows, 1));
  }

  /**
   * Write exactly these tokens.
   * @param {number[]} ids what each step reads
   * @returns {Promise<Written>}
   */
  async follow(ids) {
    const steps = [];
    for (let decoder = /** @type {RecurrentDecoder} */ (this); steps.length < ids.length; ) {
      const { scores, weights, after } = await decoder.next([ids[steps.length]]);
      steps.push({ scores, weights });
      decoder = after;
    }
    return { scores: joined(steps.map(({ scores }) => scores)), weights: { cross: [joined(steps.map(({ weights }) => weights))] } };
  }
}

/** A Transformer: it keeps the keys and values of what is written, so that a step costs one token. */
export class TransformerDecoder {
  /**
   * @param {Pass} pass
   * @param {Arrays} source keys and values of each layer, and the encoder's weights
   * @param {Arrays} past keys and values of what is written
   */
  constructor(pass, source, past) {
    this.pass = pass;
    this.source = source;
    this.past = past;
  }

  /**
   * @param {Record<string, Pass>} passes
   * @param {number[]} ids
   */
  static async begin({ read, write }, ids) {
    const source = await read.run({ source: tokens(ids, [1, ids.length]) });
    const known = Object.entries(source).filter(([name]) => !name.startsWith("encoder."));
    const past = known.map(([name, { dims }]) => [`past_${name}`, { data: new Float32Array(0), dims: [1, dims[1], 0, dims[3]] }]);
    return new TransformerDecoder(write, source, Object.fromEntries(past));
  }

  /** @param {number[]} ids the last token of each row */
  async next(ids) {
    const outputs = await this.run(ids, [ids.length, 1]);
    const past = Object.keys(this.past).map((name) => [name, outputs[name.replace("past_", "next_")]]);
    return { scores: outputs.scores.data, after: new TransformerDecoder(this.pass, this.source, Object.fromEntries(past)) };
  }

  /**
   * @param {number[]} ids
   * @param {number[]} dims
   */
  run(ids, dims) {
    const source = Object.entries(this.source).filter(([name]) => !name.startsWith("encoder."));
    return this.pass.run({ tokens: tokens(ids, dims), ...given(this.past), ...given(Object.fromEntries(source)) });
  }

  /** @param {number[]} rows */
  select(rows) {
    return new TransformerDecoder(this.pass, this.source, picked(this.past, rows, 0));
  }

  /**
   * Write exactly these tokens, all at once.
   * @param {number[]} ids what each step reads
   * @returns {Promise<Written>}
   */
  async follow(ids) {
    const outputs = await this.run(ids, [1, ids.length]);
    const weights = {
      encoder: layersOf(this.source, "encoder"),
      decoder: layersOf(outputs, "decoder"),
      cross: layersOf(outputs, "cross"),
    };
    return { scores: outputs.scores.data, weights };
  }
}

/**
 * @param {number[]} ids
 * @param {number[]} dims
 * @returns {Given}
 */
function tokens(ids, dims) {
  return { data: Int32Array.from(ids), dims };
}

/**
 * @param {Arrays} arrays
 * @returns {Record<string, Given>}
 */
function given(arrays) {
  return Object.fromEntries(Object.entries(arrays).map(([name, { data, dims }]) => [name, { data, dims: [...dims] }]));
}

/**
 * Pick rows of arrays, in another order or more than once.
 * @param {Arrays} arrays
 * @param {number[]} rows
 * @param {number} axis of the rows
 * @returns {Arrays}
 */
function picked(arrays, rows, axis) {
  return Object.fromEntries(Object.entries(arrays).map(([name, { data, dims }]) => {
    if (rows.length === dims[axis] && rows.every((row, place) => row === place)) return [name, { data, dims }];
    const size = dims.slice(axis + 1).reduce((product, length) => product * length, 1);
    const blocks = dims.slice(0, axis).reduce((product, length) => product * length, 1);
    const parts = [];
    for (let block = 0; block < blocks; block += 1) {
      for (const row of rows) {
        const at = (block * dims[axis] + row) * size;
        parts.push(data.subarray(at, at + size));
      }
    }
    return [name, { data: joined(parts), dims: [...dims.slice(0, axis), rows.length, ...dims.slice(axis + 1)] }];
  }));
}
