// What takes time happens here, so that the page never waits: models run, maps are read, overviews and sentences are made.

import { nameOfHead } from "../../figures/drawing/elements.js";
import { describeFound, describeHeadOf, matrixOf, windowNotices } from "./answer_words.js";
import { firstCell, largestOf } from "./head_metrics.js";
import { Lens } from "./head_view.js";
import { unfoldWeight } from "./link_steps.js";
import { headChunks, overviewOf, mapOfFiles } from "./map_package.js";
import { fetchFile, importFrom, openRuntime, openSegmenter } from "./fetch_files.js";
import { describeSelectors, describeSelection } from "./selectors.js";
import { AlignmentHeads, describeTranslation, translationNotices } from "./alignments.js";
import { WordLinks } from "./word_links.js";
import { describeLikelihood, describeHead, describeHidden, describeLink, describeScore, textNotices, withLabels } from "./wording.js";

/**
 * @import { AskedCell } from "./alignments.js"
 * @import { AnswerHead, AnswerQuestion, FoundAnswer, TextPlace } from "./answer_words.js"
 * @import { AttentionMap, HeadMatrix, Token, View } from "./head_view.js"
 * @import { HeadInputs, WeightPlace } from "./link_steps.js"
 * @import { HeadPlace, MapFiles } from "./map_package.js"
 * @import { Amount } from "./models/summary_selection.js"
 * @import { Progress, Runtime } from "./fetch_files.js"
 * @import { HeadShown } from "./run_model.js"
 * @import { Read } from "./selectors.js"
 * @import { TranslationQuestion } from "./alignments.js"
 * @import { WordQuestion } from "./word_links.js"
 * @typedef {{ key: string, kind: string, view: View }} Place
 * @typedef {{ model: string, output: string, extra: any, cut: number | null, cutPair: number | null, isEnglish: boolean, maps: AttentionMap[] }} Trace
 * @typedef {{ output: string, extra: any, cross: AttentionMap, card: any }} KeptDraft
 * @typedef {{ card: any, trace(request: object): Promise<Trace>, inspect(request: object, layer: number, head: number): Promise<HeadInputs>,
 *   write?: any, left(): Promise<number>, complete(): Promise<void> }} Model
 */

const host = /** @type {any} */ (self);
/** @type {Promise<Runtime> | null} */
let runtime = null;
// What was computed or opened longest ago goes first: of short texts several are kept, of one as long as a model reads it alone (in weights).
const WEIGHTS_KEPT = 4e6;
/** @type {Map<string, Promise<AttentionMap[]>>} */
const traces = new Map();
// Four translators of four texts.
const DRAFTS_KEPT = 16;
/** @type {Map<string, KeptDraft>} */
const drafts = new Map();
/** @type {Map<string, Promise<Model>>} */
const models = new Map();
let isStopped = false;

/** What a page can ask of the worker. @typedef {keyof typeof WORK} Verb */
/** What it says with that. @template {Verb} Name @typedef {Parameters<typeof WORK[Name]>[0]} Request */
/** What it is answered. @template {Verb} Name @typedef {Awaited<ReturnType<typeof WORK[Name]>>} Answer */

const WORK = {
  /** A picture that came with the site. @param {{ key: string, base: string, maps: MapFiles[] }} asked */
  open({ key, base, maps }) {
    const read = async (/** @type {string} */ file) => (await fetchFile(new URL(file, base))).arrayBuffer();
    keep(key, Promise.all(maps.map((map) => mapOfFiles(map, read))));
    return { maps: maps.length };
  },

  /** Runs a model, which is fetched where it is not here yet; the maps of a picture are those of its first.
   * @param {{ key: string, name: string, isFirst: boolean, modelFiles: string, runtimeBytes: number, inspects: boolean, request: object }} asked
   * @param {Progress} onProgress */
  async run({ key, name, isFirst, modelFiles, runtimeBytes, inspects, request }, onProgress) {
    const model = await opened(name, modelFiles, runtimeBytes, inspects, onProgress);
    await forgetOldTraces();
    const { maps, extra, output, ...trace } = await model.trace(request);
    if (isFirst) keep(key, Promise.resolve(maps));
    const cross = maps.find(({ kind }) => kind === "cross");
    if (extra?.steps && cross) keepDraft(`${name} ${key}`, { output, extra, cross, card: model.card });
    const shapes = maps.map(({ kind, layers, heads, queries, keys }) => ({ kind, shape: [layers, heads], tokens: [queries.length, keys.length] }));
    const prompt = /** @type {Record<string, string>} */ (request);
    const notices = textNotices(prompt, trace, maps[0].keys, model.card.max_tokens);
    if (extra?.steps && cross) {
      const written = prompt.target ? [] : extra.steps.map((/** @type {{ token: Token }} */ { token }) => token);
      notices.push(...translationNotices(cross.keys, trace.cut, written));
    }
    if (extra?.windows) notices.push(...windowNotices(extra.windows, extra.best, extra.tokens.length));
    return { output, left: await model.left(), notices, maps: shapes, ...describe(model, request, extra, maps) };
  },

  /** Writes on behind a text, with what is written so far as progress. @param {{ name: string, modelFiles: string, runtimeBytes: number, request: object, tokens: number }} asked
   * @param {Progress} onProgress */
  async write({ name, modelFiles, runtimeBytes, request, tokens }, onProgress) {
    isStopped = false;
    const model = await opened(name, modelFiles, runtimeBytes, false, onProgress);
    return model.write({ ...request, tokens }, (/** @type {string} */ text, /** @type {number} */ count) => onProgress(count, tokens, text), () => isStopped);
  },

  /** What is being written ends with the token that comes next. */
  stop() {
    isStopped = true;
  },

  /** Fetches all of a model, and what later texts may need of it, so that it works without a network.
   * @param {{ name: string, modelFiles: string, runtimeBytes: number, inspects: boolean }} asked @param {Progress} onProgress */
  async complete({ name, modelFiles, runtimeBytes, inspects }, onProgress) {
    await (await opened(name, modelFiles, runtimeBytes, inspects, onProgress)).complete();
  },

  /** Without words that are asked, heads are ranked by all of their weights. @param {Place & { isWhole: boolean }} place */
  async overview({ key, kind, view, isWhole }) {
    const map = await mapOf(key, kind), made = overviewOf(map, view), { layers, heads } = map;
    const isSmall = layers * heads * map.queries.length * map.keys.length <= WEIGHTS_KEPT;
    const places = isWhole && isSmall ? Array.from({ length: layers * heads }, (_, at) => /** @type {HeadPlace} */ ([Math.floor(at / heads), at % heads])) : [];
    if (made) for (const [name, chunk] of headChunks(map, view, places)) made.chunks.set(name, chunk);
    return made;
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

  /** The link of what was asked by words. @param {Place & { question: WordQuestion }} asked */
  async link({ key, kind, view, question }) {
    const map = await mapOf(key, kind);
    return new Lens(map, view).isEmpty ? null : new WordLinks(map, view).first(question);
  },

  /** What some words give in every head. @param {Place & { words: number[] }} asked */
  async table({ key, kind, view, words }) {
    return new Uint8Array(new WordLinks(await mapOf(key, kind), view).table(words).buffer);
  },

  /** The head that gives most to what was asked of a translation. @param {{ key: string, name: string, asked: TranslationQuestion & AskedCell }} given */
  follow({ key, name, asked }) {
    const { cross, extra, card } = draftOf(key, name);
    return new AlignmentHeads(cross, extra, card, asked).followed(asked);
  },

  /** A translation and one of its heads. @param {{ key: string, name: string, asked: TranslationQuestion }} given */
  translation({ key, name, asked }) {
    const { output, extra, cross, card } = draftOf(key, name);
    const likely = extra.own && asked.isGiven ? describeLikelihood(extra.logProbability, extra.own.logProbability) : null;
    return { ...describeTranslation(output, extra, cross, card, asked), likely, score: describeScore(extra.logProbability, card.metrics.BLEU) };
  },

  /** Question and passage in one head. @param {{ key: string, answer: FoundAnswer, asked: AnswerQuestion }} given */
  async answer({ key, answer, asked }) {
    return describeHeadOf(await traceOf(key), answer, asked);
  },

  /** What every selector keeps of a text. @param {{ key: string, text: string, read: Read, amount: Amount, shown: HeadShown }} given */
  async selectors({ key, text, read, amount, shown }) {
    return describeSelectors(text, /** @type {any} */ (await mapOf(key, "encoder")), read, amount, shown);
  },

  /** Question and passage in one head as a matrix. @param {{ key: string, place: TextPlace, seen: AnswerHead, view: View }} given */
  async matrix({ key, place, seen, view }) {
    return matrixOf(await traceOf(key), place, seen, view);
  },

  /** The steps of one weight. @param {{ key: string, name: string, request: object, place: WeightPlace }} asked */
  async steps({ key, name, request, place }) {
    const [map, model] = await Promise.all([mapOf(key, "encoder"), models.get(name)]);
    if (!model) throw new Error("gone");
    return unfoldWeight(map, await model.inspect(request, place.layer, place.head), place, name);
  },

  /** A head with its tokens, to be drawn or written as a file. @param {Place & { layer: number, head: number | null }} place */
  async weights({ key, kind, view, layer, head }) {
    const { visible, ...matrix } = new Lens(await mapOf(key, kind), view).matrix(layer, head);
    const width = matrix.keys.length;
    const masked = Array.from(matrix.weights, (_, cell) => !visible(Math.floor(cell / width), cell % width));
    return { ...matrix, weights: matrix.weights.slice(), masked };
  },
};

/** What a task gives besides its maps. @param {Model} model @param {any} request @param {any} extra @param {AttentionMap[]} maps */
function describe({ card }, request, extra, maps) {
  const cross = maps.find(({ kind }) => kind === "cross");
  if (extra?.writing) return { writing: withLabels(extra.writing) };
  if (extra?.spans) return describeFound(extra, maps, card.name);
  if (extra?.keptSentences) return describeRead(request, extra, card, maps[0]);
  if (extra?.steps && cross) return { shape: [cross.layers, cross.heads] };
  return { tokens: maps[0].keys.map(({ text }) => text) };
}

/** @param {any} request @param {any} extra @param {any} card @param {any} map */
function describeRead({ text, words, sentences: wanted, share }, extra, card, map) {
  const read = { sentences: extra.sentences, selects: card.selects, name: card.name };
  const shown = { kind: map.kind, layer: card.selects[0], head: null, view: { words: true, hideSpecial: false } };
  const all = describeSelectors(text, map, read, { words, wanted, share }, shown);
  return { ...describeSelection(text, extra, card), shares: all[0].shares, read, rows: all.map(({ row }) => row) };
}

/** @param {HeadMatrix} matrix @param {number | null} query @param {number | null} key @returns {[number, number]} */
function chosenCell(matrix, query, key) {
  const [row, column] = [matrix.rows.indexOf(Number(query)), matrix.columns.indexOf(Number(key))];
  if (query === null || row < 0) return firstCell(matrix);
  return column < 0 ? [row, largestOf(matrix, row)] : [row, column];
}

/** The model, which is fetched where it is not here yet. @param {string} name @param {string} base @param {number} runtimeBytes @param {boolean} inspects @param {Progress} onProgress */
async function opened(name, base, runtimeBytes, inspects, onProgress) {
  if (!models.has(name)) models.set(name, load(name, base, runtimeBytes, inspects, onProgress));
  const loading = /** @type {Promise<Model>} */ (models.get(name));
  loading.catch(() => models.delete(name));
  const model = await loading;
  onProgress(1, 1);
  return model;
}

/** @param {string} name @param {string} base of models and of what runs them @param {number} runtimeBytes @param {boolean} inspects @param {Progress} onProgress @returns {Promise<Model>} */
async function load(name, base, runtimeBytes, inspects, onProgress) {
  const response = await fetchFile(new URL(`${name}/model.json`, base));
  /** @type {Record<string, [loaded: number, total: number]>} */
  const parts = {};
  const progressOf = (/** @type {string} */ part) => (/** @type {number} */ loaded, /** @type {number} */ total) => {
    parts[part] = [loaded, total];
    const [has, all] = [0, 1].map((place) => Object.values(parts).reduce((sum, each) => sum + each[place], 0));
    onProgress(has, all);
  };
  // Held here: by the time that it is waited for, one that failed is forgotten.
  const opening = (runtime ??= openRuntime(base, runtimeBytes, progressOf("runtime")));
  opening.catch(() => (runtime = null));
  const runner = await importFrom(new URL("runner/load_model.js", base));
  const manifest = await response.json();
  const segmenter = manifest.task === "summarize" ? openSegmenter(base) : undefined;
  return runner.load(base, manifest, { ...(await opening), segmenter: await segmenter, inspects }, progressOf("model"));
}

/** @param {string} key @param {Promise<AttentionMap[]>} maps */
function keep(key, maps) {
  traces.delete(key);
  traces.set(key, maps);
  maps.then(() => forgetOldTraces(key)).catch(() => traces.delete(key));
}

/** @param {string} [newest] which is kept, however long it is */
async function forgetOldTraces(newest) {
  let kept = 0;
  for (const [key, maps] of [...traces].reverse()) {
    for (const { layers, heads, queries, keys } of await maps) kept += layers * heads * queries.length * keys.length;
    if (kept <= WEIGHTS_KEPT || key === newest) continue;
    traces.delete(key);
    for (const map of await maps) map.release?.();
  }
}

/** @param {string} key @param {KeptDraft} draft */
function keepDraft(key, draft) {
  drafts.set(key, draft);
  for (const other of drafts.keys()) if (drafts.size > DRAFTS_KEPT) drafts.delete(other);
}

/** @param {string} key @param {string} name of the model @returns {KeptDraft} */
function draftOf(key, name) {
  const draft = drafts.get(`${name} ${key}`);
  if (!draft) throw new Error("gone");
  return draft;
}

/** @param {string} key */
async function traceOf(key) {
  const maps = await traces.get(key);
  if (!maps) throw new Error("gone");
  return maps;
}

/** @param {string} key @param {string} kind */
async function mapOf(key, kind) {
  const map = (await traceOf(key)).find((each) => each.kind === kind);
  if (!map) throw new Error("gone");
  return map;
}

/** What browsers and ONNX Runtime throw where there is no memory left. @param {unknown} error */
function isOfMemory(error) {
  return error instanceof RangeError || /memory|bad_alloc|allocation|\bOOM\b/i.test(String(error));
}

host.onmessage = async (/** @type {MessageEvent<{ id: number, work: keyof typeof WORK, asked: any }>} */ { data: { id, work, asked } }) => {
  const onProgress = (/** @type {(number | string | undefined)[]} */ ...progress) => host.postMessage({ id, progress });
  try {
    host.postMessage({ id, made: await WORK[work](asked, onProgress) });
  } catch (error) {
    // What a model says of a text is a sentence already.
    const [message, isSaid] = error instanceof Error ? [error.message, error.name === "ModelError"] : [String(error), false];
    host.postMessage({ id, error: isOfMemory(error) ? "memory" : message, isSaid });
  }
};
