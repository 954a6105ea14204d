// Runs a model on what was typed: it is fetched the first time, with its progress in megabytes, and can be left.

import { make } from "../../figures/drawing/elements.js";
import { ModelPicture } from "./picture.js";

/**
 * @import { Values } from "./address.js"
 * @import { Desk } from "./desk.js"
 * @import { Said } from "./picture.js"
 */

/** @param {Desk} desk @param {string} key @param {Record<string, string>} prompt @param {Values} values */
export async function runModel(desk, key, prompt, values) {
  const { config: { models, runtimeBytes, examples, first }, background } = desk;
  const name = (values.models ?? [values.model ?? examples[0].models[0]])[0] ?? "";
  if (!models.includes(name)) throw new Error("no model");
  if (typeof WebAssembly !== "object") throw new Error("no webassembly");
  const busy = showBusy(desk, name);
  try {
    const trace = await background.ask("run", { key, name, runtimeBytes, request: prompt }, busy.progress);
    // What other texts may need is fetched while nobody waits.
    background.ask("complete", { name }).catch(() => {});
    return new ModelPicture(saidOf(trace, name, prompt, first), key, background);
  } finally {
    busy.end();
  }
}

/** What the page says of a trace, as of a picture that came with the site. @param {any} trace @param {string} name
 * @param {Record<string, string>} prompt @param {Record<string, [layer: number, head: number | null]>} first @returns {Said} */
function saidOf(trace, name, prompt, first) {
  /** @type {{ kind: string, shape: [number, number] }[]} */
  const maps = trace.maps;
  const cut = trace.cut ?? trace.cutPair;
  return {
    name,
    models: [name],
    label: "",
    notice: cut === null ? "" : "This model reads no more than so many tokens: the text was cut.",
    prompt,
    output: trace.output,
    shown: maps.find(({ kind }) => kind in first)?.kind ?? maps[0].kind,
    story: [],
    maps: maps.map(({ kind, shape }) => ({ kind, shape, file: "", first: first[kind] ?? [shape[0] - 1, 0] })),
  };
}

/** What is being fetched, and the way to leave it. @param {Desk} desk @param {string} name */
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
