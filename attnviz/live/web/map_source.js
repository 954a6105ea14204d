// The maps of a picture that came with the site.

import { readPackage } from "../../figures/drawing/package.js";

/**
 * @import { Bytes } from "../../figures/drawing/package.js"
 * @import { AttentionMap, Token } from "./head_view.js"
 * @typedef {{ kind: string, file: string, layers?: string[] }} MapFiles
 */

/** Reads all heads of a map that came with the site; their weights have four digits or more.
 * @param {MapFiles} files @param {(file: string) => Promise<ArrayBuffer>} read @returns {Promise<AttentionMap>} */
export async function mapOfFiles({ file, layers = [] }, read) {
  const [overview, ...parts] = (await Promise.all([file, ...layers].map(read))).map((data) => readPackage(data));
  const chunks = new Map([overview, ...parts].flatMap((part) => [...part.chunks]));
  const size = overview.queries.length * overview.keys.length;
  /** @type {Float32Array[]} */
  const heads = [];
  for (let layer = 0; layer < overview.layers; layer++) {
    for (let head = 0; head < overview.heads; head++) heads.push(await weightsOf(/** @type {Bytes} */ (chunks.get(`${layer}:${head}`)), size));
  }
  const { queries, keys } = overview.places;
  return {
    kind: overview.kind,
    layers: overview.layers,
    heads: overview.heads,
    causal: overview.causal,
    queries: overview.queries.map(tokenAt(queries)),
    keys: overview.keys.map(tokenAt(keys)),
    weights: (layer, head) => heads[layer * overview.heads + head],
  };
}

/** @param {Bytes} chunk @param {number} size */
async function weightsOf(chunk, size) {
  const stream = new Blob([chunk.subarray(1)]).stream().pipeThrough(new DecompressionStream("deflate"));
  const bytes = new Uint8Array(await new Response(stream).arrayBuffer());
  const one = 10 ** chunk[0];
  return Float32Array.from({ length: size }, (_, cell) => {
    const code = bytes[cell] | (bytes[size + cell] << 8);
    return code === 65535 ? 0 : code / one;
  });
}

/** @param {[start: number, end: number, segment: number, word: number | null][]} places */
function tokenAt(places) {
  /** @param {[text: string, special: number, piece: string]} token @param {number} index @returns {Token} */
  return ([text, special, piece], index) => {
    const [start, end, segment, word] = places[index];
    return { text, special: special === 1, piece, start, end, segment, word };
  };
}
