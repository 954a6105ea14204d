// What a page shows is in its address, by the names and in the types that the app gives it (attnviz/pages_and_addresses.py), which the page
// has in its configuration: a link to the app opens the same picture here. What cannot be read counts as not there.

import { clamp } from "../../figures/drawing/canvas.js";

/**
 * @import { WeightPlace } from "./link_steps.js"
 * @import { ModelPicture } from "./run_model.js"
 * @import { Config, Example } from "./site.js"
 */

// Texts in an address, as attnviz/pages_and_addresses.py writes them: long ones are compressed.

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

/** Whether an example of a weight is the very one that the address names. @param {Example} example @param {Values} values */
export function isPlaceOf({ place }, values) {
  return !place || (!values.words && Object.keys(place).every((name) => values[name] === undefined || values[name] === place[name]));
}

/** How an example of Compute stands in the address. @param {Example} example @param {boolean} isFirst @returns {Values} */
export function computeAddress({ source, label, prompt }, isFirst) {
  return source === "worked" ? { worked: isFirst ? null : label } : { source, text: prompt.text };
}

/** The weight that the address names, as far as the model has it. @param {Config} config @param {ModelPicture} picture @param {Values} values
 * @returns {WeightPlace} */
export function placeOnCompute({ weights = {} }, { said: { prompt, tokens, maps: [{ shape: [layers, heads] }] } }, values) {
  const weight = weights[prompt.text] ?? Object.values(weights)[0];
  const last = tokens.length - 1;
  // Unasked no mark at the ends of a text, such as [SEP], is opened.
  /** @type {Record<string, number>} */
  const unasked = { ...weight, query: clamp(weight?.query ?? 1, 1, Math.max(last - 1, 1)), key: clamp(weight?.key ?? 1, 1, Math.max(last - 1, 1)) };
  const at = (/** @type {"layer" | "head" | "query" | "key"} */ name, /** @type {number} */ most) => clamp(values[name] ?? unasked[name] ?? 0, 0, most);
  return { layer: at("layer", layers - 1), head: at("head", heads - 1), query: at("query", last), key: at("key", last), words: Boolean(values.words) };
}

// Which pictures the address names, of a page whose pictures were all written when the site was built.

/** The group that the address means (-1: none is here), and what it says of its pictures. Of `needs` a group has what an address must say to mean it: what
 * an address leaves out is as in the app. @param {{ groups: Values[], needs: string[][] }} config @param {Values} given */
export function groupAt({ groups, needs }, given) {
  const found = groups.findIndex((group, at) =>
    needs[at].every((name) => name in given) && Object.entries(given).every(([name, value]) => !(name in group) || String(group[name]) === String(value)));
  const names = groups.flatMap(Object.keys);
  return { found, asked: Object.fromEntries(Object.entries(given).filter(([name]) => !names.includes(name))) };
}

/**
 * @typedef {"flag" | "switch" | readonly string[] | { least: number, most: number, step?: number } | { longest: number | null, several?: number }} Type  a flag is off unless
 *   the address says so; of a switch, the page knows what it is unasked; a number with its bounds, a whole one unless it has a step; a text, or several, in letters
 * @typedef {Record<string, any>} Values  what the address says, by name
 */

/** What the address of a page says; what has another name there, an old one or that of another page, counts where its own is missing.
 * @param {Pick<Config, "parameters" | "renamed">} config @param {string} search @returns {Promise<Values>} */
export async function readAddress({ parameters, renamed }, search) {
  const given = new URLSearchParams(search);
  /** @type {Values} */
  const values = {};
  for (const [name, type] of Object.entries(parameters)) {
    const known = given.has(name) ? name : Object.keys(renamed).find((other) => renamed[other] === name && given.has(other));
    const written = known ? given.getAll(known) : [];
    const value = written.length ? await readValue(type, written) : null;
    if (value !== null) values[name] = value;
  }
  return values;
}

/** Whether the address of a page asks for something that only the app can do. @param {Pick<Config, "appOnly">} config @param {string} search */
export const isOfTheApp = ({ appOnly }, search) => [...new URLSearchParams(search)].some(([name, value]) => value && (appOnly.includes(name) || appOnly.includes(`${name}=${value}`)));

/** @param {Record<string, Type>} parameters of a page @param {Values} values */
export async function writeAddress(parameters, values) {
  const query = new URLSearchParams();
  for (const [name, type] of Object.entries(parameters)) {
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

/** @param {string} written @param {number | null} longest null: any length */
async function readText(written, longest) {
  const text = await unpackText(written);
  // Half of a character that takes two is none.
  return text === null || !text.isWellFormed() || (longest !== null && Array.from(text).length > longest) ? null : text;
}
