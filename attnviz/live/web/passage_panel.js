// A text with bars under its words: where an answer starts and ends, or what each word receives; and what is marked in it.

import { make, percent, wholePercent } from "../../figures/drawing/elements.js";

/** @import { Sentence } from "./wording.js" */

/**
 * @typedef {{ units: [start: number, end: number][], bars: { name: string, values: number[] }[],
 *   spans?: [first: number, last: number, probability: number][], declined?: boolean, kept?: number[],
 *   sentences?: [start: number, end: number][] }} Passage  offsets count characters, spans and kept count units
 */

const BAR = 22;
const LEAST_MARKED = 0.005;
// Of a longer passage only so many words are drawn, as attnviz/figures/answer_spans.py has it.
const MOST_DRAWN = 2400;

/** @param {Element} place @param {string} text @param {Passage} passage @param {Node[]} above what stands before the bars' names */
export function drawPassage(place, text, passage, ...above) {
  const { bars } = passage;
  const highest = bars.reduce((most, { values }) => values.reduce((one, other) => Math.max(one, other), most), 0) || 1;
  const names = bars.map(({ name }, index) => make("span", {}, make("i", { class: `bar${index}` }), name));
  const legend = make("p", { class: "legend" }, ...names, make("span", {}, `the tallest bar is ${percent(highest)}`));
  const drawn = make("div", { class: "answered long", dir: "auto" }, ...pieces(Array.from(text), passage, highest));
  place.replaceChildren(...above, legend, drawn);
  // Of a long passage the part with the answer, not its beginning.
  const first = /** @type {HTMLElement | null} */ (drawn.querySelector(".span [data-rank='1']")?.parentElement);
  if (first) drawn.scrollTop = Math.max(0, first.offsetTop - drawn.clientHeight / 2);
}

/** @param {string[]} letters @param {Passage} passage @param {number} highest */
function pieces(letters, passage, highest) {
  const { units, spans = [], declined = false } = passage;
  const root = make("span");
  const [from, to] = drawnPart(units.length, spans);
  if (from) root.append(unread(`… ${grouped(from)} tokens before … `));
  let place = root;
  let end = from ? units[from][0] : 0;
  for (const [index, [start, stop]] of [...units.entries()].slice(from, to)) {
    place.append(letters.slice(end, start).join(""));
    const rank = spans.findIndex(([first]) => first === index);
    if (rank >= 0) root.append((place = openSpan(rank, spans[rank][2], declined)));
    place.append(drawUnit(letters.slice(start, stop).join(""), index, passage, highest));
    if (spans.some(([, last]) => last === index)) place = root;
    end = Math.max(end, stop);
  }
  root.append(to < units.length ? unread(` … ${grouped(units.length - to)} tokens after …`) : letters.slice(end).join(""));
  return [root];
}

/** Which words are drawn: the best span in the middle, and no span cut in two.
 * @param {number} count @param {[first: number, last: number, ...rest: any[]][]} spans @returns {[from: number, to: number]} */
export function drawnPart(count, spans) {
  const middle = spans[0]?.[0] ?? 0;
  let from = Math.max(Math.min(middle - MOST_DRAWN / 2, count - MOST_DRAWN), 0);
  let to = Math.min(from + MOST_DRAWN, count);
  for (const [first, last] of spans) {
    if (first < from && from <= last) from = last + 1;
    if (first < to && to <= last) to = first;
  }
  return [from, to];
}

/** @param {number} count */
const grouped = (count) => count.toLocaleString("en");

/** @param {string} text */
const unread = (text) => make("span", { class: "unread" }, text);

/** @param {string} text @param {number} index @param {Passage} passage @param {number} highest */
function drawUnit(text, index, { units, bars, kept = [], sentences = [] }, highest) {
  const [start, stop] = units[index];
  const isInside = sentences.some(([from, to]) => start >= from && stop <= to);
  const classes = ["unit", kept.includes(index) && "kept", isInside && "inside"].filter(Boolean).join(" ");
  const title = bars.map(({ name, values }) => `${name} ${values[index].toFixed(4)}`).join(" · ");
  return make("span", { class: classes, title }, make("bdi", {}, text), drawBars(bars.map(({ values }) => values[index] / highest)));
}

/** @param {number} rank @param {number} probability @param {boolean} declined */
function openSpan(rank, probability, declined) {
  // The sentence above names the two best; of the others, those count that are more than nothing.
  if (probability < LEAST_MARKED && rank > 1) return make("span", {});
  const share = probability < LEAST_MARKED ? "<1\u00A0%" : wholePercent(probability);
  return make("span", { class: rank === 0 && !declined ? "span best" : "span" }, make("span", { class: "rank", "data-rank": rank + 1 }, `${rank + 1} · ${share}`));
}

/** @param {number[]} shares */
function drawBars(shares) {
  const drawn = shares.map((share, index) => {
    const bar = make("i", { class: `bar${index}` });
    bar.style.height = `${Math.min(Math.max(share, 0), 1) * BAR}px`;
    return bar;
  });
  return make("span", { class: "bars", "aria-hidden": "true" }, ...drawn);
}

// Sentences in large type; a token in them is text, never markup.

/** @param {Element} place @param {Sentence[]} sentences */
export function tell(place, sentences) {
  place.replaceChildren(...sentences.map((sentence) => make("p", {}, ...sentence.map(drawPart))));
}

/** @param {Sentence[number]} part */
function drawPart([text, strength]) {
  if (!strength) return text;
  return make("strong", { dir: "auto" }, strength === 2 ? `“${text}”` : text);
}
