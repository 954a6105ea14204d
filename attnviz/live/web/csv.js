// A head as a table.

import { significant } from "./number_text.js";

/** @import { Table } from "./downloads.js" */

/** The table that attnviz/export/weights.py writes. @param {Table} table @param {{ layer: number, head: number | null }} shown */
export function asCsv({ weights, queries, keys, masked }, { layer, head }) {
  const lines = ["layer,head,query,key,weight,masked,query_token,key_token"];
  for (const [row, query] of queries.entries()) {
    for (const [column, key] of keys.entries()) {
      const cell = row * keys.length + column;
      const numbers = [layer, head ?? "", row, column, significant(weights[cell], 9), Number(masked[cell])];
      lines.push([...numbers, field(query.text), field(key.text)].join(","));
    }
  }
  return `${lines.join("\n")}\n`;
}

/** A text that a spreadsheet would compute has an apostrophe before it. @param {string} text */
function field(text) {
  const harmless = /^\s*[=+\-@＝＋－＠]|^[\t\r\n]/.test(text) ? `'${text}` : text;
  return /[",\r\n]/.test(harmless) ? `"${harmless.replaceAll('"', '""')}"` : harmless;
}
