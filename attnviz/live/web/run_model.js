// Runs a model on what was typed: it is fetched the first time, with its progress in megabytes, and can be left.

import { make } from "../../figures/drawing/elements.js";
import { ModelPicture } from "./picture.js";

/**
 * @import { Values } from "./address.js"
 * @import { Desk } from "./desk.js"
 */

/** @param {Desk} desk @param {string} key @param {Record<string, string>} prompt @param {Values} values */
export async function runModel(desk, key, prompt, values) {
  const { config: { models, examples }, root, background } = desk;
  const wanted = values.models ?? [values.model ?? examples[0].models[0]];
  const name = wanted[0] ?? "";
  const files = models[name];
  if (!files) throw new Error("no model");
  if (typeof WebAssembly !== "object") throw new Error("no webassembly");
  const busy = showBusy(desk, name);
  try {
    const base = new URL(files.manifest, root);
    const manifest = await readManifest(base);
    const asked = { key, name, base: base.href, script: new URL(files.script, root).href, manifest, prompt };
    const trace = await background.ask("run", asked, busy.progress);
    return new ModelPicture(trace, key, background);
  } finally {
    busy.end();
  }
}

/** @param {URL} url */
async function readManifest(url) {
  const response = await fetch(url).catch(() => null);
  if (!response?.ok) throw new Error("download");
  return response.json();
}

/** What is being fetched, and the way to leave it. @param {Desk} desk @param {string} name */
function showBusy({ parts: { busy }, background }, name) {
  const [words, bar] = [make("span", {}, `Opening ${name} …`), make("progress", { max: 1 })];
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
