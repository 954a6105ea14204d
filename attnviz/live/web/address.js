// What a page shows is in its address, by the names that the app gives it (attnviz/ui/address/parameters.py): a link to the app opens
// the same picture here. What cannot be read counts as not there.

import { packText, unpackText } from "./url_text.js";

/**
 * @typedef {"flag" | "switch" | readonly string[] | { least: number, most: number } | { longest: number, several?: number }} Type  a flag is off unless
 *   the address says so; of a switch, the page knows what it is unasked; a number with its bounds; a text, or several, in letters
 * @typedef {Record<string, any>} Values  what the address says, by name
 */

// No model has as many layers, heads or tokens.
const NUMBER = { least: 0, most: 99_999 };
const TEXT = { longest: Infinity };
// File systems and the hub end before.
const NAME = { longest: 255 };
/** Names of models side by side. @param {number} several */
const names = (several) => ({ ...NAME, several });
const VIEWS = /** @type {const} */ (["grid", "matrix", "arcs", "text"]);
const SCALES = /** @type {const} */ (["0 to 1", "Fit to this head"]);
const OPEN = /** @type {const} */ (["open"]);
const KINDS = /** @type {const} */ (["encoder", "decoder", "cross"]);
/** @type {Record<string, Type>} */
const HEAD = { layer: NUMBER, head: NUMBER, scale: SCALES, present: "flag" };
/** @type {Record<string, Type>} */
const EXPLORER = { view: VIEWS, look: { longest: 600 }, query: NUMBER, key: NUMBER };
/** The names of several models side by side end with the number of the model. @param {Record<string, Type>} types @param {number[]} slots */
const each = (types, ...slots) => Object.fromEntries(slots.flatMap((slot) => Object.entries(types).map(([name, type]) => [name + slot, type])));
/** @type {Record<string, Record<string, Type>>} */
export const PARAMETERS = {
  encode: { model: NAME, text: TEXT, pair: TEXT, attention: KINDS, mean: "flag", words: "flag", hide_special: "flag", ...HEAD, ...EXPLORER, queries: { longest: 120 }, keys: { longest: 120 } },
  translate: { models: names(4), text: TEXT, target: TEXT, into: ["French", "German"], decoding: ["Greedy", "Beam"], width: { least: 2, most: 10 }, hero: { least: 1, most: 4 },
    all_heads: "switch", whole_words: "switch", hide_special: "flag", ...HEAD, ...each({ query: NUMBER, key: NUMBER }, 1, 2, 3, 4) },
  answer: { models: names(2), question: TEXT, passage: TEXT, picture: ["passage", "matrix", "spans"], side: ["cross", "passage", "question"], all_heads: "switch", whole_words: "switch",
    hide_special: "flag", ...HEAD, ...each({ asked: NUMBER, all: OPEN, ...EXPLORER }, 1) },
  summarize: { model: NAME, text: TEXT, unit: ["Count", "Share"], words_kept: { least: 1, most: 100 }, share_kept: { least: 1, most: 100 }, sentences_kept: { least: 1, most: 6 },
    way: ["trained", "last", "mean", "head", "rollout", "first"], all_heads: "switch", whole_words: "switch", all: OPEN, ...HEAD, ...EXPLORER },
  compute: { source: ["worked", "model"], worked: NAME, model: NAME, text: TEXT, layer: NUMBER, head: NUMBER, query: NUMBER, key: NUMBER,
    words: "flag", at: NAME, present: "flag" },
};
// What only the app can do.
const APP_ONLY = ["edits", "renormalize", "between", "penalty", "weighing", "other", "reading", "hard", "punctuation", "reference",
  "tokens", "numbers", "mask", "own", "padded", "divide", "seed", "predict"];
const OF_ONE_MODEL = /^(edits|begins|candidate)[1-4]$/;

/** @param {string} page @param {string} search @returns {Promise<Values>} */
export async function readAddress(page, search) {
  const given = new URLSearchParams(search);
  /** @type {Values} */
  const values = {};
  for (const [name, type] of Object.entries(PARAMETERS[page] ?? {})) {
    const written = given.getAll(name);
    const value = written.length ? await readValue(type, written) : null;
    if (value !== null) values[name] = value;
  }
  return values;
}

/** What the address asks for that only the app can do. @param {string} search */
export const askedOfTheApp = (search) => [...new URLSearchParams(search)].filter(([name, value]) => value && (APP_ONLY.includes(name) || OF_ONE_MODEL.test(name) || (name === "way" && value === "random")));

/** @param {string} page @param {Values} values */
export async function writeAddress(page, values) {
  const query = new URLSearchParams();
  for (const [name, type] of Object.entries(PARAMETERS[page])) {
    const value = values[name] ?? null;
    if (value === null || value === "" || (type === "flag" && !value)) continue;
    for (const one of [value].flat()) query.append(name, await packText(String(one)));
  }
  return query.size ? `?${query}` : "";
}

/** @param {Type} type @param {string[]} written */
async function readValue(type, written) {
  const last = written[written.length - 1];
  if (type === "flag" || type === "switch") return { true: true, false: false }[last.toLowerCase()] ?? null;
  if (!(type instanceof Object)) return null;
  if ("least" in type) return /^[+-]?[0-9]{1,4000}$/.test(last) ? Math.min(Math.max(Number(last), type.least), type.most) : null;
  if (!("longest" in type)) return type.includes(last) ? last : null;
  if (!type.several) return readText(last, type.longest);
  const all = await Promise.all(written.map((each) => readText(each, type.longest)));
  return [...new Set(all.filter(Boolean))].slice(0, type.several);
}

/** @param {string} written @param {number} longest */
async function readText(written, longest) {
  const text = await unpackText(written);
  // Half of a character that takes two is none.
  return text === null || !text.isWellFormed() || Array.from(text).length > longest ? null : text;
}
