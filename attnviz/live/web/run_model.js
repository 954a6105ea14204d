// Runs models on what was typed: each is fetched the first time, with its progress in megabytes, and can be left.

import { make } from "../../figures/drawing/elements.js";
import { ModelPicture } from "./model_picture.js";

/**
 * @import { Values } from "./address.js"
 * @import { SitePage } from "./site_page.js"
 * @import { Said } from "./model_picture.js"
 */

/** @param {SitePage} sitePage @param {string} key @param {Record<string, string>} prompt @param {Values} values */
export async function runModel(sitePage, key, prompt, values) {
  const { config: { models, runtimeBytes, first }, modelFiles, background } = sitePage;
  const names = namesOf(sitePage, values);
  if (!names.length || names.some((name) => !models.includes(name))) throw new Error("no model");
  if (typeof WebAssembly !== "object") throw new Error("no webassembly");
  const request = { ...prompt, ...optionsOf(sitePage.config, values) };
  const inspects = sitePage.config.page === "compute";
  const traces = [];
  for (const name of names) {
    const busy = showBusy(sitePage, name);
    try {
      traces.push(await background.ask("run", { key, name, modelFiles: modelFiles.href, runtimeBytes, inspects, request }, busy.progress));
    } finally {
      busy.end();
    }
  }
  const picture = new ModelPicture(saidOf(traces, names, prompt, first), key, background);
  // A text needs the vectors of its own words alone.
  picture.left = traces[0].left;
  if (picture.left) picture.keep = () => background.ask("complete", { name: names[0] });
  return picture;
}

/** How a model is run, besides what it reads. @param {SitePage["config"]} config @param {Values} values */
export function optionsOf({ page, amount }, values) {
  const { decoding, width = 5, unit, words_kept, share_kept = 20, sentences_kept } = values;
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
  const [{ output, maps, cut, first = unasked, shown, ...told }] = traces;
  /** @type {{ kind: string, shape: [number, number] }[]} */
  const all = maps;
  return {
    story: [],
    ...told,
    name: names[0],
    models: names,
    label: "",
    notice: cut === null ? "" : `${names[0]} read the text up to its character ${cut}: it reads no more at once.`,
    prompt,
    output,
    shown: shown ?? all.find(({ kind }) => kind in first)?.kind ?? all[0].kind,
    maps: all.map(({ kind, shape }) => ({ kind, shape, file: "", first: first[kind] ?? [shape[0] - 1, 0] })),
    shapes: traces.map(({ shape }) => shape),
  };
}

/** What is being fetched, and the way to leave it. @param {SitePage} sitePage @param {string} name */
function showBusy({ parts: { busy }, background }, name) {
  const [words, bar] = [make("span", {}, `Opening ${name} …`), make("progress", { max: 1, "aria-label": "Progress" })];
  const leave = make("button", { type: "button", onclick: () => background.leave() }, "Stop");
  busy.replaceChildren(words, bar, leave);
  // A model that is here already is quicker than the eye.
  const timer = setTimeout(() => (busy.hidden = false), 150);
  /** @param {number} loaded @param {number} total */
  const progress = (loaded, total) => {
    bar.value = loaded / total;
    const [has, all] = [loaded, total].map((bytes) => (bytes / 1e6).toFixed(1));
    words.textContent = loaded < total ? `Fetching ${name}: ${has} of ${all} MB` : `Running ${name} …`;
  };
  const end = () => {
    clearTimeout(timer);
    busy.hidden = true;
  };
  return { progress, end };
}
