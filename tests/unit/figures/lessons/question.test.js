// What a question is answered with: choices as they are written, a share with a digit behind the point.

import assert from "node:assert/strict";
import { test } from "node:test";
import { drawQuestion, plainWord } from "../../../../attnviz/figures/lessons/question.js";
import { all } from "../fake_page.js";

const drawnOf = (kind, choices = []) => all(drawQuestion({ kind, ask: "", words: [], marked: [], choices, rows: [], columns: [] }, () => {}, 9));

test("a choice that ends in a number in brackets is written whole", () => {
  const buttons = drawnOf("choice", ["f(1)", "f(2)"]).filter(({ tag }) => tag === "button");
  assert.deepEqual(buttons.map((each) => [each.textContent, each.attributes["aria-label"]]), [["f(1)", undefined], ["f(2)", undefined]]);
});

test("the second of two equal words shows its number, and is named by it, also in an order", () => {
  const order = drawQuestion({ kind: "order", ask: "", words: [], marked: [], choices: ["the(1)", "the(2)"], rows: [], columns: [] }, () => {}, 9);
  const [, second] = all(order).filter(({ tag }) => tag === "button");
  const spoken = () => second.attributes["aria-label"];
  assert.deepEqual([second.textContent, spoken()], ["the(2)", "the, number 2"]);
  const list = all(order).find(({ click }) => click);
  list.click({ target: { closest: () => ({ dataset: { answer: "the(2)" } }) } });
  assert.equal(spoken(), "the, number 2, place 1");
});

test("a special token is named as it stands, also where there are two", () => {
  const words = [plainWord("[SEP](2)", false), plainWord("the(2)", true)];
  assert.deepEqual(words.map((each) => [each.className, each.textContent]), [["word special", "[SEP]"], ["word marked", "the(2)"]]);
});

test("a share is typed with a digit behind the point, and the browser says what is none", () => {
  const field = drawnOf("number").find(({ attributes }) => attributes.type === "number");
  let asked = 0;
  field.reportValidity = () => (asked += 1);
  field.change();
  assert.deepEqual([field.attributes.step, asked], ["0.1", 1]);
});
