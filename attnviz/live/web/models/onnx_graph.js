// A pass of a model: its graph with its weights, in ONNX Runtime.

import { forget, restore } from "./model_files.js";

/** @import { Stored } from "./model_files.js" */

/**
 * @import { Runtime, GraphFile } from "./types.d.ts"
 * @typedef {{ data: Float32Array | Int32Array, dims: number[] }} Given
 * @typedef {{ data: Float32Array, dims: readonly number[] }} Computed
 */

// The file that a graph says its weights are in.
const WEIGHTS = "weights";

export class Pass {
  /**
   * @param {Runtime["ort"]} ort
   * @param {import("onnxruntime-web/wasm").InferenceSession} session
   */
  constructor(ort, session) {
    this.ort = ort;
    this.session = session;
  }

  /**
   * @param {Runtime["ort"]} ort
   * @param {Uint8Array<ArrayBuffer>} graph
   * @param {GraphFile["weights"]} layout
   * @param {Map<string, Stored>} stored
   */
  static async create(ort, graph, layout, stored) {
    const numbers = new Float32Array(layout.size);
    for (const [name, offset] of Object.entries(layout.offsets)) {
      const tensor = stored.get(name);
      if (!tensor) throw new Error(`no weights are named ${name}`);
      restore(tensor, numbers.subarray(offset));
    }
    const externalData = [{ path: WEIGHTS, data: new Uint8Array(numbers.buffer) }];
    const session = await ort.InferenceSession.create(graph, { executionProviders: ["wasm"], externalData });
    forget(numbers);
    return new Pass(ort, session);
  }

  /**
   * Run the pass.
   * @param {Record<string, Given>} inputs by name
   * @param {string[]} [names] of what to return, by default all that it computes
   * @returns {Promise<Record<string, Computed>>}
   */
  async run(inputs, names = [...this.session.outputNames]) {
    const feeds = Object.entries(inputs).map(([name, { data, dims }]) => {
      return [name, new this.ort.Tensor(data instanceof Int32Array ? "int32" : "float32", data, dims)];
    });
    const outputs = await this.session.run(Object.fromEntries(feeds), names);
    return /** @type {any} */ (outputs);
  }

  release() {
    return this.session.release();
  }
}
