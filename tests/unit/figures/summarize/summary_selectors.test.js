// The table of selectors: what each keeps, where it differs from the one that is shown large, and the best figures.

import assert from "node:assert/strict";
import { test } from "node:test";
import { selectorsTable } from "../../../../attnviz/figures/summary_selectors.js";
import { all, named } from "../fake_page.js";

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
  assert.deepEqual(figuresOf(scored), [["figure best", "50.0"], ["figure", "0.0"], ["figure", "12.5"], ["figure", "25.0"], ["figure", "0.0"], ["figure best", "50.0"]]);
});
