// Which cell of an alignment is looked at, as attnviz/ui/translate.py chooses it.

import { isWord } from "../../figures/explorer/chosen_words.js";

/**
 * @typedef {{ query: number | null, key: number | null }} AskedCell  query: the number that the address has for a row; null: nobody chose
 * @typedef {{ text: string, special?: boolean }} ShownWord
 * @typedef {{ queries: ShownWord[], keys: ShownWord[], rows: number[], columns: number[], weights: ArrayLike<number> }} DrawnAlignment
 */

/** The columns that tell something when a word looks at them. @param {ShownWord} query @param {ShownWord[]} keys */
export function tellingColumns(query, keys) {
  const words = isWord(query) ? [...keys.keys()].filter((column) => isWord(keys[column])) : [];
  return words.length ? words : [...keys.keys()];
}

/** The cell that was asked; of a word alone the one that it looks at most; null where nothing was asked.
 * @param {DrawnAlignment} alignment @param {number} firstRow @param {AskedCell} asked @returns {[query: number, key: number] | null} */
export function askedCell({ queries, keys, rows, columns, weights }, firstRow, { query, key }) {
  const row = query === null ? -1 : rows.indexOf(query - firstRow);
  if (row < 0) return null;
  const column = key === null ? -1 : columns.indexOf(key);
  if (column >= 0) return [row, column];
  if (key !== null) return null;
  return [row, tellingColumns(queries[row], keys).reduce((best, other) => (weights[row * keys.length + other] > weights[row * keys.length + best] ? other : best))];
}
