// Which links of some heads are drawn as arcs, and how much of their attention is not.

import { MASKED } from "./head_store.js";

/**
 * @import { Head } from "./head_store.js"
 * @typedef {[head: number | "mean", query: number, key: number, share: number, weight: number]} Arc  share: of the scale
 * @typedef {Pick<Head, "head" | "codes" | "highest" | "one" | "nKeys">} HeadCodes
 */

export const MOST_ARCS = 20_000;

/** The arcs from a threshold on, the weakest first. `leftOut`: the share of the attention that is not drawn; `least`: the
 * threshold as a weight; `isCapped`: there were too many. @param {HeadCodes[]} heads @param {number} threshold @param {boolean} fullScale */
export function gatherArcs(heads, threshold, fullScale, most = MOST_ARCS) {
  /** @type {Arc[]} */
  let arcs = [];
  let [whole, drawn, isCapped] = [0, 0, false];
  const end = fullScale ? 1 : Math.max(...heads.map((head) => head.highest / head.one), 1e-9);
  const least = threshold * end;
  for (const head of heads) {
    const wanted = Math.max(1, Math.ceil(least * head.one - 1e-6));
    const { total, from } = strongestFrom(head, wanted, most);
    whole += total;
    isCapped ||= from > wanted;
    for (let cell = 0; cell < head.codes.length; cell++) {
      const code = head.codes[cell];
      if (code < from || code === MASKED) continue;
      const weight = code / head.one;
      arcs.push([head.head ?? "mean", Math.floor(cell / head.nKeys), cell % head.nKeys, Math.min(weight / end, 1), weight]);
    }
  }
  arcs.sort((one, other) => one[4] - other[4]);
  isCapped ||= arcs.length > most;
  arcs = arcs.slice(-most);
  for (const arc of arcs) drawn += arc[4];
  return { arcs, least, isCapped, leftOut: whole > 0 ? Math.max(0, 1 - drawn / whole) : 0 };
}

/** The sum of a head's weights, and the code from which on it has no more cells than `most`, if that is above `wanted`.
 * @param {HeadCodes} head @param {number} wanted @param {number} most */
function strongestFrom(head, wanted, most) {
  const counts = new Uint32Array(head.highest + 2);
  for (const code of head.codes) if (code !== MASKED) counts[code]++;
  let [total, cells, from] = [0, 0, head.highest + 1];
  for (let code = head.highest; code > 0; code--) {
    total += (counts[code] * code) / head.one;
    cells += counts[code];
    if (cells <= most && code >= wanted) from = code;
  }
  return { total, from };
}
