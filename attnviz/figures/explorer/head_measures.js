// The measures that heads are sorted by.

import { wholePercent } from "../drawing/percent.js";

/**
 * @import { HeadNote } from "./head_store.js"
 * @typedef {{ label: string, caption: string, most?: number, value(note: HeadNote): number, length(note: HeadNote): number,
 *   tell(note: HeadNote): string }} Order  value: what is first is least; length: of the bar, of which `most` is the longest, else
 *   the largest of all heads
 */

/** @satisfies {Record<string, Order>} */
export const ORDERS = {
  model: { label: "as in the model", caption: "", value: () => 0, length: () => 0, tell: () => "" },
  entropy: {
    label: "sharpest first",
    caption: "those with the lowest entropy first",
    value: (note) => note.entropy,
    length: (note) => note.entropy,
    tell: (note) => `${note.entropy.toFixed(2)} bits`,
  },
  diagonal: {
    label: "to neighbours first",
    caption: "those that look most at neighbouring tokens first",
    most: 1,
    value: (note) => -(note.diagonal ?? 0),
    length: (note) => note.diagonal ?? 0,
    tell: (note) => wholePercent(note.diagonal ?? 0),
  },
  distance: {
    label: "furthest first",
    caption: "those that look furthest first",
    value: (note) => -(note.distance ?? 0),
    length: (note) => note.distance ?? 0,
    tell: (note) => `${(note.distance ?? 0).toFixed(1)} tokens`,
  },
};
