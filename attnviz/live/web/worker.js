// What takes time happens here, so that the page never waits: models run, maps are read, overviews and sentences are made.

import { focusCell, largestOf } from "./head_metrics.js";
import { Lens } from "./head_view.js";
import { headChunks, overviewOf } from "./map_package.js";
import { mapOfFiles, mapOfTrace } from "./map_source.js";
import { describeHead, describeHidden, describeLink } from "./wording.js";
import { nameOfHead } from "./written.js";

/**
 * @import { AttentionMap, HeadMatrix, View } from "./head_view.js"
 * @import { HeadPlace } from "./map_package.js"
 * @import { MapFiles } from "./map_source.js"
 * @typedef {{ key: string, kind: string, view: View }} Place
 * @typedef {{ model: string, output: string, extra: any, maps: import("./map_source.js").TraceMap[] }} Trace
 * @typedef {{ trace(prompt: object): Promise<Trace> }} Model
 */

const host = /** @type {any} */ (self);
// What was looked at longest ago goes first.
const TRACES_KEPT = 3;
/** @type {Map<string, Promise<AttentionMap[]>>} */
const traces = new Map();
/** @type {Map<string, Promise<Model>>} */
const models = new Map();

const WORK = {
  /** A picture that came with the site. @param {{ key: string, base: string, maps: MapFiles[] }} asked */
  open({ key, base, maps }) {
    const read = async (/** @type {string} */ file) => (await answered(new URL(file, base))).arrayBuffer();
    keep(key, Promise.all(maps.map((map) => mapOfFiles(map, read))));
    return { maps: maps.length };
  },

  /** Runs a model, which is fetched where it is not here yet. @param {{ key: string, base: string, name: string, script: string,
   * manifest: object, prompt: object }} asked @param {(loaded: number, total: number) => void} onProgress */
  async run({ key, base, name, script, manifest, prompt }, onProgress) {
    if (!models.has(name)) models.set(name, load(script, base, manifest, onProgress));
    const loading = /** @type {Promise<Model>} */ (models.get(name));
    loading.catch(() => models.delete(name));
    const model = await loading;
    onProgress(1, 1);
    const { maps, ...trace } = await model.trace(prompt);
    keep(key, Promise.resolve(maps.map(mapOfTrace)));
    return { ...trace, maps: maps.map(({ kind, layers, heads }) => ({ kind, layers, heads })) };
  },

  /** @param {Place} place */
  async overview({ key, kind, view }) {
    return overviewOf(await mapOf(key, kind), view);
  },

  /** @param {Place & { places: HeadPlace[] }} place */
  async heads({ key, kind, view, places }) {
    return headChunks(await mapOf(key, kind), view, places);
  },

  /** The sentences that a head makes; the chosen cell is given by its places in the map.
   * @param {Place & { layer: number, head: number | null, query: number | null, at: number | null }} place */
  async story({ key, kind, view, layer, head, query, at }) {
    const map = await mapOf(key, kind);
    const matrix = new Lens(map, view).matrix(layer, head);
    const cell = chosenCell(matrix, query, at);
    const whole = view.hideSpecial ? new Lens(map, { ...view, hideSpecial: false }).matrix(layer, head) : matrix;
    const sentences = [describeLink(matrix, nameOfHead(layer, head), cell), describeHead(whole)];
    return { sentences, cell, hidden: describeHidden(matrix) };
  },

  /** A head with its tokens, to be drawn or written as a file. @param {Place & { layer: number, head: number | null }} place */
  async table({ key, kind, view, layer, head }) {
    const { visible, ...matrix } = new Lens(await mapOf(key, kind), view).matrix(layer, head);
    const width = matrix.keys.length;
    const masked = Array.from(matrix.weights, (_, cell) => !visible(Math.floor(cell / width), cell % width));
    return { ...matrix, weights: matrix.weights.slice(), masked };
  },
};

/** @param {HeadMatrix} matrix @param {number | null} query @param {number | null} key @returns {[number, number]} */
function chosenCell(matrix, query, key) {
  const [row, column] = [matrix.rows.indexOf(Number(query)), matrix.columns.indexOf(Number(key))];
  if (query === null || row < 0) return focusCell(matrix);
  return column < 0 ? [row, largestOf(matrix, row)] : [row, column];
}

/** @param {string} script @param {string} base @param {object} manifest @param {(loaded: number, total: number) => void} onProgress */
async function load(script, base, manifest, onProgress) {
  const module = await import(script);
  return /** @type {Promise<Model>} */ (module.load(base, manifest, onProgress));
}

/** @param {string} key @param {Promise<AttentionMap[]>} maps */
function keep(key, maps) {
  traces.delete(key);
  traces.set(key, maps);
  maps.catch(() => traces.delete(key));
  for (const other of traces.keys()) if (traces.size > TRACES_KEPT) traces.delete(other);
}

/** @param {string} key @param {string} kind */
async function mapOf(key, kind) {
  const maps = await traces.get(key);
  const map = maps?.find((each) => each.kind === kind);
  if (!map) throw new Error("gone");
  return map;
}

/** @param {URL} url */
async function answered(url) {
  const response = await fetch(url);
  if (!response.ok) throw new Error(`${response.status}`);
  return response;
}

host.onmessage = async (/** @type {MessageEvent<{ id: number, work: keyof typeof WORK, asked: any }>} */ { data: { id, work, asked } }) => {
  const onProgress = (/** @type {number} */ loaded, /** @type {number} */ total) => host.postMessage({ id, progress: [loaded, total] });
  try {
    host.postMessage({ id, made: await WORK[work](asked, onProgress) });
  } catch (error) {
    host.postMessage({ id, error: error instanceof Error ? error.message : String(error), name: error instanceof Error ? error.name : "" });
  }
};
