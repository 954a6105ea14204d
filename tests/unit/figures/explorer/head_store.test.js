// Heads, unpacked from the bytes that overview.py writes.

import assert from "node:assert/strict";
import test from "node:test";
import { deflateSync } from "node:zlib";

import { headName, headTitle, Head, HeadStore, MASKED } from "../../../../attnviz/figures/explorer/head_store.js";

const bytes = (codes) => Uint8Array.from([...codes.map((code) => code & 255), ...codes.map((code) => code >> 8)]);
const tokens = (count) => Array.from({ length: count }, (_, at) => [`t${at}`, 0, ""]);
const map = (nQueries, nKeys, more = {}) => ({ queries: tokens(nQueries), keys: tokens(nKeys), ...more });
const CODES = [2500, 7500, MASKED, 300, 9000, 700];
const HEAD = new Head(1, 2, map(2, 3), 4, bytes(CODES));

test("names are those of the package and of the screen", () => {
  assert.deepEqual([headName(3, 1), headName(3, null), headTitle(3, 1), headTitle(3, null)], ["3:1", "3:mean", "L3·H1", "L3, mean of all heads"]);
});

test("a code is a weight in its decimals, and a masked cell is 0", () => {
  assert.deepEqual([...HEAD.codes], CODES);
  assert.deepEqual([HEAD.weight(0, 1), HEAD.weight(0, 2), HEAD.tell(0, 1), HEAD.tell(0, 2)], [0.75, 0, "0.7500", "masked"]);
  assert.deepEqual([HEAD.highest, HEAD.anyMasked, HEAD.scaleEnd(true), HEAD.scaleEnd(false)], [9000, true, 1, 0.9]);
});

test("the colours of a long text end where 99 of 100 weights do, and those of a short one where they did", () => {
  const side = 131;
  const codes = Array.from({ length: side * side }, (_, at) => (at % side > Math.floor(at / side) ? MASKED : (at * 7919) % 997));
  codes[0] = 9900;
  const long = new Head(0, 0, map(side, side), 4, bytes(codes));
  const seen = codes.filter((code) => code !== MASKED).sort((one, other) => one - other);
  const limit = seen[Math.ceil(0.99 * seen.length) - 1] / 10_000;
  assert.ok(limit > 5 / side && limit < 0.1);
  assert.deepEqual([long.scaleEnd(true), long.scaleEnd(false), long.highest], [limit, limit, 9900]);
  // Noise stays faint.
  const faint = new Head(0, 0, map(side, side), 4, bytes(codes.map((code) => (code === MASKED ? code : code % 10))));
  assert.deepEqual([faint.scaleEnd(true), faint.scaleEnd(false)], [5 / side, 0.0009]);
  const short = new Head(0, 0, map(127, 127), 4, bytes(codes.slice(0, 127 * 127)));
  assert.deepEqual([short.scaleEnd(true), short.scaleEnd(false)], [1, 0.99]);
});

test("the strongest links come first", () => {
  assert.deepEqual(HEAD.strongest(3), [[1, 1, 0.9], [0, 1, 0.75], [0, 0, 0.25]]);
  assert.deepEqual(HEAD.strongest(1, (query) => query === 0), [[0, 1, 0.75]]);
  const many = new Head(0, 0, map(1, 1000), 4, bytes(Array.from({ length: 1000 }, (_, at) => (at * 617) % 1000)));
  assert.deepEqual(many.strongest(5).map(([, , weight]) => weight), [0.0999, 0.0998, 0.0997, 0.0996, 0.0995]);
});

test("the strongest link of a row, of a column, and of neither", () => {
  assert.deepEqual([HEAD.strongestOf("queries", 0), HEAD.strongestOf("keys", 0)], [[0, 1], [0, 0]]);
  assert.equal(HEAD.strongestOf("keys", 2)[0], 1);
  assert.equal(new Head(0, 0, map(1, 1), 4, bytes([MASKED])).strongestOf("queries", 0), null);
});

test("of a difference a code begins at -1 and has its sign", () => {
  const change = new Head(0, 0, map(1, 3, { signed: true }), 4, bytes([10_000, 4000, 12_500]));
  assert.deepEqual([0, 1, 2].map((key) => change.tell(0, key)), ["0.0000", "−0.6000", "+0.2500"]);
  assert.deepEqual([change.highest, change.strongest(1)], [6000, [[0, 1, -0.6]]]);
});

const chunk = (codes) => Uint8Array.from([4, ...deflateSync(bytes(codes))]);
const overview = (chunks) => ({ ...map(2, 3), chunks: new Map([["thumbs", Uint8Array.from(deflateSync(new Uint8Array(6)))], ...chunks]) });

test("a head that is here is unpacked once", async () => {
  const store = new HeadStore(overview([["1:2", chunk(CODES)]]), () => assert.fail("nothing is missing"));
  assert.equal(store.ready(1, 2), null);
  const head = await store.head(1, 2);
  assert.deepEqual([...head.codes], CODES);
  assert.equal(store.ready(1, 2), head);
  assert.equal(await store.head(1, 2), head);
});

test("a head that is missing is asked for until it has come", async () => {
  const asked = [];
  const store = new HeadStore(overview([]), (places) => asked.push(places));
  const [one, mean] = [store.head(0, 1), store.head(0, null)];
  assert.deepEqual(asked.at(-1), [[0, 1], [0, null]]);
  store.add(new Map([["0:1", chunk(CODES)]]));
  assert.deepEqual(asked.at(-1), [[0, null]]);
  assert.deepEqual([...(await one).codes], CODES);
  store.add(new Map([["0:mean", chunk(CODES)]]));
  assert.equal((await mean).head, null);
});

test("of many long heads the oldest is let go, and asked for again", async () => {
  const asked = [];
  const store = new HeadStore(overview([["1:2", chunk(CODES)]]), (places) => asked.push(places));
  const long = new Uint8Array(20e6);
  for (const name of ["0:0", "0:1", "0:2"]) store.add(new Map([[name, long]]));
  assert.deepEqual([...store.chunks.keys()].filter((name) => name !== "thumbs"), ["1:2", "0:1", "0:2"]);
  const again = store.head(0, 0);
  assert.deepEqual(asked, [[[0, 0]]]);
  store.add(new Map([["0:0", chunk(CODES)]]));
  assert.deepEqual([...(await again).codes], CODES);
});

test("a head that could not be unpacked is tried again", async () => {
  const store = new HeadStore(overview([["0:0", Uint8Array.from([4, 1, 2, 3])]]), () => {});
  await assert.rejects(store.head(0, 0));
  store.add(new Map([["0:0", chunk(CODES)]]));
  assert.deepEqual([...(await store.head(0, 0)).codes], CODES);
});

test("heads that come together are unpacked, however long they are", async () => {
  const store = new HeadStore(overview([]), () => {});
  store.read = async () => Uint8Array.from([1, 0]);
  const places = [[0, 0], [0, 1], [0, 2]];
  const heads = Promise.all(places.map(([layer, head]) => store.head(layer, head)));
  store.add(new Map(places.map(([layer, head]) => [`${layer}:${head}`, new Uint8Array(25e6)])));
  assert.deepEqual((await heads).map(({ head }) => head), [0, 1, 2]);
});
