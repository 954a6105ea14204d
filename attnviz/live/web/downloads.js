// What can be taken from a page: the head that is shown as a drawing or a table, and all heads as a document of their own.

import { make } from "../../figures/drawing/elements.js";
import { THEMES } from "../../figures/drawing/themes.js";
import { shownOn } from "./controls.js";
import { asCsv } from "./csv.js";
import { documentOf } from "./explorer_document.js";
import { drawMatrix } from "./matrix_svg.js";
import { saveFile } from "./save_file.js";
import { nameOfHead } from "./head_name.js";

/**
 * @import { SitePage } from "./site_page.js"
 * @import { Token } from "./head_view.js"
 * @typedef {{ weights: Float32Array, queries: Token[], keys: Token[], masked: boolean[] }} Table
 */

const [DPI, CSS_DPI, MOST_PIXELS] = [600, 96, 6000];

/** @param {SitePage} sitePage @param {HTMLElement} box */
export function downloadButtons(sitePage, box) {
  const picture = sitePage.picture;
  if (!picture) return;
  const shown = shownOn(sitePage.config.page, picture, sitePage.values);
  const name = [picture.said.models[0], nameOfHead(shown.layer, shown.head).replace("·", "-")].join("-");
  const isFull = sitePage.values.scale !== "Fit to this head";
  const drawn = async () => drawMatrix({ table: await picture.table(shown), model: picture.said.models[0], ...shown, isFull, theme: THEMES.light }, asImage);
  /** @type {[end: string, make: () => Promise<Blob>][]} */
  const files = [
    ["svg", async () => new Blob([await drawn()], { type: "image/svg+xml" })],
    ["png", async () => asPng(await drawn())],
    ["csv", async () => new Blob([asCsv(await picture.table(shown), shown)], { type: "text/csv" })],
    ["html", () => documentOf(sitePage, picture, shown)],
  ];
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
