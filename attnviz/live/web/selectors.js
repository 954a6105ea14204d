// Selectors: rules that choose what to keep of a text, as attnviz/analysis/summary_selection.py has them; and what each keeps.

import { bySentence, byUnit, chooseBy, received, rollout, unitsOf } from "./models/selection.js";
import { describeSelection } from "./summary_sentences.js";
import { nameOfHead } from "./head_name.js";

/**
 * @import { AttentionMap } from "./models/types.d.ts"
 * @import { Amount, Unit } from "./models/selection.js"
 * @typedef {{ sentences: [start: number, end: number][], selects: [words: number, sentences: number], name: string }} Read  what was read, and by which model
 * @typedef {{ key: string, name: string, unitScores: number[], sentenceScores: number[], isAttention: boolean }} Selector
 */

/** @param {string} text @param {AttentionMap} map @param {Read} read @param {Amount} amount @param {number} layer @param {number | null} head those that are chosen */
export function describeSelectors(text, map, read, amount, layer, head) {
  const units = unitsOf(text, map.queries, read.sentences);
  return selectorsOf(map, units, read, layer, head).map((selector) => {
    const selection = chooseBy(selector, units, read.sentences, amount);
    return { key: selector.key, name: selector.name, ...describeSelection(text, selection, read, selector) };
  });
}

/** @param {AttentionMap} map @param {Unit[]} units @param {Read} read @param {number} layer @param {number | null} head @returns {Selector[]} */
function selectorsOf(map, units, { sentences: { length: count }, selects }, layer, head) {
  const before = [...Array(Math.min(...selects)).keys()];
  const last = before[before.length - 1];
  const layers = before.map((each) => received(map, each));
  const mean = layers[0].map((_, key) => layers.reduce((sum, each) => sum + each[key], 0) / layers.length);
  const place = `${nameOfHead(layer, head)}${selects.includes(layer) ? ", trained" : ""}`;
  const by = (/** @type {string} */ key, /** @type {string} */ name, /** @type {ArrayLike<number>} */ words, sentences = words) => {
    return { key, name, unitScores: byUnit(units, words), sentenceScores: bySentence(units, sentences, count), isAttention: true };
  };
  const order = (/** @type {number} */ length) => Array.from({ length }, (_, at) => -at);
  return [
    by("trained", "Trained selector", received(map, selects[0]), received(map, selects[1])),
    by("last", `Attention, last layer (L${last})`, layers[last]),
    by("mean", "Attention, mean of all layers", mean),
    by("head", `Attention, chosen ${head === null ? "layer" : "head"} (${place})`, received(map, layer, head)),
    by("rollout", "Attention rollout", rollout(map, before)),
    { key: "first", name: "First", unitScores: order(units.length), sentenceScores: order(count), isAttention: false },
  ];
}
