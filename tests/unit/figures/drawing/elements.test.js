import assert from "node:assert/strict";
import { test } from "node:test";

import { joinedTexts } from "../../../../attnviz/figures/drawing/elements.js";

/** @param {string} tokens behind each other, with a bar between two, and a space before the one that has a gap */
const joined = (tokens) => joinedTexts(tokens.split("|").map((each) => [each.startsWith(" ") ? " " : "", each.trimStart()])).join("|");

test("Arabic letters of two tokens are joined, and none that stand apart in the text", () => {
  assert.equal(joined("ال|قط| ينام"), "ال\u200d|\u200dقط|ينام");
  // Alef and dal join nothing behind them, hamza nothing at all, and a digit or a stop is no letter.
  assert.equal(joined("ا|ل|د|ب|ء|٣|ب|."), "ا|ل\u200d|\u200dد|ب|ء|٣|ب|.");
  // A vowel sign does not part them, nor a token of which nothing is drawn.
  assert.equal(joined("بَ|ت"), "بَ\u200d|\u200dت");
  assert.equal(joined("ب||ت"), "ب\u200d||\u200dت");
});

test("marks stand with the letter before them, and half a letter is completed", () => {
  assert.equal(joined("ब|ि|ल|्|ली"), "बि||ल्\u200d||ली");
  assert.equal(joined("e|\u0301a"), "e\u0301|a");
  // With nothing before it a mark stays where it is.
  assert.equal(joined("\u0301|a| \u0301"), "\u0301|a|\u0301");
});

test("all other texts stay as they are", () => {
  assert.equal(joined("un|believ|able| שלום|世|界|👩|‍🚀"), "un|believ|able|שלום|世|界|👩|‍🚀");
});
