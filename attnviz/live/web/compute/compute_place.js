// Which computation the address of Compute names: a worked example, or a weight of a text that a model reads.

import { clamp } from "../../../figures/drawing/canvas.js";

/**
 * @import { Values } from "../address.js"
 * @import { Config, Example } from "../site_page.js"
 * @import { ModelPicture } from "../model_picture.js"
 * @import { WeightPlace } from "./weight_steps.js"
 */

/** The examples among which the address chooses. @param {Config} config @param {Values} values @returns {Example[]} */
export function computeExamples({ examples }, { source = "worked", worked }) {
  const own = examples.filter((example) => example.source === source);
  return source === "worked" ? [own.find(({ label }) => label === worked) ?? own[0]] : own;
}

/** Whether an example is the very weight that the address names. @param {Example} example @param {Values} values */
export function isPlaceOf({ place }, values) {
  const chosen = /** @type {Values} */ (place ?? {});
  return !values.words && Object.keys(chosen).every((name) => values[name] === undefined || values[name] === chosen[name]);
}

/** How an example of Compute stands in the address. @param {Example} example @param {boolean} isFirst @returns {Values} */
export function computeAddress({ source, label, prompt }, isFirst) {
  return source === "worked" ? { worked: isFirst ? null : label } : { source, text: prompt.text };
}

/** The weight that the address names, as far as the model has it. @param {Config} config @param {ModelPicture} picture @param {Values} values
 * @returns {WeightPlace} */
export function placeOnCompute({ weight }, { said: { tokens, maps: [{ shape: [layers, heads] }] } }, values) {
  const last = tokens.length - 1;
  // Unasked no mark at the ends of a text, such as [SEP], is opened.
  /** @type {Record<string, number>} */
  const unasked = { ...weight, query: clamp(weight?.query ?? 1, 1, Math.max(last - 1, 1)), key: clamp(weight?.key ?? 1, 1, Math.max(last - 1, 1)) };
  const at = (/** @type {"layer" | "head" | "query" | "key"} */ name, /** @type {number} */ most) => clamp(values[name] ?? unasked[name] ?? 0, 0, most);
  return { layer: at("layer", layers - 1), head: at("head", heads - 1), query: at("query", last), key: at("key", last), words: Boolean(values.words) };
}
