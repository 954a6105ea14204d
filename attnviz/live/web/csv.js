// A head as a table.

/** @import { Table } from "./downloads.js" */

/** The table that attnviz/export/tables.py writes. @param {Table} table @param {{ layer: number, head: number | null }} shown */
export function asCsv({ weights, queries, keys, masked }, { layer, head }) {
  const lines = ["layer,head,query,key,weight,masked,query_token,key_token"];
  for (const [row, query] of queries.entries()) {
    for (const [column, key] of keys.entries()) {
      const cell = row * keys.length + column;
      const numbers = [layer, head ?? "", row, column, nineDigits(weights[cell]), Number(masked[cell])];
      lines.push([...numbers, field(query.text), field(key.text)].join(","));
    }
  }
  return `${lines.join("\n")}\n`;
}

/** Nine digits tell a float32 in full; small ones are written as Python writes them. @param {number} value */
function nineDigits(value) {
  if (value === 0 || Math.abs(value) >= 1e-4) return String(Number(value.toPrecision(9)));
  const [digits, exponent] = value.toExponential(8).split("e-");
  return `${Number(digits)}e-${exponent.padStart(2, "0")}`;
}

/** A text that a spreadsheet would compute has an apostrophe before it. @param {string} text */
function field(text) {
  const harmless = /^\s*[=+\-@＝＋－＠]|^[\t\r\n]/.test(text) ? `'${text}` : text;
  return /[",\r\n]/.test(harmless) ? `"${harmless.replaceAll('"', '""')}"` : harmless;
}
