// What can be taken from a page: the head that is shown as a drawing or a table, and all heads as a document of their own.

import { make, nameOfHead } from "../../figures/drawing/elements.js";
import { THEMES } from "../../figures/drawing/themes.js";
import { shownHead } from "./controls.js";
import { asCsv, drawMatrix } from "./svg_and_csv.js";
import { fetchFile, saveFile } from "./fetch_files.js";

/**
 * @import { Token } from "./head_view.js"
 * @import { HeadShown, ModelPicture } from "./run_model.js"
 * @import { SitePage } from "./site.js"
 */

// All heads of a picture as a document of their own, the one that attnviz writes: the explorer with its packages in it.

/** @param {SitePage} sitePage @param {ModelPicture} picture @param {HeadShown} shown */
async function documentOf(sitePage, picture, { kind, layer, head, view }) {
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

/**
 * @typedef {{ weights: Float32Array, queries: Token[], keys: Token[], masked: boolean[] }} Table
 */

const [DPI, CSS_DPI, MOST_PIXELS] = [600, 96, 6000];

/** @param {SitePage} sitePage @param {HTMLElement} box */
export function downloadButtons(sitePage, box) {
  const picture = sitePage.picture;
  if (!picture) return;
  const { model, shown, table, hasAllHeads } = shownHead(sitePage, picture);
  const name = [model, nameOfHead(shown.layer, shown.head).replace("·", "-")].join("-");
  const isFull = sitePage.values.scale !== "Fit to this head";
  const drawn = async () => drawMatrix({ table: await table(), model, ...shown, isFull, theme: THEMES.light }, asImage);
  /** @type {[end: string, make: () => Promise<Blob>][]} */
  const files = [
    ["svg", async () => new Blob([await drawn()], { type: "image/svg+xml" })],
    ["png", async () => asPng(await drawn())],
    ["csv", async () => new Blob([asCsv(await table(), shown)], { type: "text/csv" })],
  ];
  if (hasAllHeads) files.push(["html", () => documentOf(sitePage, picture, shown)]);
  const buttons = files.map(([end, made]) => make("button", { type: "button", onclick: () => save(`${name}.${end}`, made, box) }, `${name}.${end}`));
  box.replaceChildren(...buttons);
}

/** @param {string} name @param {() => Promise<Blob>} made @param {HTMLElement} box */
async function save(name, made, box) {
  try {
    saveFile(name, await made());
  } catch (error) {
    box.append(make("p", {}, "This file could not be made: press Run, and try again."));
    console.warn(error);
  }
}

/** @param {Uint8ClampedArray<ArrayBuffer>} pixels @param {number} width */
function asImage(pixels, width) {
  const canvas = make("canvas", { width, height: pixels.length / 4 / width });
  canvas.getContext("2d")?.putImageData(new ImageData(pixels, width), 0, 0);
  return canvas.toDataURL();
}

/** As sharp as the app's: so many dots an inch, or as many as most programs open. @param {string} svg @returns {Promise<Blob>} */
async function asPng(svg) {
  const image = new Image();
  image.src = URL.createObjectURL(new Blob([svg], { type: "image/svg+xml" }));
  await image.decode();
  URL.revokeObjectURL(image.src);
  const scale = Math.min(DPI / CSS_DPI, MOST_PIXELS / Math.max(image.width, image.height));
  const canvas = make("canvas", { width: Math.round(image.width * scale), height: Math.round(image.height * scale) });
  canvas.getContext("2d")?.drawImage(image, 0, 0, canvas.width, canvas.height);
  return new Promise((resolve, reject) => canvas.toBlob((blob) => (blob ? resolve(blob) : reject(new Error("png")))));
}
