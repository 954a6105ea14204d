// Digits that add up.

import assert from "node:assert/strict";
import test from "node:test";

import { counted, largestRemainder, numberText, signed, significant, spelled, summed, unitsOf100 } from "../../../../attnviz/figures/drawing/numbers.js";

/** @param {number[]} counts */
const sumOf = (counts) => counts.reduce((sum, count) => sum + count, 0);

test("what lost most gets the missing units", () => {
  for (const [values, wanted] of [
    [[1 / 3, 1 / 3, 1 / 3], [34, 33, 33]], [[0.664, 0.168, 0.168], [66, 17, 17]], [[0.372, 2.728], [37, 273]],
    [[-0.372, -2.728], [-37, -273]], [[-1.004, 0.5, 0.504], [-100, 50, 50]], [[0, 0.996, 0.004], [0, 100, 0]], [[0], [0]],
  ]) assert.deepEqual(largestRemainder(values), wanted);
});

test("terms add up to the sum as it is shown", () => {
  for (const size of [1, 2, 3, 7, 31]) {
    const values = Array.from({ length: size }, (_, place) => 4 * Math.sin(1 + 37 * place * size));
    const counts = largestRemainder(values);
    assert.equal(sumOf(counts), unitsOf100(sumOf(values)));
    counts.forEach((count, place) => assert.ok(Math.abs(count - 100 * values[place]) < 1 + 1e-9));
  }
});

test("a zero stays a zero, and what is kept reads as if it stood alone", () => {
  const values = [0.8343, 0.08285, 0.08285, 0];
  assert.deepEqual(largestRemainder(values), [84, 8, 8, 0]);
  assert.deepEqual(largestRemainder(values, { keep: 0 }), [83, 9, 8, 0]);
});

test("a sum of others is met all the same", () => {
  assert.equal(sumOf(largestRemainder([0.5, 0.25], { total: 0.8 })), 80);
  assert.equal(sumOf(largestRemainder([0.5, 0.25], { total: 0.6 })), 60);
  assert.deepEqual(largestRemainder([0.5, 0.25, 0.125], { total: 0.8 }), [48, 22, 10]);
  assert.deepEqual(largestRemainder([0.5, 0.25, 0.125], { total: 0.95 }), [53, 27, 15]);
  assert.deepEqual(largestRemainder([0.505], { total: 0.8, keep: 0 }), [80]);
  assert.deepEqual(largestRemainder([0, 0], { total: 0.5 }), [0, 0]);
});

test("minus is a minus, zero has none, and terms are written as a sum", () => {
  assert.deepEqual([numberText(-1.2), numberText(-0.314), numberText(-0.004), spelled(-7)], ["−1.20", "−0.31", "0.00", "−0.07"]);
  assert.equal(unitsOf100(3.104), 310);
  assert.equal(summed([37, -110, 273]), "0.37 − 1.10 + 2.73");
});

test("a number exactly in the middle goes to the even digit, as in Python", () => {
  for (const [value, digits, wanted] of [
    [0.376953125, 8, "0.37695312"], [0.193359375, 8, "0.19335938"], [-0.166015625, 8, "-0.16601562"], [2.5, 1, "2"], [3.5, 1, "4"],
    [0.25, 1, "0.2"], [1.5e-7, 1, "1e-07"], [12345678.5, 8, "12345678"], [0.1, 8, "0.1"], [1e8, 8, "1e+08"], [99999999.5, 8, "1e+08"],
  ]) assert.equal(significant(value, digits), wanted);
});

test("less than nothing has a minus sign, and what is rounded to nothing has none", () => {
  assert.deepEqual([signed(-0.3141), signed(2, 1), signed(-0.06, 3), signed(-0.0004, 3), signed(-0), signed(-0.6, 0)], ["−0.31", "2.0", "−0.060", "0.000", "0.00", "−1"]);
});

test("one is one, and all other counts are several", () => {
  assert.deepEqual([counted(1, "step"), counted(5000, "step"), counted(0, "query", "queries")], ["1 step", "5,000 steps", "0 queries"]);
});
