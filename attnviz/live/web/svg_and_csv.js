// A head on paper and as a table: the files that attnviz/export/grids_and_matrices.py, svg_png_pdf.py and weights.py write. Places are in points, y downwards.

import { cutText, nameOfHead, visibleText } from "../../figures/drawing/elements.js";
import { colourLimit } from "../../figures/drawing/palette.js";
import { significant, roundEven, decimals } from "../../figures/drawing/numbers.js";

/**
 * @import { Theme } from "../../figures/drawing/palette.js"
 * @import { Table } from "./downloads.js"
 */

// Where the colours of a drawn head end, as attnviz/export/picture.py has it.

/** The weight of the strongest colour, which larger ones of a long text have as well; and where colours could end.
 * @param {Table} table @param {boolean} isFull @returns {[end: number, highest: number]} */
export function endsOf({ weights, queries, keys, masked }, isFull) {
  const sorted = weights.filter((_, cell) => !masked[cell]).sort();
  const highest = isFull ? 1 : Math.max(sorted.at(-1) ?? 0, 1e-9);
  const limit = colourLimit(queries.length, keys.length, (share) => sorted[Math.ceil(share * sorted.length) - 1] ?? 1);
  return [Math.min(highest, limit), highest];
}

// A head as a table.

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

/**
 * @typedef {{ table: Table, model: string, kind: string, layer: number, head: number | null, isFull: boolean, theme: Theme }} Drawing  isFull: colours run from 0 to 1, not to the largest weight
 * @typedef {{ left: number, top: number, cell: number }} Room  where the cells stand, which are squares of side `cell`
 * @typedef {{ x: number, y: number, text: string, anchor?: "start" | "end", angle?: number }} Label
 */

const FAMILY = "'Source Sans 3', 'Source Sans Pro', Helvetica, Arial, 'Liberation Sans', 'DejaVu Sans', sans-serif";
const [COLUMN, PAGE, TALLEST, LARGEST_CELL] = [218, 455, 560, 20];
const [FONT, LINE, PADDING, MOST_IN_LABEL] = [7, 1.15, 3, 20];
// More cells become one image: a rectangle takes about 110 bytes.
const MOST_CELLS = 16_384;
const [BAR_LENGTH, BAR_HEIGHT, BAR_ROOM, BAR_STEPS, MASKED_SIDE] = [56, 4, 24, 28, 5];
const UNPRINTABLE = /[\p{Cc}\p{Cs}\p{Cn}]/gu;
const WIDE_SCRIPT = /(?!\p{RI})[\p{sc=Han}\p{sc=Hiragana}\p{sc=Katakana}\p{sc=Hangul}\p{Emoji_Presentation}\u3000-\u303e\uff01-\uff60]/u;
const [NARROW, WIDE] = ["iIjlft.,:;'|!()[]{}/\\-` \"", "mwMWÆŒ@%&…"];

/** @param {Drawing} drawing @param {(pixels: Uint8ClampedArray<ArrayBuffer>, width: number) => string} asImage writes red, green, blue and opacity of each cell as the address of an image */
export function drawMatrix(drawing, asImage) {
  const { table: { queries, keys, masked }, theme } = drawing;
  const [rows, columns] = [queries, keys].map((tokens) => tokens.map(({ text }) => printed(text)));
  const room = roomFor(rows, columns);
  const [right, bottom] = [room.left + columns.length * room.cell, room.top + rows.length * room.cell];
  const [end, highest] = endsOf(drawing.table, drawing.isFull);
  const below = barLabels(room.left, bottom + BAR_ROOM / 2, end, highest, masked.includes(true));
  const reach = below.filter(({ anchor = "start" }) => anchor === "start").map(({ x, text }) => x + widthOf(text) * FONT);
  const size = [Math.max(right, ...reach) + PADDING, bottom + BAR_ROOM].map((length) => decimals(length, 2));
  const write = (/** @type {Label} */ label) => written(label, theme.text);
  const title = `${nameOfHead(drawing.layer, drawing.head)} of ${drawing.model}, ${drawing.kind} attention: queries down, keys across`;
  return [
    '<?xml version="1.0" encoding="UTF-8"?>',
    `<svg xmlns="http://www.w3.org/2000/svg" width="${size[0]}pt" height="${size[1]}pt" viewBox="0 0 ${size[0]} ${size[1]}" role="img" font-family="${FAMILY}">`,
    `<title>${inText(title)}</title>`,
    `<rect width="100%" height="100%" fill="${theme.background}"/>`,
    ...(masked.length > MOST_CELLS ? [image(drawing, room, end, asImage)] : cells(drawing, room, end)),
    ...bar(room.left, bottom + BAR_ROOM / 2 - BAR_HEIGHT, theme),
    ...below.slice(0, 3).map(write),
    ...(below.length > 3 ? [rectangle(below[3].x - PADDING - MASKED_SIDE, below[3].y - MASKED_SIDE / 2, MASKED_SIDE, MASKED_SIDE, theme.masked), write(below[3])] : []),
    ...axisLabels(room, rows, columns).map(write),
    "</svg>\n",
  ].join("\n");
}

/** Into the column of a paper if every label can be written there, else into the width of its page. @param {string[]} rows @param {string[]} columns @returns {Room} */
function roomFor(rows, columns) {
  const [left, top] = [rows, columns].map((texts) => 2 * PADDING + Math.max(...texts.map(widthOf)) * FONT);
  const high = Math.min(LARGEST_CELL, (TALLEST - top - BAR_ROOM) / rows.length);
  const [column, page] = [COLUMN, PAGE].map((width) => ({ left, top, cell: Math.min(high, (width - left - PADDING) / columns.length) }));
  return stepOf(column) === 1 ? column : page;
}

/** Labels that would touch are left out, evenly. @param {Room} room */
const stepOf = ({ cell }) => Math.max(1, Math.ceil((FONT * LINE) / cell));

/** @param {Room} room @param {string[]} rows @param {string[]} columns @returns {Label[]} */
function axisLabels(room, rows, columns) {
  const { left, top, cell } = room;
  const isWritten = (/** @type {string} */ _, /** @type {number} */ place) => place % stepOf(room) === 0;
  const middle = (/** @type {number} */ place) => (place * stepOf(room) + 0.5) * cell;
  return [
    ...rows.filter(isWritten).map((text, place) => /** @type {Label} */ ({ x: left - PADDING, y: top + middle(place), text, anchor: "end" })),
    ...columns.filter(isWritten).map((text, place) => ({ x: left + middle(place), y: top - PADDING, text, angle: 90 })),
  ];
}

/** @param {Drawing} drawing @param {Room} room @param {number} end */
function cells({ table: { weights, keys, masked }, theme }, { left, top, cell }, end) {
  const side = cell - (cell >= 3 ? 0.4 : 0);
  return Array.from(weights, (weight, at) => {
    const [query, key] = [Math.floor(at / keys.length), at % keys.length];
    const data = ` data-query="${query}" data-key="${key}"${masked[at] ? "" : ` data-weight="${significant(weight, 6)}"`}`;
    return rectangle(left + key * cell, top + query * cell, side, side, masked[at] ? theme.masked : colourOf(theme, shadeOf(weight, end)), data);
  });
}

/** @param {Drawing} drawing @param {Room} room @param {number} end @param {(pixels: Uint8ClampedArray<ArrayBuffer>, width: number) => string} asImage */
function image({ table: { weights, queries, keys, masked }, theme }, { left, top, cell }, end, asImage) {
  const pixels = new Uint8ClampedArray(4 * weights.length);
  weights.forEach((weight, at) => {
    const colour = masked[at] ? theme.masked : colourOf(theme, shadeOf(weight, end));
    pixels.set([1, 3, 5].map((start) => parseInt(colour.slice(start, start + 2), 16)), 4 * at);
    pixels[4 * at + 3] = 255;
  });
  const place = placed(left, top, keys.length * cell, queries.length * cell);
  return `<image ${place} preserveAspectRatio="none" style="image-rendering:pixelated" href="${asImage(pixels, keys.length)}"/>`;
}

/** @param {number} left @param {number} top @param {Theme} theme */
function bar(left, top, theme) {
  const step = BAR_LENGTH / BAR_STEPS;
  return Array.from({ length: BAR_STEPS }, (_, at) => {
    // A little wider than a step, so that no gap shines through.
    const wide = at === BAR_STEPS - 1 ? step : step + 0.3;
    return rectangle(left + at * step, top, wide, BAR_HEIGHT, colourOf(theme, roundEven((at / (BAR_STEPS - 1)) * 255)));
  });
}

/** What stands below the bar and beside it, of masked cells last. @param {number} left @param {number} bottom of the bar @param {number} end @param {number} highest @param {boolean} isMasked @returns {Label[]} */
function barLabels(left, bottom, end, highest, isMasked) {
  const [middle, y] = [bottom - BAR_HEIGHT / 2, bottom + 6];
  const last = end < highest
    ? { x: left + 2 * PADDING + FONT, y, text: `${significant(end, 2)} or more: at most 1 % of the weights` }
    : { x: left + BAR_LENGTH, y, text: significant(end, 2), anchor: /** @type {const} */ ("end") };
  const masked = { x: left + BAR_LENGTH + 42 + MASKED_SIDE + PADDING, y: middle, text: "masked" };
  return [{ x: left, y, text: "0" }, last, { x: left + BAR_LENGTH + PADDING, y: middle, text: "weight" }, ...(isMasked ? [masked] : [])];
}

/** @param {Label} label @param {string} colour */
function written({ x, y, text, anchor = "start", angle }, colour) {
  const turn = angle ? ` transform="rotate(-${angle} ${decimals(x, 2)} ${decimals(y, 2)})"` : "";
  return `<text x="${decimals(x, 2)}" y="${decimals(y, 2)}" dy="0.33em" text-anchor="${anchor}" font-size="${FONT}" fill="${colour}" xml:space="preserve"${turn}>${inText(text)}</text>`;
}

/** @param {number} x @param {number} y @param {number} width @param {number} height @param {string} fill */
const rectangle = (x, y, width, height, fill, data = "") => `<rect ${placed(x, y, width, height)} fill="${fill}"${data}/>`;

/** @param {number[]} place x, y, width and height */
function placed(...place) {
  const [x, y, width, height] = place.map((each) => decimals(each, 2));
  return `x="${x}" y="${y}" width="${width}" height="${height}"`;
}

/** Which of 256 colours a weight has, in float32 as NumPy has it. @param {number} weight @param {number} end */
const shadeOf = (weight, end) => roundEven(Math.fround(Math.min(Math.max(Math.fround(weight / Math.fround(end)), 0), 1) * 255));

/** @param {Theme} theme @param {number} shade */
const colourOf = (theme, shade) => `#${theme.scale.slice(6 * shade, 6 * shade + 6)}`;

/** A token as a label: a long one is cut, and what no printer knows becomes �. @param {string} text */
function printed(text) {
  return cutText(visibleText(text).replace(UNPRINTABLE, "\ufffd"), MOST_IN_LABEL);
}

/** How wide a text is about, in its font's size. @param {string} text */
const widthOf = (text) => Array.from(text).reduce((sum, letter) => sum + widthOfLetter(letter), 0);

/** @param {string} letter */
function widthOfLetter(letter) {
  if (/[\p{Mn}\p{Me}\p{Cf}]/u.test(letter)) return 0;
  if (WIDE_SCRIPT.test(letter)) return 1;
  if (NARROW.includes(letter)) return 0.35;
  if (WIDE.includes(letter)) return 0.95;
  return /\p{Uppercase}/u.test(letter) ? 0.72 : 0.6;
}

/** @param {string} text */
const inText = (text) => text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;");
