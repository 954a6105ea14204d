// Selectors: rules that choose what to keep of a text, as attnviz/analysis/summary_selection.py has them; and what each keeps.

import { nameOfHead } from "../../figures/drawing/elements.js";
import { wholePercent } from "../../figures/drawing/numbers.js";
import { chance } from "./models/sampling.js";
import { bySentence, byUnit, chooseBy, received, rollout, sharesOfHeads, unitsByHead, unitsOf } from "./models/summary_selection.js";
import { quoted, textPart } from "./wording.js";

/**
 * @import { Amount, Unit } from "./models/summary_selection.js"
 * @import { AttentionMap } from "./models/types.d.ts"
 * @import { KeptPassage } from "../../figures/summary_passage.js"
 * @import { HeadShown, Headline } from "./run_model.js"
 * @import { Row } from "./selectors_panel.js"
 * @import { Sentence } from "./wording.js"
 */

// What is kept of a text, described as attnviz/live/pictures.py describes it: a test compares both.

/**
 * @typedef {{ start: number, end: number, sentence: number, candidate: boolean }} TextUnit
 * @typedef {{ units: TextUnit[], sentences: [start: number, end: number][], unitScores: number[], sentenceScores: number[], kept: boolean[],
 *   keptSentences: boolean[] }} Selection
 */

const TRAINED = { key: "trained", name: "Trained selector", isAttention: true };
const NO_LOOK = "This selector looks at no attention: it is there to compare with, and bars show only its order.";

/** @param {boolean[]} marks */
const places = (marks) => [...marks.keys()].filter((place) => marks[place]);
/** @param {number[]} scores @param {number[]} at */
const scoreAt = (scores, at) => at.reduce((sum, place) => sum + scores[place], 0);

/** All that the page Summarize draws besides heads. @param {string} text @param {Selection} selection
 * @param {{ name: string, selects: [number, number] }} card @param {{ key: string, name: string, isAttention: boolean }} selector
 * @returns {{ first: object, story: Sentence[], answer: Headline, row: Row, passage: KeptPassage }} */
export function describeSelection(text, selection, { name, selects }, selector = TRAINED) {
  const { units, sentences, unitScores, sentenceScores, kept, keptSentences } = selection;
  const [letters, chosen] = [Array.from(text), places(keptSentences)];
  const read = (/** @type {[number, number]} */ [start, end]) => letters.slice(start, end).join("");
  const facts = ["The summary", name, selector.name];
  const answer = chosen.map((place) => read(sentences[place])).join(" ");
  const least = Math.min(...unitScores, 0);
  return {
    first: { encoder: [selects[0], null] },
    story: selector.isAttention ? [describeSentences(selection), describeChoice(letters, selection)] : [[textPart(NO_LOOK)]],
    answer: { text: answer, declined: "", facts },
    row: { key: selector.key, name: selector.name, sentences: answer, words: runningText(letters, units, kept) },
    passage: {
      units: units.map(({ start, end }) => [start, end]),
      scores: unitScores.map((score) => score - least),
      highest: Math.max(...unitScores.flatMap((score, place) => (units[place].candidate ? [score - least] : [])), 1e-12),
      kept: places(kept),
      sentence: units.map(({ sentence }) => sentence),
      sentences: chosen.map((place) => [place, selector.isAttention ? sentenceScores[place] : null]),
    },
  };
}

/** The kept words as running text, those that touch in the text unparted. @param {string[]} letters @param {TextUnit[]} units @param {boolean[]} kept */
function runningText(letters, units, kept) {
  let [text, last] = ["", 0];
  for (const { start, end } of units.filter((_, place) => kept[place])) {
    text += (start === last ? "" : " ") + letters.slice(start, end).join("");
    last = end;
  }
  return text.trim();
}

/** The share of the words that is kept, and that of the attention they receive. @param {string[]} letters @param {Selection} selection @returns {Sentence} */
function describeChoice(letters, { units, unitScores, kept }) {
  const [chosen, candidates] = [places(kept), places(units.map(({ candidate }) => candidate))];
  const share = scoreAt(unitScores, chosen) / Math.max(scoreAt(unitScores, candidates), Number.MIN_VALUE);
  const best = units[chosen.reduce((most, place) => (unitScores[place] > unitScores[most] ? place : most))];
  const words = `${chosen.length} of ${candidates.length} word${candidates.length > 1 ? "s" : ""}`;
  const most = quoted(letters.slice(best.start, best.end).join(""));
  if (chosen.length === 1) return [textPart(`${words} is marked: `), most, textPart(`. It gets ${wholePercent(share)} of the attention.`)];
  return [textPart(`${words} are marked. They get ${wholePercent(share)} of the attention, `), most, textPart(" most.")];
}

/** Which sentences are kept, and how far the next one stays behind. @param {Selection} selection @returns {Sentence} */
function describeSentences({ units, sentenceScores, keptSentences }) {
  const chosen = places(keptSentences);
  const read = [...new Set(units.flatMap(({ candidate, sentence }) => (candidate ? [sentence] : [])))];
  const others = read.filter((place) => !keptSentences[place]).map((place) => sentenceScores[place]);
  // As a list is written in British English: “1, 2 and 3”.
  const numbers = new Intl.ListFormat("en-GB").format(chosen.map((place) => String(place + 1)));
  const names = `Sentence${chosen.length > 1 ? "s" : ""} ${numbers}`;
  const least = wholePercent(Math.min(...chosen.map((place) => sentenceScores[place])));
  const gets = chosen.length > 1 ? "are kept. Each gets at least" : "is kept. It gets";
  const rest = others.length ? `; the next best gets ${wholePercent(Math.max(...others))}` : "";
  return [textPart(`${names} of ${read.length} ${gets} ${least} of the attention${rest}.`)];
}

/**
 * @typedef {{ sentences: [start: number, end: number][], selects: [words: number, sentences: number], name: string }} Read  what was read, and by which model
 * @typedef {{ key: string, name: string, unitScores: number[], sentenceScores: number[], isAttention: boolean }} Selector
 */

/** @param {string} text @param {AttentionMap} map @param {Read} read @param {Amount} amount @param {HeadShown} shown */
export function describeSelectors(text, map, read, amount, { layer, head, view: { words } }) {
  const units = unitsOf(text, map.queries, read.sentences, words);
  const byHead = unitsByHead(map, units);
  return selectorsOf(text, map, units, read, layer, head).map((selector) => {
    const selection = chooseBy(selector, units, read.sentences, amount);
    const shares = sharesOfHeads(byHead, units, selection.kept);
    return { key: selector.key, name: selector.name, shares, ...describeSelection(text, selection, read, selector) };
  });
}

/** @param {string} text @param {AttentionMap} map @param {Unit[]} units @param {Read} read @param {number} layer @param {number | null} head @returns {Selector[]} */
function selectorsOf(text, map, units, { sentences: { length: count }, selects }, layer, head) {
  const before = [...Array(Math.min(...selects)).keys()];
  const last = before[before.length - 1];
  const layers = before.map((each) => received(map, each));
  const mean = layers[0].map((_, key) => layers.reduce((sum, each) => sum + each[key], 0) / layers.length);
  const place = `${nameOfHead(layer, head)}${selects.includes(layer) ? ", trained" : ""}`;
  const by = (/** @type {string} */ key, /** @type {string} */ name, /** @type {ArrayLike<number>} */ words, sentences = words) => {
    return { key, name, unitScores: byUnit(units, words), sentenceScores: bySentence(units, sentences, count), isAttention: true };
  };
  const seed = Array.from(text).reduce((sum, letter) => sum + Number(letter.codePointAt(0)), 0);
  const without = (/** @type {string} */ key, /** @type {string} */ name, /** @type {(at: number) => number} */ score) => {
    const [unitScores, sentenceScores] = [units.map((_, at) => score(at)), Array.from({ length: count }, (_, at) => score(units.length + at))];
    return { key, name, unitScores, sentenceScores, isAttention: false };
  };
  return [
    by("trained", "Trained selector", received(map, selects[0]), received(map, selects[1])),
    by("last", `Attention, last layer (L${last})`, layers[last]),
    by("mean", "Attention, mean of all layers", mean),
    by("head", `Attention, chosen ${head === null ? "layer" : "head"} (${place})`, received(map, layer, head)),
    by("rollout", "Attention rollout", rollout(map, before)),
    without("first", "First", (at) => -at),
    without("random", "Random", (at) => chance(seed, at)),
  ];
}
