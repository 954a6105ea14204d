// Runs models on what was typed: each is fetched the first time, with its progress in megabytes, and can be left.

import { make } from "../../figures/drawing/elements.js";
import { readPackage } from "../../figures/drawing/mount.js";
import { isPlaceOf } from "./address.js";
import { alignmentsOf, askedCell, drawnOf, heroOf, isHeadChosen } from "./alignments.js";
import { fetchFile } from "./fetch_files.js";
import { joinNotices } from "./wording.js";

/**
 * @import { Values } from "./address.js"
 * @import { AnswerHead, AnswerQuestion } from "./answer_words.js"
 * @import { View } from "./head_view.js"
 * @import { HeadPlace, Overview } from "./map_package.js"
 * @import { Amount } from "./models/summary_selection.js"
 * @import { Passage } from "../../figures/answer_spans.js"
 * @import { NamedWeights } from "../../figures/matrix.js"
 * @import { Read } from "./selectors.js"
 * @import { Row } from "./selectors_panel.js"
 * @import { Background, Config, Example, SitePage } from "./site.js"
 * @import { Answer, Request, Verb } from "./worker.js"
 * @import { WordLink, WordQuestion } from "./word_links.js"
 * @import { Writing } from "./write_panel.js"
 * @import { Sentence } from "./wording.js"
 */

// What a page shows of a text that a model read here; of a picture that came with the site it gives the same.

/**
 * @typedef {{ kind: string, shape: [layers: number, heads: number], tokens: [queries: number, keys: number], file: string, layers?: string[], first: HeadPlace }} MapOfSite
 * @typedef {{ name: string, models: string[], label: string, notice: string, prompt: Record<string, string>, output: string, shown: string,
 *   story: Sentence[], maps: MapOfSite[], answer: Headline, passage: Passage & Required<Pick<Passage, "spans">>, joint: NamedWeights, read: Read, rows: Row[], seen?: AnswerHead,
 *   shapes?: [layers: number, heads: number][], link?: WordLink, writing: Writing, tokens: string[], computation: any, at: any, checked: any, word?: string }} Said  each page has parts of its own
 * @typedef {{ text: string, declined: string, facts: string[] }} Headline  an answer, or the sentences that are kept
 * @typedef {{ kind: string, layer: number, head: number | null, view: View }} HeadShown
 * @typedef {HeadShown & { query: number | null, key: number | null }} Place
 */

// What a model made of a text here: the worker has all of it.
export class ModelPicture {
  /** @param {Said} said @param {string} key @param {Background} background */
  constructor(said, key, background) {
    this.said = said;
    this.maps = said.maps;
    /** @type {WordLink | null} The link between words that is looked at, where the page asks for one. */
    this.linked = null;
    /** @type {any} The alignments that are drawn. */
    this.aligned = null;
    /** @type {AnswerHead | null} The head in which question and passage are looked at. */
    this.seen = null;
    /** @type {(() => Promise<void>) | null} Fetches what other texts may need of the model. */
    this.keep = null;
    this.left = 0;
    /** @template {Verb} Name @param {Name} work @param {Omit<Request<Name>, "key">} asked @returns {Promise<Answer<Name>>} */
    this.ask = (work, asked) => background.ask(work, /** @type {Request<Name>} */ ({ key, ...asked }));
  }

  /** @param {string} kind @param {View} view @returns {Promise<Overview | null>} */
  overview(kind, view) {
    return this.ask("overview", { kind, view, isWhole: !this.linked });
  }

  /** @param {string} kind @param {View} view @param {HeadPlace[]} places @returns {Promise<Map<string, Uint8Array<ArrayBuffer>>>} */
  heads(kind, view, places) {
    return this.ask("heads", { kind, view, places });
  }

  /** @param {Place} place @returns {Promise<{ sentences: Sentence[], hidden: string }>} */
  story({ query, key, ...place }) {
    return this.ask("story", { ...place, query, at: key });
  }

  /** The link between words that is looked at. @param {string} kind @param {View} view @param {WordQuestion} question @returns {Promise<WordLink | null>} */
  link(kind, view, question) {
    return this.ask("link", { kind, view, question });
  }

  /** Question and passage in one head. @param {AnswerQuestion} asked @returns {Promise<AnswerHead>} */
  answerHead(asked) {
    const { answer, passage: { units, spans: [[first, last]] } } = this.said;
    return this.ask("answer", { answer: { text: answer.text, place: [units[first][0], units[last][1]], units }, asked });
  }

  /** Question and passage in one head as a matrix, around the answer. @param {AnswerHead} seen @param {View} view */
  answerMatrix(seen, view) {
    const { passage: { units, spans: [[first, last]] } } = this.said;
    return this.ask("matrix", { place: [units[first][0], units[last][1]], seen, view });
  }

  /** What every selector keeps. @param {Amount} amount @param {HeadShown} shown */
  selectors(amount, shown) {
    const { prompt: { text }, read } = this.said;
    return this.ask("selectors", { text, read, amount, shown });
  }

  /** What words give in every head. @param {string} kind @param {View} view @param {number[]} words @returns {Promise<Uint8Array<ArrayBuffer>>} */
  linkTable(kind, view, words) {
    return this.ask("table", { kind, view, words });
  }

  /** What the alignments draw. @param {Values} values @returns {Promise<any>} */
  alignments(values) {
    return alignmentsOf(this, values);
  }

  /** @param {HeadShown} place */
  table(place) {
    return this.ask("weights", place);
  }
}

/** @param {SitePage} sitePage @param {string} key @param {Record<string, string>} prompt @param {Values} values */
export async function runModel(sitePage, key, prompt, values) {
  const { config, background, modelFiles } = sitePage;
  const names = namesOf(sitePage, values);
  if (!names.length) throw new Error("no model");
  const request = { ...prompt, ...optionsOf(config, values) };
  const traces = [];
  const inspects = config.page === "compute";
  for (const [place, name] of names.entries()) traces.push(await runNamed(sitePage, name, "run", { key, isFirst: !place, inspects, request }));
  const picture = new ModelPicture({ ...saidOf(traces, names, prompt, config.first), word: exampleOfText(config, prompt)?.word }, key, background);
  // A text needs the vectors of its own words alone. Over plain HTTP from another machine a browser keeps none.
  picture.left = traces[0].left;
  if (picture.left && "serviceWorker" in navigator) picture.keep = () => background.ask("complete", { name: names[0], modelFiles: modelFiles.href, runtimeBytes: config.runtimeBytes, inspects });
  return picture;
}

/** Has one model do a piece of work, and shows what is under way. @template {"run" | "write"} Work @param {SitePage} sitePage @param {string} name @param {Work} work
 * @param {Omit<Request<Work>, "name" | "modelFiles" | "runtimeBytes">} asked @returns {Promise<Answer<Work>>} */
async function runNamed(sitePage, name, work, asked) {
  const { config: { models, runtimeBytes }, modelFiles, background } = sitePage;
  if (!models.includes(name)) throw new Error("no model");
  if (typeof WebAssembly !== "object") throw new Error("no webassembly");
  const busy = showBusy(sitePage, name);
  try {
    return await background.ask(work, /** @type {Request<Work>} */ ({ ...asked, name, modelFiles: modelFiles.href, runtimeBytes }), busy.progress);
  } finally {
    busy.end();
  }
}

/** Writes on behind what the page shows: the words are shown as they come, and those that are there when it is stopped stay.
 * @param {SitePage} sitePage */
export async function writeOn(sitePage) {
  const { values, picture } = sitePage;
  const { prompt } = /** @type {ModelPicture} */ (picture).said;
  const { choose, temperature = 1, top_p = 1, top_k = 0, seed = 1, more = 20, written = "" } = values;
  const sampling = { temperature: choose === "By chance" ? temperature : 0, top_p, top_k, seed };
  try {
    const pieces = await runNamed(sitePage, namesOf(sitePage, values)[0], "write", { request: { text: prompt.text, written, sampling }, tokens: more });
    // Who has gone on to another picture meanwhile stays there.
    if (sitePage.picture !== picture) return;
    if (!pieces.length) return sitePage.say("This text fills all that the model reads here: shorten it, and it can write on.");
    await sitePage.go({ ...values, text: prompt.text, written: [...written.split(" "), ...pieces].filter(Boolean).join(" "), query: null, key: null });
  } catch (error) {
    if (sitePage.picture === picture) sitePage.fail(/** @type {Error} */ (error));
  }
}

// What of an address another text is run with, too.
export const KEPT_OPTIONS = ["model", "models", "into", "decoding", "width", "picture", "way", "unit", "words_kept", "share_kept",
  "sentences_kept", "choose", "temperature", "top_p", "top_k", "seed", "more"];

/** How a model is run, besides what it reads. @param {SitePage["config"]} config @param {Values} values */
export function optionsOf({ page, amount }, values) {
  const { decoding, width = 5, unit, words_kept, share_kept = 20, sentences_kept, written } = values;
  if (page === "write") return written ? { written } : {};
  if (page === "translate") return { beam: decoding === "Beam" ? width : 1 };
  if (!amount) return {};
  const share = unit === "Share";
  return { words: share ? share_kept : (words_kept ?? amount.words), sentences: sentences_kept ?? amount.sentences, share };
}

/** The models that the address names, else those that the app asks: of Translate all of a language, elsewhere the first. @param {SitePage} sitePage @param {Values} values @returns {string[]} */
export function namesOf({ config: { models, page } }, values) {
  if (values.models?.length || values.model) return values.models ?? [values.model];
  const own = models.filter((name) => name.endsWith("-en-de") === (values.into === "German"));
  return page === "translate" ? own : own.slice(0, 1);
}

/** What the page says of traces, as of a picture that came with the site. @param {any[]} traces @param {string[]} names
 * @param {Record<string, string>} prompt @param {Record<string, [layer: number, head: number | null]>} unasked @returns {Said} */
function saidOf(traces, names, prompt, unasked) {
  const [{ output, maps, notices: _, first = unasked, shown, ...told }] = traces;
  /** @type {{ kind: string, shape: [number, number], tokens: [number, number] }[]} */
  const all = maps;
  return {
    story: [],
    ...told,
    name: names[0],
    models: names,
    label: "",
    notice: joinNotices(traces, names),
    prompt,
    output,
    shown: shown ?? all.find(({ kind }) => kind in first)?.kind ?? all[0].kind,
    maps: all.map(({ kind, shape, tokens }) => ({ kind, shape, tokens, file: "", first: first[kind] ?? [shape[0] - 1, 0] })),
    shapes: traces.map(({ shape }) => shape),
  };
}

// Letters of what is written that a bar shows.
const TAIL = 160;

/** What is being fetched or written, and the way to leave it. @param {SitePage} sitePage @param {string} name */
function showBusy(sitePage, name) {
  const { parts: { busy }, background } = sitePage;
  const [words, bar] = [make("span", {}, `Opening ${name} …`), make("progress", { max: 1, "aria-label": "Progress" })];
  let isWriting = false;
  // What is written so far stays; a download can only be given up.
  const onclick = () => (isWriting ? void background.ask("stop", undefined) : background.leave());
  const leave = make("button", { type: "button", onclick }, "Stop");
  busy.replaceChildren(words, bar, leave);
  // A model that is here already is quicker than the eye.
  const timer = setTimeout(() => {
    busy.hidden = false;
    // What was said is of the text before.
    sitePage.say("");
  }, 150);
  /** @param {number} loaded @param {number} total @param {string} [text] that is written so far */
  const progress = (loaded, total, text) => {
    bar.value = loaded / total;
    isWriting = text !== undefined;
    if (text !== undefined) return void (words.textContent = `${loaded} of ${total}: ${text.length > TAIL ? `… ${text.slice(-TAIL)}` : text}`);
    const [has, all] = [loaded, total].map((bytes) => (bytes / 1e6).toFixed(1));
    words.textContent = loaded < total ? `Fetching ${name}: ${has} of ${all} MB` : `Running ${name} …`;
  };
  const end = () => {
    clearTimeout(timer);
    // Something else may be under way since.
    busy.hidden ||= busy.children[0] === words;
  };
  return { progress, end };
}

// A picture that came with the site: what is seen first is in its files, and the worker reads them for anything else.

export class SitePicture extends ModelPicture {
  #isOpen = false;
  /** @type {Promise<any> | null} */
  #aligned = null;

  /** @param {Said} said @param {URL} base @param {Background} background */
  constructor(said, base, background) {
    super(said, said.name, background);
    this.base = base;
    const ask = this.ask;
    /** @template {Verb} Name @param {Name} work @param {Omit<Request<Name>, "key">} asked @returns {Promise<Answer<Name>>} */
    this.ask = async (work, asked) => {
      const open = () => ask("open", { base: base.href, maps: this.maps });
      if (!this.#isOpen) await open();
      this.#isOpen = true;
      // The worker forgets what was opened long ago, and one that is new knows nothing.
      return ask(work, asked).catch((error) => (error.message === "gone" ? open().then(() => ask(work, asked)) : Promise.reject(error)));
    };
  }

  /** @param {string} kind @param {View} view @returns {Promise<Overview | null>} */
  async overview(kind, view) {
    if (!this.#hasFiles(kind, view)) return super.overview(kind, view);
    return /** @type {any} */ (readPackage(await this.#fetch(this.#map(kind).file)));
  }

  /** @param {string} kind @param {View} view @param {HeadPlace[]} places @returns {Promise<Map<string, Uint8Array<ArrayBuffer>>>} */
  async heads(kind, view, places) {
    if (!this.#hasFiles(kind, view)) return super.heads(kind, view, places);
    const { layers = [] } = this.#map(kind);
    const files = [...new Set(places.map(([layer]) => layers[layer]))];
    const parts = await Promise.all(files.map(async (file) => readPackage(await this.#fetch(file))));
    return new Map(parts.flatMap(({ chunks }) => [...chunks]));
  }

  /** @param {string} kind @param {View} view @param {WordQuestion} question */
  async link(kind, view, question) {
    const isUnasked = !question.place && question.query === null;
    return isUnasked && isFirst(view) && this.said.link ? this.said.link : super.link(kind, view, question);
  }

  /** @param {Place} place @returns {Promise<{ sentences: Sentence[], hidden: string }>} */
  async story(place) {
    const { link, shown } = this.said;
    const isSaid = link && place.kind === shown && /** @type {const} */ (["layer", "head", "query", "key"]).every((name) => place[name] === link[name]);
    return isSaid && isFirst(place.view) ? { sentences: this.said.story, hidden: "" } : super.story(place);
  }

  /** @param {AnswerQuestion} asked */
  async answerHead(asked) {
    const { side, layer, head, isMean, word, view: { words, hideSpecial } } = asked;
    const isUnasked = [side, layer, head, isMean, word].every((each) => each === null) && words && !hideSpecial;
    return isUnasked && this.said.seen ? this.said.seen : super.answerHead(asked);
  }

  /** @param {Values} values */
  async alignments(values) {
    const fetched = (this.#aligned ??= this.#fetch(`${this.said.name}.align`).then(readPackage));
    fetched.catch(() => (this.#aligned = null));
    const { models, cells, firstRows, chunks, ...message } = await fetched;
    const asked = models.flatMap((/** @type {any} */ model) => {
      const { slot, columns } = model;
      const { [`query${slot}`]: query = null, [`key${slot}`]: key = null } = values;
      // The last column is the end of the source: beyond it there is no word.
      const cell = askedCell(drawnOf(model, chunks), firstRows[slot], { query, key: key > columns.at(-1) ? null : key });
      return cell ? [[slot, cell]] : [];
    });
    return { ...message, firstRows, chunks, cells: { ...cells, ...Object.fromEntries(asked) }, models: models.map((/** @type {object} */ each) => ({ ...each })) };
  }

  /** Whether a view came with the site; heads that no word was asked about are ranked by all of them, and of a long text a file has one layer.
   * @param {string} kind @param {View} view */
  #hasFiles(kind, view) {
    return isFirst(view) && Boolean(this.said.link || !this.#map(kind).layers);
  }

  /** @param {string} kind */
  #map(kind) {
    return this.maps.find((map) => map.kind === kind) ?? this.maps[0];
  }

  /** @param {string} file */
  async #fetch(file) {
    return (await fetchFile(new URL(file, this.base))).arrayBuffer();
  }
}

/** @param {View} view */
const isFirst = ({ words, hideSpecial, between = "all" }) => !words && !hideSpecial && between === "all";

// Whether an address asks for the picture that an example comes with, so that nothing is computed.

/** What the fields of a page are called in a prompt. @type {Record<string, string>} */
export const PROMPT = { text: "text", passage: "text", pair: "pair", question: "question", target: "target" };

/** Whether the address asks for the heads, the words and the link that a picture came with.
 * @param {Values} values @param {[layers: number, heads: number][]} shapes of the models */
function isUnaskedAlignment(values, shapes) {
  const hero = heroOf(values, shapes.length);
  const follows = (values[`query${hero}`] ?? null) !== null && shapes[hero - 1].some((size) => size > 1);
  return !isHeadChosen(values) && (values.whole_words ?? true) && !values.hide_special && !follows;
}

/** The example of a text, whichever models read it. @param {Config} config @param {Record<string, string>} prompt */
export function exampleOfText({ examples }, prompt) {
  return examples.find((example) => ["text", "pair", "question"].every((name) => (example.prompt[name] ?? "") === (prompt[name] ?? "")));
}

/** What to notice of an example, where that is true: of the model that is large, and of what it wrote. @param {Example | undefined} example @param {Pick<ModelPicture, "said" | "aligned">} picture
 * @param {Values} values */
export function remarkOf(example, { said: { models, output }, aligned }, values) {
  const { remark = "", model, word = "" } = example ?? {};
  const hero = heroOf(values, models.length) - 1;
  const { translation = output } = aligned?.models[hero] ?? {};
  return (!model || model === models[hero]) && translation.includes(word) ? remark : "";
}

/** Whether all of it is the example's: models, text, options, language, and what is looked at.
 * @param {Config} config @param {Example} example @param {Record<string, string>} prompt @param {Values} values */
export function isReadyPicture(config, example, prompt, values) {
  const asked = values.models ?? (values.model ? [values.model] : null);
  const fields = [...new Set([...config.fields.map((name) => PROMPT[name]), "pair", "target"])];
  return (
    (example.source === "worked" || !asked?.length || String(asked) === String(example.models)) &&
    fields.every((name) => (example.prompt[name] ?? "") === (prompt[name] ?? "")) &&
    // Unasked it is the language that the page opens with, but where models say it.
    ((asked?.length && !values.into) || (values.into ?? config.examples[0].into) === example.into) &&
    JSON.stringify(optionsOf(config, values)) === JSON.stringify(optionsOf(config, {})) &&
    isPlaceOf(example, values) &&
    (!example.shapes || isUnaskedAlignment(values, example.shapes))
  );
}
