// Calls functions of the runner, or reads its values: of calls, [module, name, ...arguments], what each returns.
// The path of a tokenizer.json becomes its tokenizer, "segmenter" what cuts sentences, and "-inf" minus infinity, which JSON does not have.

import { Tokenizer } from "@huggingface/tokenizers";

const read = (_, value) => (value === "-inf" ? -Infinity : value);
const written = (_, value) => (value === -Infinity ? "-inf" : ArrayBuffer.isView(value) ? [...value] : value);

async function textOf(path) {
  if (globalThis.document) return (await fetch(`/file${path}`)).text();
  const { readFile } = await import("node:fs/promises");
  return readFile(path, "utf-8");
}

async function segmenter() {
  const { default: begin, get_sentence_boundaries: segment } = await import("sentencex-wasm");
  const place = new URL("sentencex_wasm_bg.wasm", import.meta.resolve("sentencex-wasm"));
  const { readFile } = globalThis.document ? { readFile: fetch } : await import("node:fs/promises");
  await begin({ module_or_path: await readFile(place) });
  return segment;
}

const tokenizers = new Map();
async function known(value) {
  if (value === "segmenter") return segmenter();
  if (typeof value !== "string" || !value.endsWith("tokenizer.json")) return value;
  if (!tokenizers.has(value)) tokenizers.set(value, new Tokenizer(JSON.parse(await textOf(value)), {}));
  return tokenizers.get(value);
}

export default async function (calls) {
  const made = [];
  for (const [module, name, ...given] of JSON.parse(JSON.stringify(calls), read)) {
    const own = (await import(`../../../../attnviz/live/web/models/${module}.js`))[name];
    made.push(typeof own === "function" ? await own(...(await Promise.all(given.map(known)))) : own);
  }
  return JSON.parse(JSON.stringify(made, written));
}
