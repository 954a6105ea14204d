// The steps of a weight of a text that was typed, and how far they are from the weight in the heatmap.

import { wordGroups } from "../head_view.js";
import { powerOfTen } from "../number_text.js";
import { nameOfHead } from "../head_name.js";
import { describeSteps } from "./computation.js";
import { linkSteps, mergeStep, vectorsOf } from "./link_steps.js";

/**
 * @import { AttentionMap } from "../head_view.js"
 * @import { HeadInputs } from "./link_steps.js"
 * @typedef {{ layer: number, head: number, query: number, key: number, words: boolean }} WeightPlace
 */

/** @param {AttentionMap} map @param {HeadInputs} inputs @param {WeightPlace} place @param {string} model */
export function unfoldWeight(map, inputs, { layer, head, query, key, words }, model) {
  const link = { tokens: map.keys.map(({ text }) => text), query, key };
  const steps = linkSteps(inputs, vectorsOf(inputs), link);
  const softmax = steps.findIndex(({ symbol }) => symbol === "softmax");
  const { matrices, start } = steps[softmax];
  const weights = map.weights(layer, head);
  const weight = weights[query * map.keys.length + key];
  const difference = Math.abs(weight - matrices[1].values[start[0]][start[1]]);
  if (words) {
    const [rows, columns] = [query, key].map((place) => wordGroups(map.keys).find((group) => group.includes(place)) ?? [place]);
    const merged = mergeStep(weights, link.tokens, rows, columns);
    if (merged) steps.splice(softmax + 1, 0, merged);
  }
  const checked = `${nameOfHead(layer, head)} of ${model} has ${weight.toFixed(4)} in the heatmap; these steps agree with it to ${powerOfTen(difference)}.`;
  return { at: [0, ...steps[0].start], computation: describeSteps(steps), checked };
}
