// Traces texts as the page without a server does: a folder of models and a name, requests as lines of JSON in, traces as lines out. A
// request with a way to choose tokens is first written on.

import { Buffer } from "node:buffer";
import { readFile } from "node:fs/promises";
import process from "node:process";
import { createInterface } from "node:readline";
import { Tokenizer } from "@huggingface/tokenizers";
import * as ort from "onnxruntime-web/wasm";
import { get_sentence_boundaries as segmenter, initSync } from "sentencex-wasm";
import { load } from "../../../../attnviz/live/web/models/load_model.js";
import { withLabels } from "../../../../attnviz/live/web/wording.js";

ort.env.wasm.numThreads = 1;
initSync({ module: await readFile(new URL("sentencex_wasm_bg.wasm", import.meta.resolve("sentencex-wasm"))) });
const [folder, name] = process.argv.slice(2);
const get = async (path) => new Response(await readFile(path));
const manifest = JSON.parse(await readFile(`${folder}/${name}/model.json`, "utf-8"));
const model = await load(folder, manifest, { ort, Tokenizer, segmenter, fetch: get, inspects: true });
const base64 = ({ buffer, byteOffset, byteLength }) => Buffer.from(buffer, byteOffset, byteLength).toString("base64");
const weightsOf = ({ layers, heads, weights }, first) => {
  const places = Array.from({ length: layers * heads }, (_, place) => [Math.floor(place / heads), place % heads]);
  const all = places.filter(([layer]) => layer >= first).map((place) => weights(...place));
  const size = all[0].length;
  const joined = new Float32Array(all.length * size);
  all.forEach((own, place) => joined.set(own, place * size));
  return joined;
};

for await (const line of createInterface({ input: process.stdin })) {
  const start = performance.now();
  let answer;
  try {
    // Of long texts the last layers are enough: they are made of those before, and all of them are a hundred megabytes.
    const { inspect, first = 0, ...request } = JSON.parse(line);
    if (request.sampling) {
      const written = await model.write(request, () => {}, () => false);
      request.written = [request.written, ...written].filter(Boolean).join(" ");
    }
    const trace = await model.trace(request);
    const milliseconds = performance.now() - start;
    const inputs = inspect ? await model.inspect(request, ...inspect) : undefined;
    const maps = trace.maps.map((map) => ({ ...map, weights: base64(weightsOf(map, first)) }));
    const writing = trace.extra?.writing && withLabels(trace.extra.writing);
    answer = { ...trace, maps, inputs, writing, milliseconds };
  } catch (error) {
    answer = { error: error.message, kind: error.constructor.name };
  }
  process.stdout.write(`${JSON.stringify(answer)}\n`);
}
