// Colours of weights.

import assert from "node:assert/strict";
import test from "node:test";

import { nearestColour, Palette } from "../../../../attnviz/figures/drawing/palette.js";

const hex = (value) => Math.round(value).toString(16).padStart(2, "0");
const scale = Array.from({ length: 256 }, (_, at) => `${hex(at)}${hex(255 - at)}40`).join("");
const palette = new Palette({ name: "light", panel: "#808080", above: "#ff0000", below: "#0000ff", masked: "#010203", scale });
const rgb = (pixel) => [pixel & 255, (pixel >> 8) & 255, (pixel >> 16) & 255, pixel >>> 24];

test("a weight has the colour of its share, and more than all is all", () => {
  assert.deepEqual([0, 0.5, 1, 7, -1].map((share) => palette.colour(share)), ["#00ff40", "#808040", "#ff0040", "#ff0040", "#00ff40"]);
});

test("a weight between two colours has the even one, as in Python", () => {
  const weights = [-1, 0, 0.1, 0.5, 1 / 6, 1, 7];
  assert.deepEqual(weights.map((weight) => parseInt(nearestColour({ scale }, weight).slice(1, 3), 16)), [0, 0, 26, 128, 42, 255, 255]);
});

test("pixels go from 0 to a share of the scale", () => {
  assert.deepEqual([...palette.pixels(2)].map(rgb), [[0, 255, 64, 255], [128, 128, 64, 255], [255, 0, 64, 255]]);
  assert.deepEqual(rgb(palette.pixels(4, 0.5)[4]), [128, 128, 64, 255]);
  assert.deepEqual(rgb(palette.maskedPixel), [1, 2, 3, 255]);
});

test("a difference goes from one colour over the panel to the other", () => {
  assert.deepEqual([...palette.signedPixels(2)].map(rgb), [[0, 0, 255, 255], [128, 128, 128, 255], [255, 0, 0, 255]]);
  assert.deepEqual(rgb(palette.signedPixels(2, 0)[2]), [128, 128, 128, 255]);
});

test("ink is whichever is better read", () => {
  assert.deepEqual(["#000000", "#ffffff", "#ffff00", "#0000ff"].map((colour) => palette.ink(colour)), ["#ffffff", "#000000", "#000000", "#ffffff"]);
});
