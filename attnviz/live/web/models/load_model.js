// A model of the catalog in a browser: its files fetched, its passes made ready, and a text traced.

import { Answerer, seemsEnglish } from "./answer.js";
import { Encoder } from "./encode.js";
import { forget, ModelError, Source, storedWeights, WordVectors } from "./model_files.js";
import { Pass } from "./onnx_graph.js";
import { Summarizer } from "./summarize.js";
import { Translator } from "./translate.js";
import { Writer } from "./write.js";

/**
 * @import { Manifest, Model, Request, Runtime } from "./types.d.ts"
 * @import { Tokenizer } from "@huggingface/tokenizers"
 * @typedef {{ manifest: Manifest, passes: Record<string, Pass>, tokenizers: Record<string, Tokenizer>, vectors: WordVectors | null, rows?: import("./model_files.js").Stored, learned: Map<string, import("./model_files.js").Stored>,
 *   segmenter: Runtime["segmenter"] }} Loaded  rows: all vectors of tokens, in blocks; learned: the matrices of a head that can be looked into
 * @typedef {NonNullable<Model["inspect"]>} Inspect
 * @typedef {{ maps: import("./types.d.ts").AttentionMap[], output?: string, extra?: unknown, cuts?: (number | null)[] }} Outcome
 */

/** @type {Record<Manifest["task"], new (loaded: Loaded) => { trace(request: Request): Promise<Outcome>, inspect?: Inspect, write?: Model["write"] }>} */
const RUNNERS = { encode: Encoder, translate: Translator, answer: Answerer, summarize: Summarizer, write: Writer };
// What a page of a phone may take in bytes of weights: with a GB and more it is ended.
const PHONE = /Android|iPhone|iPad|Mobile/;
const MOST_ON_A_PHONE = 5e8;

/**
 * Load a model.
 * @param {string} base where the folders of all models stand
 * @param {Manifest} manifest of the model
 * @param {Runtime} runtime
 * @param {import("./types.d.ts").Progress} [onProgress]
 * @returns {Promise<Model>}
 */
export async function load(base, manifest, runtime, onProgress = () => {}) {
  const reason = whyNoRoom(manifest);
  if (reason) throw new ModelError(reason);
  const source = new Source(base, runtime.fetch ?? ((url) => fetch(url)), onProgress);
  const loaded = await files(source, manifest, runtime);
  const runner = new RUNNERS[manifest.task](loaded);
  return {
    name: manifest.name,
    card: manifest.card,
    async trace(request) {
      const prompt = promptOf(request);
      const { name, card, small_words: smallWords } = manifest;
      const isEnglish = !smallWords || [prompt.text, prompt.pair, prompt.question].every((each) => seemsEnglish(each ?? "", smallWords));
      const { maps, output = "", extra = null, cuts = [] } = await runner.trace({ ...request, ...prompt, isEnglish });
      return { model: name, revision: card.revision, prompt, output, extra, maps, cut: cuts[0] ?? null, cutPair: cuts[1] ?? null, isEnglish };
    },
    inspect: runner.inspect?.bind(runner),
    write: runner.write?.bind(runner),
    left: async () => (await loaded.vectors?.left()) ?? 0,
    async complete() {
      await loaded.vectors?.complete();
    },
    async release() {
      await Promise.all(Object.values(loaded.passes).map((pass) => pass.release()));
    },
  };
}

/**
 * Say why a device has no room for a model, before it is fetched: else the page would end. Empty: it has.
 * @param {Manifest} manifest
 * @param {{ userAgent?: string, deviceMemory?: number }} [device] memory in GB, where the browser says it
 */
export function whyNoRoom({ name, graphs }, { userAgent = "", deviceMemory = 8 } = globalThis.navigator ?? {}) {
  const bytes = Object.values(graphs).reduce((sum, { weights: { size } }) => sum + 4 * size, 0);
  if (bytes < MOST_ON_A_PHONE || (!PHONE.test(userAgent) && deviceMemory > 2)) return "";
  return `${name} takes more memory than this device gives to a page: its examples can be seen here, and other texts on a computer.`;
}

/**
 * @param {Source} source
 * @param {Manifest} manifest
 * @param {Runtime} runtime
 * @returns {Promise<Loaded>}
 */
async function files(source, manifest, { ort, Tokenizer, segmenter, inspects }) {
  const [graphs, tokenizers] = [Object.entries(manifest.graphs), Object.entries(manifest.tokenizers)];
  const all = [...manifest.parts, ...graphs.map(([, file]) => file), ...tokenizers.map(([, file]) => file)];
  const contents = await source.all(all);
  const parts = contents.splice(0, manifest.parts.length);
  const stored = new Map(parts.flatMap((content) => [...storedWeights(content)]));
  /** @type {Record<string, Pass>} */
  const passes = {};
  // One after the other: each needs its weights in memory twice while it is made.
  for (const [name, { weights }] of graphs) {
    passes[name] = await Pass.create(ort, /** @type {Uint8Array<ArrayBuffer>} */ (contents.shift()), weights, stored);
  }
  const read = tokenizers.map(([name], place) => [name, new Tokenizer(JSON.parse(new TextDecoder().decode(contents[place])), {})]);
  const vectors = manifest.rows && new WordVectors(manifest.rows, source);
  const learned = inspects ? attentionOf(stored) : new Map();
  const rows = stored.get(manifest.options.tokens);
  parts.filter(({ buffer }) => buffer !== rows?.data.buffer).forEach(forget);
  forgetBinary(ort.env.wasm);
  return { manifest, passes, tokenizers: Object.fromEntries(read), vectors, rows, learned, segmenter };
}

/**
 * Let go of what the runtime was made of, which is running now.
 * @param {import("onnxruntime-web/wasm").Env.WebAssemblyFlags} wasm
 */
function forgetBinary(wasm) {
  if (wasm.wasmBinary instanceof ArrayBuffer) forget(new Uint8Array(wasm.wasmBinary));
  wasm.wasmBinary = undefined;
}

/**
 * Copy the matrices that heads are made of out of the files that they came in.
 * @param {Map<string, import("./model_files.js").Stored>} stored
 */
function attentionOf(stored) {
  const own = [...stored].filter(([name]) => name.includes(".attention.self."));
  return new Map(own.map(([name, { data, exponents, ...rest }]) => [name, { ...rest, data: data.slice(), exponents: exponents?.slice() }]));
}

/**
 * Check what was typed, as attnviz.Prompt does.
 * @param {Request} request
 */
export function promptOf({ text = "", pair, question, target }) {
  if (!text.trim()) throw new ModelError("There is nothing to read yet: type a sentence first.");
  for (const [name, field] of Object.entries({ text, pair, question, target })) {
    if (field?.includes("\0")) throw new ModelError(`The ${name} holds a NUL byte, which is not text: delete it and run again.`);
  }
  /** @param {string | null | undefined} field */
  const typed = (field) => (field?.trim() ? field : null);
  return { text, pair: typed(pair), question: typed(question), target: typed(target) };
}
