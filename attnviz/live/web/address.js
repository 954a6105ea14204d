// What a page shows is in its address, by the names that the app gives it (attnviz/ui/address/parameters.py): a link to the app opens
// the same picture here. What cannot be read counts as not there.

import { clamp } from "../../figures/drawing/canvas.js";

/**
 * @import { WeightPlace } from "./link_steps.js"
 * @import { ModelPicture } from "./run_model.js"
 * @import { Config, Example } from "./site.js"
 */

// Texts in an address, as attnviz/text/url_text.py writes them: long ones are compressed.

const MARK = "~z~";
// Shorter ones can be read, and changed, by a person.
const READABLE = 300;
const LARGEST = 16_000;

/** Whether an address has room for a text. @param {string} text */
export const isInAddress = (text) => new TextEncoder().encode(text).length <= LARGEST;

/** How long a text is in an address as it was typed. @param {string} text */
const writtenLength = (text) => new TextEncoder().encode(text).reduce((sum, byte) => sum + (/[\w./~-]/.test(String.fromCharCode(byte)) ? 1 : 3), 0);

/** @param {string} text */
export async function packText(text) {
  const written = writtenLength(text);
  if (written <= READABLE && !text.startsWith(MARK)) return text;
  const data = await through(new TextEncoder().encode(text), new CompressionStream("deflate-raw"));
  const letters = Array.from(data, (byte) => String.fromCharCode(byte)).join("");
  const packed = MARK + btoa(letters).replaceAll("+", "-").replaceAll("/", "_").replace(/=+$/, "");
  return packed.length < written || text.startsWith(MARK) ? packed : text;
}

/** The text that was packed; null where it cannot be one. @param {string} written @returns {Promise<string | null>} */
export async function unpackText(written) {
  if (!written.startsWith(MARK)) return written;
  const data = written.slice(MARK.length).replace(/={1,2}$/, "");
  if (!/^[\w-]*$/.test(data)) return null;
  try {
    const letters = atob(data.replaceAll("-", "+").replaceAll("_", "/"));
    const bytes = Uint8Array.from(letters, (letter) => letter.charCodeAt(0));
    return new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(await through(bytes, new DecompressionStream("deflate-raw")));
  } catch {
    return null;
  }
}

/** A few bytes can stand for gigabytes: no more than a page writes is read.
 * @param {Uint8Array<ArrayBuffer>} bytes @param {CompressionStream | DecompressionStream} stream */
async function through(bytes, stream) {
  const reader = new Blob([bytes]).stream().pipeThrough(stream).getReader();
  const parts = [];
  let size = 0;
  for (let part = await reader.read(); !part.done; part = await reader.read()) {
    parts.push(part.value);
    size += part.value.length;
    if (size <= LARGEST) continue;
    await reader.cancel();
    throw new RangeError("too long");
  }
  return new Uint8Array(await new Blob(parts).arrayBuffer());
}

// Which computation the address of Compute names: a worked example, or a weight of a text that a model reads.

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

/**
 * @typedef {"flag" | "switch" | readonly string[] | { least: number, most: number, step?: number } | { longest: number, several?: number }} Type  a flag is off unless
 *   the address says so; of a switch, the page knows what it is unasked; a number with its bounds, a whole one unless it has a step; a text, or several, in letters
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
  write: { model: NAME, text: TEXT, written: TEXT, more: { least: 1, most: 200 }, choose: ["Likeliest", "By chance"], temperature: { least: 0.1, most: 2, step: 0.1 },
    top_p: { least: 0.05, most: 1, step: 0.05 }, top_k: { least: 0, most: 50 }, seed: { least: 0, most: 9999 },
    mean: "flag", words: "flag", hide_special: "flag", ...HEAD, ...EXPLORER, queries: { longest: 120 }, keys: { longest: 120 } },
  compute: { source: ["worked", "model"], worked: NAME, model: NAME, text: TEXT, layer: NUMBER, head: NUMBER, query: NUMBER, key: NUMBER,
    words: "flag", at: NAME, present: "flag" },
};
// What only the app can do.
const APP_ONLY = ["edits", "renormalize", "between", "penalty", "weighing", "other", "reading", "hard", "punctuation", "reference",
  "tokens", "numbers", "mask", "own", "padded", "divide", "seed", "predict", "chat", "why"];
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

/** What the address of a page asks for that only the app can do. @param {string} page @param {string} search */
export const askedOfTheApp = (page, search) => [...new URLSearchParams(search)].filter(([name, value]) => value && ((APP_ONLY.includes(name) && !(name in PARAMETERS[page])) || OF_ONE_MODEL.test(name) || (name === "way" && value === "random")));

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
  if ("step" in type) {
    const value = /^[+-]?[0-9]{1,300}(\.[0-9]{1,300})?(e[+-]?[0-9]{1,3})?$/.test(last) ? Number(last) : Infinity;
    return Number.isFinite(value) ? Math.min(Math.max(value, type.least), type.most) : null;
  }
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
