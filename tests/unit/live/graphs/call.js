// Calls functions of the runner, or reads its values: lines of JSON in, [module, name, ...arguments]; what each returns as lines out.
// The path of a tokenizer.json becomes its tokenizer.

import { readFileSync } from "node:fs";
import { createInterface } from "node:readline";
import process from "node:process";
import { Tokenizer } from "@huggingface/tokenizers";

const finite = (key, value) => (value === -Infinity ? "-inf" : ArrayBuffer.isView(value) ? [...value] : value);

const tokenizers = new Map();
const known = (value) => {
  if (typeof value !== "string" || !value.endsWith("tokenizer.json")) return value;
  if (!tokenizers.has(value)) tokenizers.set(value, new Tokenizer(JSON.parse(readFileSync(value, "utf-8")), {}));
  return tokenizers.get(value);
};

for await (const line of createInterface({ input: process.stdin })) {
  const [module, name, ...given] = JSON.parse(line, (key, value) => (value === "-inf" ? -Infinity : value));
  const functions = await import(`../../../../attnviz/live/web/models/${module}.js`);
  const own = functions[name];
  process.stdout.write(`${JSON.stringify(typeof own === "function" ? await own(...given.map(known)) : own, finite)}\n`);
}
