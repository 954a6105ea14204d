// The matrix: its numbers are those of its record, its words as typed, its marks where they should stand, and a cell is read where it is pointed at.

import assert from "node:assert/strict";
import { test } from "node:test";
import { drawMatrices } from "../../../attnviz/figures/matrix.js";
import { all, named } from "./fake_page.js";

const palette = { theme: { masked: "grey", background: "#ffffff", above: "#d55e00", below: "#0072b2" }, colour: (share) => `colour ${share}`, ink: () => "ink" };
const names = (letter, count) => Array.from({ length: count }, (_, at) => `${letter}${at}`);
const matrixOf = (more = {}, [rows, columns] = [5, 7]) => ({ name: "weight", rows: names("q", rows), columns: names("k", columns), digits: 4, highest: 1,
  ends: ["0", "1"], weights: Array.from({ length: rows * columns }, (_, at) => at / (rows * columns)), ...more });
const cellsOf = (parts) => parts.flatMap(all).filter(({ tag }) => tag === "rect");
const paths = (parts, kind) => parts.flatMap(all).filter(({ tag, attributes }) => tag === "path" && attributes.class === kind);
/** Left, top, right and bottom. */
const boxOf = ({ attributes: { d } }) => /M(.*) (.*)H(.*)V(.*)H/.exec(d).slice(1).map(Number);
const near = (one, other) => assert.ok(one.every((each, at) => Math.abs(each - other[at]) < 0.11), `${one} ${other}`);
const key = (svg, name) => svg.keydown({ key: name, preventDefault() {} });

test("every cell has its number, its colour and its place", () => {
  const cells = cellsOf(drawMatrices([matrixOf({ highest: 0.5 })], palette));
  assert.deepEqual(cells.map((each) => each.textContent).slice(6, 9), ["q0 → k6: 0.1714", "q1 → k0: 0.2000", "q1 → k1: 0.2286"]);
  assert.equal(cells[7].attributes.fill, "colour 0.4");
  const [first, right, below] = [0, 1, 7].map((at) => [cells[at].attributes.x, cells[at].attributes.y].map(Number));
  assert.ok(first[0] < right[0] && first[1] === right[1] && first[1] < below[1] && first[0] === below[0]);
});

test("a masked cell is no zero", () => {
  const cells = cellsOf(drawMatrices([matrixOf({ masked: Array.from({ length: 35 }, (_, at) => at === 3) })], palette));
  assert.deepEqual([cells[3].textContent, cells[3].attributes.fill, cells[4].attributes.fill], ["q0 → k3: masked", "var(--masked)", `colour ${4 / 35}`]);
});

test("the chosen cell is outlined, named and read, and the best are numbered", () => {
  const parts = drawMatrices([matrixOf({ selected: [3, 6], ranks: [[0, 1], [2, 2]] })], palette);
  const cell = cellsOf(parts)[27];
  const [row, column] = paths(parts, "outline").map(boxOf);
  near([column[0], row[1]], [Number(cell.attributes.x), Number(cell.attributes.y)]);
  assert.deepEqual(parts.flatMap(all).filter(({ attributes }) => attributes.class?.includes("chosen")).map((each) => each.textContent), ["q3", "k6"]);
  assert.equal(named(parts[1], "reading")[0].textContent, "q3 → k6 · weight 0.7714");
  assert.deepEqual(parts.flatMap(all).filter(({ attributes }) => attributes.class === "rank").map((each) => each.textContent), ["1", "2"]);
});

test("what is edited looks switched off", () => {
  const edited = { off: false, columns: [0], cells: [[2, 1, "cut"], [0, 2, "set"]] };
  const parts = drawMatrices([matrixOf({ edited })], palette);
  const cells = cellsOf(parts).map(({ attributes }) => [Number(attributes.x), Number(attributes.y)]);
  const [column, cut] = paths(parts, "faded").map(boxOf);
  near([column[0], column[1], cut[0], cut[1]], [...cells[0], ...cells[15]]);
  near(boxOf(paths(parts, "typed")[0]).slice(0, 2), cells[2]);
  assert.equal(paths(parts, "cut").length, 1);
  assert.equal(paths(drawMatrices([matrixOf({ edited: { ...edited, off: true, columns: [] } })], palette), "faded").length, 8);
});

test("of many tokens labels are thinned, those of the chosen cell stay, and the cells are an image", () => {
  const parts = drawMatrices([matrixOf({ weights: [], image: "data:", masked: [], selected: [101, 57] }, [211, 211])], palette);
  assert.deepEqual([cellsOf(parts).length, paths(parts, "masked").length], [0, 1]);
  const rows = parts.flatMap(all).filter(({ attributes }) => attributes.class?.startsWith("row"));
  assert.ok(rows.some((each) => each.textContent === "q101"));
  const heights = rows.map(({ attributes }) => Number(attributes.y)).sort((one, other) => one - other);
  const gaps = heights.slice(1).map((each, at) => each - heights[at]);
  assert.ok(Math.min(...gaps) >= 14 && Math.max(...gaps) <= 48);
});

test("arrow keys read one cell after another up to the edge, Enter and a click pick it, and who leaves reads the chosen one", () => {
  const picked = [];
  const parts = drawMatrices([matrixOf({ selected: [1, 1] })], palette, { pick: (...cell) => picked.push(cell) });
  const [svg] = parts.flatMap(all).filter(({ tag }) => tag === "svg");
  for (const name of ["ArrowUp", "ArrowUp", "ArrowRight", "Enter"]) key(svg, name);
  assert.equal(parts[1].textContent, "q0 → k2 · weight 0.0571");
  svg.click({ target: { closest: () => cellsOf(parts)[34] } });
  assert.deepEqual(picked, [[0, 2], [4, 6]]);
  svg.focusout();
  assert.equal(parts[1].textContent, "q1 → k1 · weight 0.2286");
});

test("of two tokens that several matrices have, all say their number", () => {
  const sides = [[[0, 1, null, 2, 3], "First", false], [[null, 0, 1, 2, 3], "Change", true]].map(([rows, name, isSigned], at) =>
    matrixOf({ name, isSigned, digits: 3, shared: [rows, [0, 1, 2, 3, 4, 5, 6]], weights: Array.from({ length: 35 }, (_, place) => (at ? -place : place) / 100) }));
  const parts = drawMatrices(sides, palette, { hint: "Point." });
  const [one, other] = parts.flatMap(all).filter(({ tag }) => tag === "svg");
  assert.equal(parts[1].textContent, "Point.");
  one.focusin();
  assert.equal(parts[1].textContent, "q0 → k0 · First 0.000 · Change −0.070");
  key(one, "ArrowDown");
  key(one, "ArrowDown");
  assert.equal(parts[1].textContent, "q2 → k0 · First 0.140");
  other.focusin();
  assert.equal(parts[1].textContent, "q0 → k0 · Change +0.000");
  assert.equal(cellsOf(parts).filter(({ className, attributes }) => (className || attributes.class || "").includes("read")).length, 1);
});
