// What a page shows is in its address, by the names that the app gives it (attnviz/ui/address/parameters.py): a link to the app opens
// the same picture here. What cannot be read counts as not there.

import { packText, unpackText } from "./url_text.js";

/**
 * @typedef {"text" | "flag" | "switch" | "number" | "names" | readonly string[]} Type  a flag is off unless the address says so; of a switch, the page
 *   knows what it is unasked
 * @typedef {Record<string, any>} Values  what the address says, by name
 */

// No model has as many layers, heads or tokens.
const MOST = 99_999;
const VIEWS = /** @type {const} */ (["grid", "matrix", "arcs", "text"]);
const SCALES = /** @type {const} */ (["0 to 1", "Fit to this head"]);
const OPEN = /** @type {const} */ (["open"]);
const KINDS = /** @type {const} */ (["encoder", "decoder", "cross"]);
/** @type {Record<string, Type>} */
const HEAD = { layer: "number", head: "number", scale: SCALES, present: "flag" };
/** @type {Record<string, Type>} */
const EXPLORER = { view: VIEWS, look: "text", query: "number", key: "number" };
/** The names of several models side by side end with the number of the model. @param {Record<string, Type>} types @param {number[]} slots */
const each = (types, ...slots) => Object.fromEntries(slots.flatMap((slot) => Object.entries(types).map(([name, type]) => [name + slot, type])));
/** @type {Record<string, Record<string, Type>>} */
const PARAMETERS = {
  encode: { model: "text", text: "text", pair: "text", attention: KINDS, mean: "flag", words: "flag", hide_special: "flag", ...HEAD, ...EXPLORER, queries: "text", keys: "text" },
  translate: { models: "names", text: "text", target: "text", into: ["French", "German"], decoding: ["Greedy", "Beam"], width: "number", hero: "number",
    all_heads: "switch", whole_words: "switch", hide_special: "flag", ...HEAD, ...each({ query: "number", key: "number" }, 1, 2, 3, 4) },
  answer: { models: "names", question: "text", passage: "text", picture: ["passage", "matrix", "spans"], side: ["cross", "passage", "question"], all_heads: "switch", whole_words: "switch",
    hide_special: "flag", ...HEAD, ...each({ asked: "number", all: OPEN, ...EXPLORER }, 1) },
  summarize: { model: "text", text: "text", unit: ["Count", "Share"], words_kept: "number", share_kept: "number", sentences_kept: "number", way: ["trained", "last", "mean", "head", "rollout", "first"],
    all_heads: "switch", whole_words: "switch", all: OPEN, ...HEAD, ...EXPLORER },
  compute: { source: ["worked", "model"], worked: "text", model: "text", text: "text", layer: "number", head: "number", query: "number", key: "number",
    words: "flag", at: "text", present: "flag" },
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
  if (type === "number") return /^[+-]?[0-9]{1,4000}$/.test(last) ? Math.min(Math.max(Number(last), 0), MOST) : null;
  if (type === "names") return [...new Set(written.filter(Boolean))].slice(0, 4);
  if (type !== "text") return type.includes(last) ? last : null;
  const text = await unpackText(last);
  // Half of a character that takes two is none.
  return text === null || !text.isWellFormed() ? null : text;
}
