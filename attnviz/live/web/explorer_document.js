// All heads of a picture as a document of their own, the one that attnviz writes: the explorer with its packages in it.

import { fetchFile } from "./runtime.js";

/**
 * @import { SitePage } from "./site_page.js"
 * @import { ModelPicture } from "./model_picture.js"
 */

/** @param {SitePage} sitePage @param {ModelPicture} picture @param {{ kind: string, layer: number, head: number | null, view: any }} shown */
export async function documentOf(sitePage, picture, { kind, layer, head, view }) {
  const response = await fetchFile(new URL("document.html", sitePage.files));
  const template = await response.text();
  const packages = await Promise.all(picture.maps.map((map) => packed(picture, map.kind, map.shape, view)));
  const { prompt, output, models } = picture.said;
  const paragraphs = [prompt.question, prompt.text, prompt.pair].filter(Boolean).map((text) => `<p dir="auto">${escaped(String(text))}</p>`);
  if (output) paragraphs.push(`<p class="output" dir="auto">${escaped(output)}</p>`);
  /** @type {Record<string, string>} */
  const parts = {
    title: escaped(models[0]),
    header: paragraphs.join(""),
    opens: ` data-opens="${escaped(JSON.stringify([kind, layer, head]))}"`,
    packages: packages.map((data) => `<script type="text/plain" data-package>${data}</script>`).join("\n"),
  };
  const written = template.replace(/\$(title|header|opens|packages)\b/g, (_, name) => parts[name]);
  return new Blob([written], { type: "text/html" });
}

/** One package with every head, in base64. @param {ModelPicture} picture @param {string} kind @param {[number, number]} shape @param {any} view */
async function packed(picture, kind, [layers, heads], view) {
  const overview = await picture.overview(kind, view);
  if (!overview) throw new Error("nothing is left to show");
  const { chunks, plain, ...header } = overview;
  const all = Array.from({ length: layers * (heads + 1) }, (_, place) => {
    const head = place % (heads + 1);
    return /** @type {[number, number | null]} */ ([Math.floor(place / (heads + 1)), head === heads ? null : head]);
  });
  const missing = all.filter(([layer, head]) => !chunks.has(`${layer}:${head ?? "mean"}`));
  const whole = new Map([...chunks, ...(missing.length ? await picture.heads(kind, view, missing) : [])]);
  /** @type {Record<string, [number, number]>} */
  const places = {};
  let size = 0;
  const packedChunks = plain ? await Promise.all([...whole].map(packedChunk)) : [...whole];
  for (const [name, chunk] of packedChunks) {
    places[name] = [size, chunk.length];
    size += chunk.length;
  }
  const head = new TextEncoder().encode(JSON.stringify({ ...header, chunks: places }));
  const data = await new Blob([new Uint32Array([head.length]), head, ...packedChunks.map(([, chunk]) => chunk)]).arrayBuffer();
  return base64(new Uint8Array(data));
}

/** As it travels: of a head, all but how many decimals its numbers have is compressed. @param {[name: string, chunk: Uint8Array<ArrayBuffer>]} part
 * @returns {Promise<[name: string, chunk: Uint8Array<ArrayBuffer>]>} */
async function packedChunk([name, chunk]) {
  const first = name === "thumbs" ? 0 : 1;
  const stream = new Blob([chunk.subarray(first)]).stream().pipeThrough(new CompressionStream("deflate"));
  const small = await new Blob([chunk.subarray(0, first), await new Response(stream).arrayBuffer()]).arrayBuffer();
  return [name, new Uint8Array(small)];
}

/** @param {Uint8Array} bytes */
function base64(bytes) {
  const parts = [];
  for (let at = 0; at < bytes.length; at += 0x8000) parts.push(String.fromCharCode(...bytes.subarray(at, at + 0x8000)));
  return btoa(parts.join(""));
}

/** @param {string} text */
function escaped(text) {
  const named = text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;").replaceAll('"', "&quot;");
  // HTML has no other control character.
  return named.replace(/[^\P{Cc}\t\n]|[\ufffe\uffff]/gu, "");
}
