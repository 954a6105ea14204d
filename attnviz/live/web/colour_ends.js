// Where the colours of a drawn head end, as attnviz/export/picture.py has it.

import { colourLimit } from "../../figures/explorer/colour_limit.js";

/** @import { Table } from "./downloads.js" */

/** The weight of the strongest colour, which larger ones of a long text have as well; and where colours could end.
 * @param {Table} table @param {boolean} isFull @returns {[end: number, highest: number]} */
export function endsOf({ weights, queries, keys, masked }, isFull) {
  const sorted = weights.filter((_, cell) => !masked[cell]).sort();
  const highest = isFull ? 1 : Math.max(sorted.at(-1) ?? 0, 1e-9);
  const limit = colourLimit(queries.length, keys.length, (share) => sorted[Math.ceil(share * sorted.length) - 1] ?? 1);
  return [Math.min(highest, limit), highest];
}
