// Writing a translation, one token at a time: a beam search as in attnviz.nn.decoding; a beam of one is greedy.

import { joined, layersOf } from "./attention_weights.js";

/**
 * @typedef {{ scores: Float32Array, after: Decoder }} Step the scores of every row, one behind the other
 * @typedef {{ next(tokens: number[]): Promise<Step>, select(rows: number[]): Decoder }} Decoder
 * @typedef {{ tokens: number[], logProbability: number }} Tip a hypothesis
 * @typedef {{ width: number, longest: number, never: number[] }} Beam tokens of `never` are not written
 * @typedef {{ row: number, token: number, value: number }} Extension
 */

export const START = 1;
export const END = 2;

/**
 * Find the best hypotheses for one sentence, best first, as many as the beam is wide.
 * @param {Decoder} decoder
 * @param {Beam} beam
 */
export async function beamSearch(decoder, beam) {
  /** @type {Tip[]} */
  let open = [{ tokens: [], logProbability: 0 }];
  /** @type {Tip[]} */
  const finished = [];
  for (let step = 0; step < beam.longest && open.length; step += 1) {
    const { scores, after } = await decoder.next(open.map(({ tokens }) => tokens.at(-1) ?? START));
    const rows = logProbabilities(scores, open.length);
    // What the model gives them nobody else gets, so that p of a hypothesis is the model's.
    for (const row of rows) for (const token of beam.never) row[token] = -Infinity;
    // The ended share the beam with the open: a beam of one must stop where greedy decoding stops.
    const kept = likeliest(rows, open.map((tip) => tip.logProbability), beam.width - finished.length);
    const following = [];
    const parents = [];
    for (const { row, token, value } of kept) {
      const tip = { tokens: [...open[row].tokens, token], logProbability: value };
      if (token === END) finished.push(tip);
      else {
        following.push(tip);
        parents.push(row);
      }
    }
    open = following;
    decoder = after.select(parents);
  }
  // What the limit cut short comes after all that ended by itself.
  return [...ranked(finished), ...ranked(open)];
}

/**
 * Compute ln p of every token, in the precision that Python has it.
 * @param {Float32Array} scores of some rows
 * @param {number} nRows
 */
export function logProbabilities(scores, nRows) {
  const vocabulary = scores.length / nRows;
  return Array.from({ length: nRows }, (_, row) => {
    const own = scores.subarray(row * vocabulary, (row + 1) * vocabulary);
    const top = own.reduce((most, score) => Math.max(most, score), -Infinity);
    const total = top + Math.log(own.reduce((sum, score) => sum + Math.exp(score - top), 0));
    return own.map((score) => score - total);
  });
}

/**
 * The likeliest tokens of a row, best first.
 * @param {ArrayLike<number>} values
 * @param {number} n
 */
function topOf(values, n) {
  /** @type {number[]} */
  const best = [];
  for (let place = 0; place < values.length; place += 1) {
    if (best.length === n && values[place] <= values[best[n - 1]]) continue;
    let at = best.length;
    while (at && values[place] > values[best[at - 1]]) at -= 1;
    best.splice(at, 0, place);
    if (best.length > n) best.pop();
  }
  return best;
}

/**
 * The likeliest extensions of all rows together, with ln p of the whole.
 * @param {Float32Array[]} rows
 * @param {number[]} before
 * @param {number} width
 * @returns {Extension[]}
 */
function likeliest(rows, before, width) {
  const all = rows.flatMap((own, row) => {
    const total = own.map((value) => value + Math.fround(before[row]));
    return topOf(total, width).map((token) => ({ row, token, value: total[token] }));
  });
  // Of equal ones the first, as they stand.
  return all.sort((one, other) => other.value - one.value).slice(0, width);
}

/**
 * Sort by ln p / length.
 * @param {Tip[]} tips
 */
function ranked(tips) {
  /** @param {Tip} tip */
  const score = ({ tokens, logProbability }) => logProbability / Math.max(1, tokens.length);
  return [...tips].sort((one, other) => score(other) - score(one));
}

// What the two kinds of translators carry from step to step, as `beamSearch` wants it, and all weights of what is written.

/**
 * @import { Computed, Given, Pass } from "./onnx_graph.js"
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
