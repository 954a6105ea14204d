// Question and passage: every token once, as typed, its spans around the right ones, its bars as high as their values.

import assert from "node:assert/strict";
import { test } from "node:test";
import { drawAnswer, drawnPart, linkingHeads } from "../../../attnviz/figures/answer_spans.js";
import { all, FakeElement, named } from "./fake_page.js";

const palette = { colour: (share) => `colour ${share}`, ink: () => "ink" };
const SEEN = { side: "cross", question: [["[CLS]", 1], ["who", 0], ["<b>", 0]], shares: [0, 0.25, 0.5], word: null, bars: null, name: "who",
  layer: 1, head: 2, heads: [[1, 2, 0.5], [0, 0, 0.1]] };

/** Words that are parted by one space each, with two bars each. */
function passageOf(text, spans, bars, more = {}) {
  let end = 0;
  const units = text.split(" ").map((word) => [end, (end += word.length + 1) - 1]);
  return { units, bars: bars.map((values, at) => ({ name: `bar ${at}`, values })), spans, ...more };
}

function drawn(text, passage, seen = SEEN, isFull = true) {
  const place = new FakeElement("div");
  const chosen = [];
  drawAnswer(place, { text, passage, seen, where: "head 2 of layer 1", isFull }, palette, (word) => chosen.push(word));
  return { place, chosen };
}

test("the best span is marked, the others are numbered, and bars have their heights", () => {
  const [text, spans, bars] = ["one two three four five", [[1, 2, 0.5], [4, 4, 0.001]], [[0.1, 0.4, 0, 0.2, 0], [0, 0, 0.8, 0, 0.2]]];
  const { place } = drawn(text, passageOf(text, spans, bars));
  assert.deepEqual(named(place, "span").map((each) => each.textContent), ["1 · 50\u00A0%two three", "2 · <1\u00A0%five"]);
  assert.equal(named(place, "best").length, 1);
  assert.deepEqual(named(place, "bar0").slice(1).map(({ style }) => style.cssText), [0.125, 0.5, 0, 0.25, 0].map((share) => `height:${(22 * share).toFixed(1)}px`));
  assert.equal(named(drawn(text, passageOf(text, spans, bars, { declined: true })).place, "best").length, 0);
  assert.equal(named(place, "answered")[0].textContent.replaceAll(/\d · <?\d+\u00A0%/g, ""), text);
});

test("a passage and a question are read as their first letter is, whatever special tokens say", () => {
  const directions = (text, word) => {
    const { place } = drawn(text, { units: [[0, 3]], bars: [], spans: [] }, { ...SEEN, question: [["[CLS]", 1], [word, 0]], shares: [0, 1] });
    return ["answered", "asked"].map((kind) => named(place, kind)[0].attributes.dir);
  };
  assert.deepEqual(directions("مصر", "Egypt"), ["rtl", "ltr"]);
  assert.deepEqual(directions("12 a", "(עיר)"), ["ltr", "rtl"]);
});

test("what is typed is text, line breaks can be seen, and a blank line stays", () => {
  const text = "<script> a\n\nb";
  const { place } = drawn(text, { units: [[0, 8], [9, 10], [12, 13]], bars: [], spans: [] });
  assert.deepEqual(named(place, "unit").map((each) => each.textContent), ["<script>", "a", "b"]);
  assert.deepEqual(all(place).filter(({ tag }) => tag === "br").length, 2);
});

test("of a book the part around the answer is drawn, and no span is cut in two", () => {
  const parts = [[7, [[2, 3]]], [9000, [[6000, 6003], [4799, 4801]]], [2500, [[0, 0], [2395, 2405]]]].map((each) => drawnPart(...each));
  assert.deepEqual(parts, [[0, 7], [4802, 7200], [0, 2395]]);
});

test("words of the question are shaded by what the answer gives them, and a click chooses one", () => {
  const text = "me you";
  const { place, chosen } = drawn(text, passageOf(text, [], [[0, 1]]));
  const words = named(place, "word");
  assert.deepEqual(words.map((each) => each.textContent), ["[CLS]0.00", "who0.25", "<b>0.50"]);
  assert.deepEqual(words.map(({ children: [name] }) => name.style.cssText), [0, 0.25, 0.5].map((share) => `background:colour ${share};color:ink`));
  words[2].click();
  assert.deepEqual(chosen, [2]);
  assert.equal(named(drawn(text, passageOf(text, [], [[0, 1]]), SEEN, false).place, "word")[2].children[0].style.cssText, "background:colour 1;color:ink");
  const own = drawn(text, passageOf(text, [], [[0, 1]]), { ...SEEN, word: 1, bars: [0.2, 0.4] }).place;
  assert.match(named(own, "answer-legend")[0].textContent, /^looks at “who”the tallest bar is 40/);
  assert.equal(named(own, "chosen").length, 1);
});

test("heads that link the answer to a word are buttons", () => {
  const opened = [];
  const list = linkingHeads(SEEN, "x".repeat(70), (layer, head) => opened.push([layer, head]));
  assert.match(list.textContent, new RegExp(`^Which heads link ${"x".repeat(59)}… to who\\?head 2 of layer 150\u00A0%head 0 of layer 010\u00A0%$`));
  const buttons = all(list).filter(({ tag }) => tag === "button");
  buttons[1].click();
  assert.deepEqual([opened, buttons.map(({ attributes }) => attributes["aria-pressed"])], [[[0, 0]], ["true", "false"]]);
});
