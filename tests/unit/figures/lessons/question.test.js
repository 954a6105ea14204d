// What a question is answered with: choices as they are written, a share with a digit behind the point.

import assert from "node:assert/strict";
import { test } from "node:test";
import { drawQuestion } from "../../../../attnviz/figures/lessons/question.js";
import { all } from "../fake_page.js";

const drawnOf = (kind, choices = []) => all(drawQuestion({ kind, ask: "", words: [], marked: [], choices, rows: [], columns: [] }, () => {}, 9));

test("a choice that ends in a number in brackets is written whole", () => {
  const buttons = drawnOf("choice", ["f(1)", "f(2)"]).filter(({ tag }) => tag === "button");
  assert.deepEqual(buttons.map((each) => [each.textContent, each.attributes["aria-label"]]), [["f(1)", undefined], ["f(2)", undefined]]);
});

test("the second of two equal words is named by its number", () => {
  const [, second] = drawnOf("order", ["the(1)", "the(2)"]).filter(({ tag }) => tag === "button");
  assert.deepEqual([second.textContent, second.attributes["aria-label"]], ["the", "the, number 2"]);
});

test("a share is typed with a digit behind the point, and the browser says what is none", () => {
  const field = drawnOf("number").find(({ attributes }) => attributes.type === "number");
  let asked = 0;
  field.reportValidity = () => (asked += 1);
  field.change();
  assert.deepEqual([field.attributes.step, asked], ["0.1", 1]);
});
