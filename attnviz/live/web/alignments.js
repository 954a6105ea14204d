// What is drawn of translations that were made here: of each model the head that is chosen, or that follows what is asked.

/**
 * @import { Values } from "./address.js"
 * @import { ModelPicture } from "./model_picture.js"
 * @import { TranslationQuestion } from "./translation_picture.js"
 */

// Weights below this one are drawn as no link (attnviz/figures/translate/alignments.py).
const LEAST_WEIGHT = 0.03;

/** @param {Values} values */
export const isHeadChosen = ({ layer, head, all_heads: isMean }) => [layer, head, isMean].some((each) => (each ?? null) !== null);

/** The number of the model that is large. @param {Values} values @param {number} count of the models */
export const heroOf = ({ hero }, count) => (hero >= 1 && hero <= count ? hero : 1);

/** @param {ModelPicture} picture @param {Values} values */
export async function alignmentsOf(picture, values) {
  const { models, prompt } = picture.said;
  const { layer = null, head = null, all_heads: isMean = null, whole_words: words = true, hide_special: hideSpecial = false } = values;
  const view = { words, hideSpecial };
  const cellAt = (/** @type {number} */ slot) => ({ query: values[`query${slot}`] ?? null, key: values[`key${slot}`] ?? null });
  const hero = heroOf(values, models.length);
  const isPinned = isHeadChosen(values);
  const followed = isPinned ? null : await picture.ask("follow", { name: models[hero - 1], asked: { ...view, ...cellAt(hero) } });
  const asked = { ...view, layer, head, isMean, followed, isGiven: Boolean(prompt.target) };
  const made = await Promise.all(models.map((name, index) => picture.ask("translation", { name, asked: { ...asked, ...cellAt(index + 1) } })));
  const slots = /** @type {const} */ (["described", "weights", "cell", "ranked", "firstRow", "likely"]);
  const [described, weights, cells, ranked, firstRows, likely] = slots.map((part) => made.map((each) => each[part]));
  const bySlot = (/** @type {any[]} */ parts) => Object.fromEntries(parts.flatMap((each, index) => (each === null ? [] : [[index + 1, each]])));
  return {
    name: JSON.stringify([picture.said.prompt, models, described.map(({ place }) => place), view, described.map(({ parts }) => parts)]),
    models: described.map((each, index) => ({ slot: index + 1, ...each })),
    chunks: new Map(weights.map((each, index) => [String(index + 1), each])),
    cells: bySlot(cells),
    ranked: bySlot(ranked),
    firstRows: bySlot(firstRows),
    likely: bySlot(likely),
    open: false,
    isPinned,
    least: LEAST_WEIGHT,
  };
}
