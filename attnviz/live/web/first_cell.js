// The cell of a head that is looked at until another one is clicked, as attnviz/analysis/word_links.py chooses it.

import { largestOf, strongestLink } from "./head_metrics.js";

/** @import { HeadMatrix } from "./head_view.js" */

/** The cell to look at first. @param {HeadMatrix} matrix @returns {[query: number, key: number]} */
export function firstCell(matrix) {
  const link = strongestLink(matrix);
  if (link) return [link.query, link.key];
  const row = Math.max(matrix.queries.findIndex(({ special }) => !special), 0);
  return [row, largestOf(matrix, row)];
}
