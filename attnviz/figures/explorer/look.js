// How a person looks at a map, and how that stands in an address: "order_entropy~links_0.1". What is not there is as at first.
// chips, zoom: what was chosen for one head, or for one map, and says so: it counts only while that is looked at.

import { KINDS } from "./grid.js";
import { ORDERS } from "./ranking.js";
import { headName } from "./store.js";

export const FIRST_LOOK = { order: "model", kind: "cells", links: 0.03, gives: true, chips: null, zoom: null };
export const MOST_LINKS = 0.5;
const PARTS_OF_LOOK = {
  order: [(value) => value, ([value]) => (value in ORDERS ? value : null)],
  kind: [(value) => value, ([value]) => (value in KINDS ? value : null)],
  links: [String, ([value]) => within(Number(value), 0, MOST_LINKS)],
  gives: [() => "no", () => false],
  chips: [({ of, on }) => [of, Array.from(on, ([head, colour]) => `${head ?? "mean"}.${colour}`).join("-")].join("_"), readChips],
  zoom: [({ of, zoom, x, y }) => [of, zoom, x, y].join("_"), readZoom],
};

export const chipsName = (layer, head) => headName(layer, head).replace(":", ".");
const within = (number, low, high) => (number >= low && number <= high ? number : null);

export function writeLook(state) {
  const changed = Object.keys(FIRST_LOOK).filter((name) => state[name] !== FIRST_LOOK[name]);
  return changed.map((name) => `${name}_${PARTS_OF_LOOK[name][0](state[name])}`).join("~");
}

// What is no look, or one of another version, is left out.
export function readLook(text) {
  const look = { ...FIRST_LOOK };
  for (const part of text.split("~")) {
    const [name, ...values] = part.split("_");
    const value = Object.hasOwn(PARTS_OF_LOOK, name) ? PARTS_OF_LOOK[name][1](values) : null;
    if (value !== null) look[name] = value;
  }
  return look;
}

function readChips([of, heads = ""]) {
  const on = new Map();
  for (const chip of heads.split("-")) {
    const [head, colour] = chip.split(".");
    if (/^(\d{1,4}|mean)$/.test(head) && /^\d{1,2}$/.test(colour)) on.set(head === "mean" ? null : Number(head), Number(colour));
  }
  return on.size ? { of, on } : null;
}

function readZoom([of, ...numbers]) {
  const [zoom, x, y] = numbers.map((number) => within(Number(number), 0, 1e6));
  return zoom >= 1 && x !== null && y !== null && numbers.length === 3 ? { of, zoom, x, y } : null;
}
