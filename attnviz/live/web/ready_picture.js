// Whether an address asks for the picture that an example comes with, so that nothing is computed.

import { heroOf, isHeadChosen } from "./alignments.js";
import { isPlaceOf } from "./compute/compute_place.js";
import { optionsOf } from "./run_model.js";

/**
 * @import { Values } from "./address.js"
 * @import { Config, Example } from "./site_page.js"
 */

/** What the fields of a page are called in a prompt. @type {Record<string, string>} */
export const PROMPT = { text: "text", passage: "text", pair: "pair", question: "question", target: "target" };

/** Whether the address asks for the heads, the words and the link that a picture came with.
 * @param {Values} values @param {[layers: number, heads: number][]} shapes of the models */
function isUnaskedAlignment(values, shapes) {
  const hero = heroOf(values, shapes.length);
  const follows = (values[`query${hero}`] ?? null) !== null && shapes[hero - 1].some((size) => size > 1);
  return !isHeadChosen(values) && (values.whole_words ?? true) && !values.hide_special && !follows;
}

/** Whether all of it is the example's: models, text, options, language, and what is looked at.
 * @param {Config} config @param {Example} example @param {Record<string, string>} prompt @param {Values} values */
export function isReadyPicture(config, example, prompt, values) {
  const asked = values.models ?? (values.model ? [values.model] : null);
  const fields = [...new Set([...config.fields.map((name) => PROMPT[name]), "pair"])];
  return (
    (!asked?.length || String(asked) === String(example.models)) &&
    fields.every((name) => (example.prompt[name] ?? "") === (prompt[name] ?? "")) &&
    (!prompt.target || prompt.target === example.prompt.target) &&
    (!values.into || values.into === example.into) &&
    JSON.stringify(optionsOf(config, values)) === JSON.stringify(optionsOf(config, {})) &&
    isPlaceOf(example, values) &&
    (!example.shapes || isUnaskedAlignment(values, example.shapes))
  );
}
