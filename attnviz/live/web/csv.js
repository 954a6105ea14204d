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
  // The mark at its beginning tells Excel that it is UTF-8.
  return `\ufeff${lines.join("\n")}\n`;
}

/** A text that a spreadsheet would compute has an apostrophe, as attnviz/export/csv_table.py sets it. @param {string} text */
function field(text) {
  const inner = text.replaceAll(/([;\t\r\n][\s"]*)(?=[=+\-@＝＋－＠])/g, "$1'");
  const harmless = /^\s*[=+\-@＝＋－＠]|^[\t\r\n]/.test(inner) ? `'${inner}` : inner;
  return /[",\r\n]/.test(harmless) ? `"${harmless.replaceAll('"', '""')}"` : harmless;
}
