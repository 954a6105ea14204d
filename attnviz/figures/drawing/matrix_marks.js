// A matrix on a canvas, queries down and keys across: where its cells stand, the lines between them, the labels, and a row and a
// column that cross.

import { clamp, fontOf, shorten } from "./canvas.js";
import { cut, make } from "./elements.js";

/**
 * @import { Palette, Theme } from "./palette.js"
 * @import { Surface } from "./surface.js"
 */

/**
 * @typedef {[text: string, ...any]} Token
 * @typedef {{ left: number, top: number, cell: number, width: number, height: number, x: number, y: number, ratio: number }} Frame
 *   where the cells begin, how large one is and all of them; the first column and row; device pixels of a CSS pixel
 * @typedef {{ query: number | null, key: number | null }} Place
 * @typedef {{ colour: string, bold?: boolean, backing?: string, struck?: boolean }} LabelStyle
 */

// From the middle of a label to its edge.
const HALF_LABEL = 9;

/** Margins for the labels in so much room; those of the keys lean at 45 degrees, and the last one reaches over the right edge: `wide` says how
 * wide a picture of such cells is.
 * @param {Surface} surface @param {HTMLCanvasElement} canvas @param {{ queries: Token[], keys: Token[] }} map
 * @param {number} room @param {number} mostLean */
export function margins(surface, canvas, { queries, keys }, room, mostLean) {
  const lean = Math.min(surface.widest(canvas, keys) * 0.71, mostLean);
  const left = Math.min(surface.widest(canvas, queries) + 12, room * 0.3);
  const right = Math.min(lean, 60);
  // The last label takes the room that the cells leave.
  const wide = (/** @type {number} */ width) => left + width + clamp(room - left - width, right, lean + HALF_LABEL);
  return { left, top: lean + 18, right, wide };
}

/** The room below the last row, whose label is higher than a small cell. @param {number} cell */
export const marginBelow = (cell) => Math.max(HALF_LABEL - cell / 2, 2);

/** The lines between cells; `around`: at the edges too. @param {CanvasRenderingContext2D} context @param {Frame} frame @param {string} colour */
export function drawLines(context, { left, top, cell, width, height, x, y, ratio }, colour, around = false) {
  /** @param {number} value */
  const crisp = (value) => (Math.round(value * ratio) + 0.5) / ratio;
  const [first, more] = around ? [0, 0] : [1, 0.5];
  context.strokeStyle = colour;
  context.lineWidth = 1 / ratio;
  context.beginPath();
  for (let column = Math.max(Math.ceil(x), first); column <= x + width / cell - more; column++) {
    context.moveTo(crisp(left + (column - x) * cell), top);
    context.lineTo(crisp(left + (column - x) * cell), top + height);
  }
  for (let row = Math.max(Math.ceil(y), first); row <= y + height / cell - more; row++) {
    context.moveTo(left, crisp(top + (row - y) * cell));
    context.lineTo(left + width, crisp(top + (row - y) * cell));
  }
  context.stroke();
}

/** A row and a column that cross in a cell. @param {CanvasRenderingContext2D} context @param {Frame} frame @param {Place} place
 * @param {string} colour @param {number} thickness */
export function drawCross(context, { left, top, width, height, cell, x, y }, { query, key }, colour, thickness) {
  context.save();
  context.beginPath();
  context.rect(left - 2, top - 2, width + 4, height + 4);
  context.clip();
  context.strokeStyle = colour;
  context.lineWidth = thickness;
  if (query !== null) context.strokeRect(left, top + (query - y) * cell, width, cell);
  if (key !== null) context.strokeRect(left + (key - x) * cell, top, cell, height);
  context.restore();
}

/** Which of `count` labels are drawn: every so many that they stand `apart` pixels from each other, and the selected one always.
 * @param {number} count @param {number} first @param {number} shown @param {number | null} selected
 * @param {number} cell @param {number} apart */
export function labelled(count, first, shown, selected, cell, apart) {
  const step = Math.max(1, Math.ceil(apart / cell));
  const isFar = (/** @type {number} */ at) => selected === null || Math.abs(at - selected) >= step;
  const isDrawn = (/** @type {number} */ at) => at >= first && at < first + shown && (at === selected || (at % step === 0 && isFar(at)));
  return Array.from({ length: count }, (_, at) => at).filter(isDrawn);
}

/** The label beside a row. One with a backing is whole: over the cells, where it is wider than its margin.
 * @param {CanvasRenderingContext2D} context @param {Frame} frame @param {number} query @param {string} text @param {LabelStyle} style */
export function rowLabel(context, { left, top, cell, y }, query, text, { colour, bold, backing }) {
  const whole = cut(text);
  const middle = top + (query + 0.5 - y) * cell;
  context.font = fontOf(context.canvas, bold ? "bold" : "");
  const room = left - 9;
  const width = backing ? context.measureText(whole).width : 0;
  if (backing) {
    context.fillStyle = backing;
    context.fillRect(0, middle - 11, Math.max(left - 2, width + 6), 22);
  }
  context.fillStyle = colour;
  context.textAlign = width > room ? "left" : "right";
  context.fillText(backing ? whole : shorten(context, whole, room), width > room ? 2 : left - 7, middle);
}

/** The leaning label above a column. @param {CanvasRenderingContext2D} context @param {Frame} frame @param {number} key
 * @param {string} text @param {LabelStyle} style */
export function columnLabel(context, { left, top, cell, x }, key, text, { colour, bold, backing, struck }) {
  context.font = fontOf(context.canvas, bold ? "bold" : "");
  context.textAlign = "left";
  context.save();
  const [across, up] = [left + (key + 0.5 - x) * cell + 3, top - 8];
  const label = shorten(context, cut(text), (Math.min(up, context.canvas.width / context.getTransform().a - across) - 5) * Math.SQRT2);
  context.translate(across, up);
  context.rotate(-Math.PI / 4);
  if (backing) {
    context.fillStyle = backing;
    context.fillRect(-3, -11, context.measureText(label).width + 6, 22);
  }
  context.fillStyle = colour;
  context.fillText(label, 0, 0);
  if (struck) context.fillRect(0, -0.5, context.measureText(label).width, 1.5);
  context.restore();
}

// What the colours say: from 0 to the scale's end, and masked where there are such cells.
export class Legend {
  constructor() {
    this.ramp = make("canvas", { width: "256", height: "1", "aria-hidden": "true" });
    this.end = make("span");
    this.maskedName = make("span");
    this.masked = make("span", { class: "masked-key", hidden: true }, make("i"), this.maskedName);
    this.start = make("span");
    this.element = make("p", { class: "legend" }, this.start, this.ramp, this.end, this.masked);
  }

  /** `masked` names cells without a weight. @param {Palette} palette @param {string} end
   * @param {{ signed?: boolean, anyMasked?: boolean, masked?: string }} [options] */
  draw(palette, end, { signed = false, anyMasked = false, masked = "masked" } = {}) {
    const image = new ImageData(256, 1);
    new Uint32Array(image.data.buffer).set(signed ? palette.signedPixels(255) : palette.pixels(255));
    this.ramp.getContext("2d")?.putImageData(image, 0, 0);
    this.start.textContent = signed ? `−${end}` : "0";
    this.end.textContent = signed ? `+${end}` : end;
    this.masked.hidden = !anyMasked;
    this.maskedName.textContent = masked;
  }
}

// How edits of a head look in every picture: what is switched off is faded, a link that is cut struck out; a typed weight has a ring.

/**
 * @typedef {[x: number, y: number, width: number, height: number]} Box
 * @typedef {{ off: boolean, columns: number[], cells: [query: number, key: number, what: string][] }} HeadEdits
 */

/** @param {CanvasRenderingContext2D} context @param {Theme} colours @param {Box} box */
export function fade(context, colours, box) {
  context.save();
  context.globalAlpha = 0.6;
  context.fillStyle = colours.masked;
  context.fillRect(...box);
  context.restore();
}

/** @param {CanvasRenderingContext2D} context @param {Theme} colours @param {Box} box */
export function strike(context, colours, [x, y, width, height]) {
  context.strokeStyle = colours.text;
  context.lineWidth = 1.5;
  context.beginPath();
  context.moveTo(x + 2, y + height - 2);
  context.lineTo(x + width - 2, y + 2);
  context.stroke();
}

/** Marks in the matrix of a head what of it is edited; a difference stays as bright as it is.
 * @param {CanvasRenderingContext2D} context @param {Frame} frame @param {HeadEdits} edits @param {Theme} colours */
export function drawEdits(context, frame, { off, columns, cells }, colours, isDifference = false) {
  const { left, top, width, height, cell, x, y } = frame;
  /** @param {Box} box */
  const dim = (box) => isDifference || fade(context, colours, box);
  if (off) dim([left, top, width, height]);
  for (const key of columns) dim([left + (key - x) * cell, top, cell, height]);
  for (const [query, key, what] of cells) {
    /** @type {Box} */
    const box = [left + (key - x) * cell, top + (query - y) * cell, cell, cell];
    if (what === "cut") {
      dim(box);
      strike(context, colours, box);
    } else ring(context, colours, box, Math.max(1.5, 1 / frame.ratio));
  }
}

/** @param {CanvasRenderingContext2D} context @param {Theme} colours @param {Box} box @param {number} thickness */
function ring(context, colours, [x, y, width, height], thickness) {
  context.strokeStyle = colours.text;
  context.lineWidth = thickness;
  context.setLineDash([3, 2]);
  context.strokeRect(x + 2, y + 2, Math.max(width - 4, 1), Math.max(height - 4, 1));
  context.setLineDash([]);
}
