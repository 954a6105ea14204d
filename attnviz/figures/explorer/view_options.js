// How a map is looked at, and how that stands in an address: "order_entropy~links_0.1". What is not there is as at first.
// chips, zoom: what was chosen for one head, or for one map, and says so: it counts only while that is looked at.

import { wholePercent } from "../drawing/numbers.js";
import { headName } from "./head_store.js";

/** @import { Link } from "./head_store.js" */

// The measures that heads are sorted by, and shown with.

/**
 * @typedef {{ entropy: number, highest: number, link: Link | null, diagonal: number | null, distance: number | null }} HeadNote
 * @typedef {{ label: string, name: string, caption: string, most?: number, value(note: HeadNote): number, length(note: HeadNote): number,
 *   tell(note: HeadNote): string }} Order  value: what is first is least; length: of the bar, of which `most` is the longest, else
 *   the largest of all heads
 */

/** @satisfies {Record<string, Order>} */
export const ORDERS = {
  model: { label: "as in the model", name: "", caption: "", value: () => 0, length: () => 0, tell: () => "" },
  entropy: {
    label: "sharpest first",
    name: "entropy",
    caption: "those with the lowest entropy first",
    value: (note) => note.entropy,
    length: (note) => note.entropy,
    tell: (note) => `${note.entropy.toFixed(2)} bits`,
  },
  diagonal: {
    label: "to neighbours first",
    name: "to neighbours",
    caption: "those that look most at neighbouring tokens first",
    most: 1,
    value: (note) => -(note.diagonal ?? 0),
    length: (note) => note.diagonal ?? 0,
    tell: (note) => wholePercent(note.diagonal ?? 0),
  },
  distance: {
    label: "furthest first",
    name: "mean distance",
    caption: "those that look furthest first",
    value: (note) => -(note.distance ?? 0),
    length: (note) => note.distance ?? 0,
    tell: (note) => `${(note.distance ?? 0).toFixed(1)} tokens`,
  },
};

/**
 * @typedef {{ of: string, on: Map<number | null, number> }} Chips  the heads that the arcs show, each with the number of its colour
 * @typedef {{ of: string, zoom: number, x: number, y: number }} Zoom  how often it is enlarged, and the cell at its top left
 * @typedef {{ order: keyof typeof ORDERS, kind: keyof typeof KINDS, links: number, gives: boolean, several: boolean, chips: Chips | null,
 *   zoom: Zoom | null }} ViewOptions
 */

export const KINDS = { link: "shaded by the link", cells: "as matrices", arcs: "as arcs" };
/** @type {ViewOptions} */
export const FIRST_OPTIONS = { order: "model", kind: "link", links: 0.03, gives: true, several: false, chips: null, zoom: null };
export const MOST_LINKS = 0.5;
/** @type {{ [Name in keyof ViewOptions]: [(value: any) => string, (values: string[]) => ViewOptions[Name] | null] }} */
const PARTS = {
  order: [(value) => value, ([value]) => (Object.hasOwn(ORDERS, value) ? /** @type {keyof typeof ORDERS} */ (value) : null)],
  kind: [(value) => value, ([value]) => (Object.hasOwn(KINDS, value) ? /** @type {keyof typeof KINDS} */ (value) : null)],
  links: [String, ([value]) => within(Number(value), 0, MOST_LINKS)],
  gives: [() => "no", () => false],
  several: [() => "yes", () => true],
  chips: [writeChips, readChips],
  zoom: [({ of, zoom, x, y }) => [of, zoom, x, y].join("_"), readZoom],
};
const NAMES = /** @type {(keyof ViewOptions)[]} */ (Object.keys(FIRST_OPTIONS));

/** @param {number} layer @param {number | null} head */
export const chipsName = (layer, head) => headName(layer, head).replace(":", ".");
/** @param {number} number @param {number} low @param {number} high */
const within = (number, low, high) => (number >= low && number <= high ? number : null);

/** @param {ViewOptions} options */
export function writeOptions(options) {
  const changed = NAMES.filter((name) => options[name] !== FIRST_OPTIONS[name]);
  return changed.map((name) => `${name}_${PARTS[name][0](options[name])}`).join("~");
}

/** What is no option, or one of another version, is left out. @param {string} text @returns {ViewOptions} */
export function readOptions(text) {
  /** @type {Record<string, unknown>} */
  const read = {};
  for (const part of text.split("~")) {
    const [name, ...values] = part.split("_");
    const value = Object.hasOwn(PARTS, name) ? PARTS[/** @type {keyof ViewOptions} */ (name)][1](values) : null;
    if (value !== null) read[name] = value;
  }
  return { ...FIRST_OPTIONS, ...read };
}

/** @param {Chips} chips */
function writeChips({ of, on }) {
  return [of, Array.from(on, ([head, colour]) => `${head ?? "mean"}.${colour}`).join("-")].join("_");
}

/** @param {string[]} values @returns {Chips | null} */
function readChips([of, heads = ""]) {
  const on = new Map();
  for (const chip of heads.split("-")) {
    const [head, colour] = chip.split(".");
    if (/^(\d{1,4}|mean)$/.test(head) && /^\d{1,2}$/.test(colour)) on.set(head === "mean" ? null : Number(head), Number(colour));
  }
  return on.size ? { of, on } : null;
}

/** @param {string[]} values @returns {Zoom | null} */
function readZoom([of, ...numbers]) {
  const [zoom, x, y] = numbers.map((number) => within(Number(number), 0, 1e6));
  return zoom !== null && zoom >= 1 && x !== null && y !== null && numbers.length === 3 ? { of, zoom, x, y } : null;
}
