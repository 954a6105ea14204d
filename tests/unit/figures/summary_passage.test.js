// The text: every word once, as typed, with a bar as long as what it receives. The table of selectors: what each keeps, where it differs from the one that is shown large, and the best figures. And what each head gives to what is kept.

import assert from "node:assert/strict";
import { test } from "node:test";
import { Palette } from "../../../attnviz/figures/drawing/palette.js";
import { drawKept, headShares, selectorsTable } from "../../../attnviz/figures/summary_passage.js";
import { all, FakeElement, named } from "./fake_page.js";

const row = (key, sentences, words, ...figures) => ({ key, name: key, sentences, words, figures });
const lines = (table) => all(table).filter(({ tag }) => tag === "p");
const figuresOf = (table) => named(table, "figure").filter(({ tag }) => tag === "td").map((each) => [each.className, each.textContent]);

test("a row is a selector that can be chosen, and the chosen one is marked", () => {
  const picked = [];
  const table = selectorsTable([row("first", "A <b>.", "A مرحبا", null), row("random", "C.", "C", null)], "first", (key) => picked.push(key));
  const buttons = all(table).filter(({ tag }) => tag === "button");
  assert.deepEqual(buttons.map(({ attributes }) => attributes["aria-pressed"]), ["true", "false"]);
  assert.deepEqual(named(table, "chosen").map(({ attributes }) => attributes["data-pick"]), ["first"]);
  assert.equal(lines(table)[0].textContent, "A <b>.");
  all(table).filter(({ tag }) => tag === "tr")[2].click();
  assert.deepEqual(picked, ["random"]);
});

test("other rows say where they differ from the one shown large", () => {
  const kept = [["a", "S.", "x y"], ["b", "S.", "x z y"], ["c", "T.", "x"], ["d", "S.", "y x"]];
  const drawn = lines(selectorsTable(kept.map((each) => row(...each, null)), "a", () => {}));
  assert.deepEqual(drawn.map(({ attributes }) => attributes.title), kept.flatMap(([, ...texts]) => texts));
  const said = ["S.", "x y", "The same sentences", "Also: z", "T.", "Without: y", "The same sentences", "The same words"];
  assert.deepEqual(drawn.map((each) => each.textContent), said);
});

test("the best of every column stands out, but nothing where nothing fits", () => {
  const measured = selectorsTable([row("a", "", "", 39.81), row("b", "", "", null), row("c", "", "", 28.06)], "", () => {});
  assert.deepEqual(figuresOf(measured), [["figure best", "39.8"], ["figure", "–"], ["figure", "28.1"]]);
  assert.deepEqual(figuresOf(selectorsTable([row("a", "", "", null)], "", () => {})), []);
  const scored = selectorsTable([row("a", "", "", 50, 0, 12.5), row("b", "", "", 25, 0, 50)], "", () => {});
  assert.deepEqual(all(scored).filter(({ tag }) => tag === "th").map((each) => each.textContent), ["Choose by", "ROUGE-1", "ROUGE-2", "ROUGE-L"]);
  assert.deepEqual(figuresOf(scored), [["figure best", "50.0"], ["figure", "0.0"], ["figure", "12.5"], ["figure", "25.0"], ["figure", "0.0"], ["figure best", "50.0"]]);
});

const drawn = (text, units, more = {}) => {
  const place = new FakeElement("div");
  const scores = units.map((_, at) => [0.1, 0.4, 0.9][at % 3]);
  drawKept(place, text, { units, scores, highest: 0.4, kept: [1], sentence: units.map((_, at) => Number(at > 1)), sentences: [[0, 0.74]], ...more });
  return place;
};

test("what is kept is marked with its share, and no bar is longer than that of the best word that may be kept", () => {
  const place = drawn("<b> two. مرحبا", [[0, 3], [4, 7], [9, 14]]);
  assert.deepEqual(named(place, "kept").map((each) => each.textContent), ["74\u00A0%<b> two", "two"]);
  assert.deepEqual(all(place).filter(({ tag }) => tag === "i").map(({ style }) => style.cssText), ["height:4.0px", "height:16.0px", "height:16.0px"]);
  assert.equal(named(place, "sentence").length, 2);
  assert.equal(named(drawn("a b", [[0, 1], [2, 3]], { sentences: [[0, null]] }), "rank").length, 0);
});

test("a blank line stays, other space is one space, and of what was not read the beginning is shown", () => {
  const place = drawn(`one\n\ntwo   three ${"more ".repeat(99)}`, [[0, 3], [5, 8], [11, 16]]);
  assert.equal(all(place).filter(({ tag }) => tag === "br").length, 2);
  const [unread] = named(place, "unread");
  assert.equal(unread.textContent.length, 281);
  assert.equal(place.textContent.replace(unread.textContent, ""), "74\u00A0%onetwo three ");
});

test("every head has its share, on its colour, and a place to click; of the mean of a layer all of its heads are chosen", () => {
  const [shares, picked] = [[0, 0.254, 0.5, 1, 0.999, 0.125], []];
  const palette = new Palette({ scale: Array.from({ length: 256 }, (_, at) => at.toString(16).padStart(2, "0").repeat(3)).join(""), masked: "#808080" });
  const heads = (layer, head) => all(headShares({ shares, shape: [2, 3], layer, head }, palette, (...place) => picked.push(place))).filter(({ tag }) => tag === "button");
  const buttons = heads(1, 0);
  assert.deepEqual(buttons.map((each) => each.textContent), ["0", "25", "50", "100", "100", "13"]);
  assert.deepEqual(buttons.map(({ attributes }) => attributes["aria-pressed"]), ["false", "false", "false", "true", "false", "false"]);
  assert.equal(buttons[1].attributes.title, "L0·H1: 25.4\u00A0% to kept words");
  assert.match(buttons[2].style.cssText, /^background:#808080;/);
  buttons[5].click();
  assert.deepEqual(picked, [[1, 2]]);
  assert.deepEqual(heads(0, null).map(({ attributes }) => attributes["aria-pressed"]), ["true", "true", "true", "false", "false", "false"]);
});
