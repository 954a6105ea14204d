// What the explorer shows: clamped to the map, newer choices first, edits of the head in view.

import assert from "node:assert/strict";
import test from "node:test";
import { deflateSync } from "node:zlib";

import { ExplorerState } from "../../../../attnviz/figures/explorer/explorer_state.js";

const NOTE = { entropy: 1, highest: 1, link: [2, 1, 0.5], diagonal: 0.5, distance: 2 };
const tokens = (count) => Array.from({ length: count }, (_, at) => [`t${at}`, 0, ""]);

function overview({ layers = 2, heads = 3, nQueries = 5, nKeys = 7, name = "abcdef0123", ...more } = {}) {
  const notes = Array.from({ length: layers * heads }, () => NOTE);
  const chunks = new Map([["thumbs", Uint8Array.from(deflateSync(new Uint8Array(1)))]]);
  return { name, layers, heads, queries: tokens(nQueries), keys: tokens(nKeys), notes, chunks, ...more };
}

function state(settings = {}, map = overview()) {
  const opened = new ExplorerState();
  opened.open(map, () => {});
  opened.update({ layer: 1, head: 2, query: 3, key: 4, fullScale: true, theme: "light", ...settings });
  return opened;
}

test("a place that the map has not is the nearest, and a cell its most telling one", () => {
  const { layer, head, query, key } = state({ layer: 9, head: 9, query: 9, key: 9 });
  assert.deepEqual([layer, head, query, key], [1, 2, 2, 1]);
});

test("a mean is opened at its strongest link between two words, else at its first word", () => {
  const named = ["[CLS]", "can", "##yon", ",", "dogs"].map((text, at) => [text, at === 0 ? 1 : 0, ""]);
  const own = [[0], [1, 2], [3], [4]].map((parts) => ({ text: named[parts[0]][0], special: parts[0] === 0, parts }));
  const opened = state({ head: null }, overview({ queries: named, keys: named, words: { queries: own, keys: own, own: [0, 1, 2, 3] } }));
  const firstCell = (weights) => opened.firstCell({ strongest: (_, isLink) => weights.filter(([query, key]) => isLink(query, key)), strongestOf: (_, row) => [row, 0] });
  assert.deepEqual([firstCell([[4, 0], [3, 4], [2, 1], [4, 2], [1, 4]]), firstCell([[4, 3]])], [[4, 2], [1, 0]]);
});

test("another map keeps the head and chooses its own cell", () => {
  const opened = state();
  opened.open(overview({ heads: 2, name: "other" }), () => {});
  assert.deepEqual([opened.layer, opened.head, opened.query, opened.key], [1, 1, 2, 1]);
});

test("what a person chose is newer than what the host knew", () => {
  const opened = state();
  opened.seq = 2;
  opened.update({ seq: 1, layer: 0, head: 0, view: "arcs", look: "links_0.2", fullScale: false, theme: "dark" });
  assert.deepEqual([opened.layer, opened.view, opened.options.links, opened.theme, opened.fullScale], [1, "grid", 0.03, "dark", false]);
  opened.update({ seq: 2, layer: 0, head: 0, view: "arcs", look: "links_0.2", fullScale: false, theme: "dark" });
  assert.deepEqual([opened.layer, opened.view, opened.options.links], [0, "arcs", 0.2]);
});

test("what is chosen is told as an address has it", () => {
  const at = [[0, 1, 3, 5, 6], [0, 2, 4, 5, 6, 8, 9]];
  const words = { isAsked: true, isLink: true, isPinned: false, queries: [1, 2], keys: [0] };
  assert.deepEqual(state({ words }).chosen, { query: 3, key: 4, queries: "1.2", keys: "0" });
  assert.deepEqual(state({ words }, overview({ at })).chosen, { query: 5, key: 6, queries: "1.3", keys: "0" });
  const unlinked = { ...words, isLink: false, queries: [] };
  assert.deepEqual(state({ words: unlinked }).chosen, { query: 3, key: null, queries: null, keys: null });
  assert.deepEqual(state({ words: { ...words, isAsked: false } }).chosen, { query: null, key: null, queries: null, keys: null });
  // Where the host knows of no words, a click on one is a click on a cell.
  assert.deepEqual(state({}, overview({ at })).chosen, { query: 5, key: 6, queries: null, keys: null });
});

test("a word that is asked about by several of its tokens is asked about once", () => {
  const own = [[0], [1, 2], [3], [4]].map((parts) => ({ text: "", special: false, parts }));
  const words = { isAsked: true, isLink: true, isPinned: false, queries: [1, 2, 4], keys: [0] };
  const { queries, keys } = state({ query: 3, key: 0, words }, overview({ words: { queries: own, keys: own, own: [0, 1, 2, 3] } })).question;
  assert.deepEqual([queries, keys], [[2, 1, 3], [0]]);
});

test("orders are those that the map knows", () => {
  const between = overview({ notes: [{ ...NOTE, diagonal: null, distance: null }] });
  assert.deepEqual(state({}, between).orders, ["model", "entropy"]);
  assert.deepEqual(state({}, overview({ notes: [{ ...NOTE, entropy: null }] })).orders, ["model", "diagonal", "distance"]);
  assert.deepEqual(state({}, overview({ signed: true })).orders, ["model"]);
  assert.equal(state({ look: "order_distance" }, overview()).order, "distance");
  assert.equal(state({ layer: 0, head: 0, look: "order_distance" }, between).order, "model");
});

test("chosen heads and a zoom count only where they were chosen", () => {
  const look = "chips_1.2_2.0-0.1-9.3~zoom_abcdef_2_1_0";
  assert.deepEqual([...state({ look }).colouredHeads], [[2, 0], [0, 1]]);
  assert.deepEqual([...state({ look, head: 1 }).colouredHeads], [[1, 0]]);
  assert.deepEqual([state({ look }).zoom.zoom, state({ look }, overview({ name: "another" })).zoom.zoom], [2, 1]);
});

test("edits are those of the head in view, or with the mean of its layer", () => {
  const edits = { heads: [[1, 2]], columns: [[null, 5], [0, 6], [1, 3]], cells: [[1, 2, 0, 1, "cut"], [1, 0, 2, 2, "set"], [0, 2, 1, 1, "cut"]] };
  assert.deepEqual(state({ edits }).headEdits, { off: true, columns: [5, 3], cells: [[0, 1, "cut"]] });
  assert.deepEqual(state({ edits, head: null }).headEdits, { off: false, columns: [5, 3], cells: [[0, 1, "cut"], [2, 2, "set"]] });
  assert.deepEqual([state({ edits }).canEdit, state({ edits }).edits.on, state().canEdit], [true, false, false]);
});
