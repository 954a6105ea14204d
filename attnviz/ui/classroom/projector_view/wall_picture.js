// The picture beside a question on the wall: one matrix with its words, or every head small. What is hidden is hatched.

import { element, shade, word } from "../phone/elements.js";

/**
 * @typedef {object} WallPicture
 * @property {string} caption
 * @property {string[]} rows
 * @property {string[]} columns
 * @property {string} cells bytes in base64, a head after the other, row by row: 0 to 255
 * @property {[number, number]} heads
 * @property {number[]} marked
 * @property {number[]} hidden_rows
 * @property {number[]} hidden_columns
 */

// Of a matrix, in units of its own: a cell, its letters, and of a letter the width on average.
const CELL = 20;
const FONT = 13;
const LETTER = 7;
const LONGEST = 16;

/** @param {string} name @param {Record<string, string | number>} attributes @param {...(Node | string)} children */
function drawn(name, attributes, ...children) {
  const made = document.createElementNS("http://www.w3.org/2000/svg", name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, String(value));
  made.append(...children);
  return made;
}

/** @param {string} name */
const label = (name) => {
  const text = word(name).textContent ?? "";
  return text.length > LONGEST ? `${text.slice(0, LONGEST - 1)}…` : text;
};

/** @param {WallPicture} picture @param {readonly string[]} scale @param {readonly string[]} right names of heads */
export function wallPicture(picture, scale, right = []) {
  const cells = Uint8Array.from(atob(picture.cells), (each) => each.charCodeAt(0));
  const [layers, heads] = picture.heads;
  const drawing = layers * heads > 1 ? smallHeads(picture, cells, scale, right) : matrix(picture, cells, scale);
  return element("figure.picture", {}, drawing, element("figcaption", {}, `${picture.caption}. ${reading(picture)}`));
}

/** @param {WallPicture} picture */
function reading({ rows, columns, hidden_rows: down, hidden_columns: across }) {
  const hidden = [...down.map((at) => rows[at]), ...across.map((at) => columns[at])].map(label);
  if (!hidden.length) return "Dark: much.";
  if (down.length === rows.length) return "All of it is hidden.";
  return `Hidden: ${hidden.slice(0, 3).map((name) => `“${name}”`).join(", ")}${hidden.length > 3 ? " …" : ""}.`;
}

/** @param {WallPicture} picture @param {Uint8Array} cells @param {readonly string[]} scale */
function matrix({ rows, columns, marked, hidden_rows: down, hidden_columns: across, caption }, cells, scale) {
  const left = Math.max(...rows.map((name) => label(name).length)) * LETTER + 8;
  const top = Math.max(...columns.map((name) => label(name).length)) * LETTER + 8;
  const [width, height] = [left + columns.length * CELL + 16, top + rows.length * CELL + 4];
  const stripes = drawn("pattern", { id: "hidden", width: 6, height: 6, patternUnits: "userSpaceOnUse", patternTransform: "rotate(-45)" },
    drawn("rect", { width: 6, height: 6, class: "blank" }), drawn("rect", { width: 2.5, height: 6, class: "stripe" }));
  const parts = [drawn("defs", {}, stripes)];
  rows.forEach((name, row) => {
    const y = top + row * CELL;
    const isMarked = marked.includes(row);
    parts.push(drawn("text", { x: left - 5, y: y + CELL / 2 + FONT / 3, "text-anchor": "end", class: isMarked ? "marked" : "" }, label(name)));
    columns.forEach((_, column) => {
      const isHidden = down.includes(row) || across.includes(column);
      const style = isHidden ? "fill:url(#hidden)" : shade(scale, cells[row * columns.length + column] / 255).replace("background", "fill");
      parts.push(drawn("rect", { x: left + column * CELL + 0.5, y: y + 0.5, width: CELL - 1, height: CELL - 1, class: "weight", style }));
    });
    if (down.includes(row)) parts.push(drawn("text", { x: left + columns.length * CELL + 4, y: y + CELL / 2 + FONT / 3, class: "marked" }, "?"));
  });
  columns.forEach((name, column) => {
    const x = left + (column + 0.5) * CELL + FONT / 3;
    parts.push(drawn("text", { transform: `translate(${x} ${top - 4}) rotate(-90)`, class: across.includes(column) ? "marked" : "" }, label(name)));
  });
  return drawn("svg", { viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": caption, "font-size": FONT }, ...parts);
}

/** @param {WallPicture} picture @param {Uint8Array} cells @param {readonly string[]} scale @param {readonly string[]} right */
function smallHeads({ rows, columns, heads: [layers, heads], hidden_rows: down, hidden_columns: across }, cells, scale, right) {
  const size = rows.length * columns.length;
  const colours = Array.from({ length: 256 }, (_, value) => /rgb\(([^)]*)\)/.exec(shade(scale, value / 255))?.[1].split(",").map(Number) ?? []);
  const grid = element("div.heads", { style: `grid-template-columns:auto repeat(${heads},1fr)` }, element("span"));
  for (let head = 0; head < heads; head += 1) grid.append(element("span", {}, `H${head}`));
  for (let layer = 0; layer < layers; layer += 1) {
    grid.append(element("span", {}, `L${layer}`));
    for (let head = 0; head < heads; head += 1) {
      const name = `L${layer}·H${head}`;
      const canvas = /** @type {HTMLCanvasElement} */ (element(right.includes(name) ? "canvas.right" : "canvas", { title: name }));
      [canvas.width, canvas.height] = [columns.length, rows.length];
      const pixels = new ImageData(columns.length, rows.length);
      for (let at = 0; at < size; at += 1) {
        const isHidden = down.includes(Math.floor(at / columns.length)) || across.includes(at % columns.length);
        // Two greys in turn, as a hatch of one pixel.
        const colour = isHidden ? Array(3).fill(at % 2 ? 205 : 150) : colours[cells[(layer * heads + head) * size + at]];
        pixels.data.set([...colour, 255], 4 * at);
      }
      canvas.getContext("2d")?.putImageData(pixels, 0, 0);
      grid.append(canvas);
    }
  }
  return grid;
}
