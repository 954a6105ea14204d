// A text with bars under its words: where an answer starts and ends, or what each word receives; and what is marked in it. Above a
// passage the question that is asked of it, as words that can be clicked, and below the heads that link both.

import { cutText, directionOf, headButtons, joinedTexts, make, visibleText, word } from "./drawing/elements.js";
import { counted, percent, wholePercent } from "./drawing/numbers.js";

/** @import { Palette } from "./drawing/palette.js" */

/**
 * @typedef {{ units: [start: number, end: number][], bars: { name: string, values: number[] }[],
 *   spans: [first: number, last: number, probability: number][], declined: boolean }} Passage  offsets count characters, spans units
 */

const BAR = 22;
const LEAST_MARKED = 0.005;
// Of a longer passage only so many words are drawn: a browser lays out no book in an instant.
const MOST_DRAWN = 2400;

/** @param {Element} place @param {string} text @param {Passage} passage @param {Node[]} above what stands before the bars' names */
function drawPassage(place, text, passage, ...above) {
  const { bars } = passage;
  const highest = bars.reduce((most, { values }) => values.reduce((one, other) => Math.max(one, other), most), 0) || 1;
  const names = bars.map(({ name }, index) => make("span", {}, make("i", { class: `bar${index}` }), name));
  const legend = make("p", { class: "answer-legend" }, ...names, make("span", {}, `the tallest bar is ${percent(highest)}`));
  const drawn = make("div", { class: "answered long", dir: directionOf(text) }, ...pieces(Array.from(text), passage, highest));
  place.replaceChildren(...above, legend, drawn);
  // Of a long passage the part with the answer, not its beginning.
  const first = /** @type {HTMLElement | null} */ (drawn.querySelector(".span [data-rank='1']")?.parentElement);
  if (first) drawn.scrollTop = Math.max(0, first.offsetTop - drawn.clientHeight / 2);
}

/** @param {string[]} letters @param {Passage} passage @param {number} highest */
function pieces(letters, passage, highest) {
  const { units, spans, declined } = passage;
  const root = make("span");
  const [from, to] = drawnPart(units.length, spans);
  if (from) root.append(unread(`… ${counted(from, "token")} before … `));
  let place = root;
  let end = from ? units[from][0] : 0;
  const drawn = units.slice(from, to).map(([start, stop]) => {
    const gap = letters.slice(end, start).join("");
    end = Math.max(end, stop);
    return /** @type {[string, string]} */ ([gap, letters.slice(start, stop).join("")]);
  });
  const texts = joinedTexts(drawn.map(([gap, text]) => [gap, visibleText(text)]));
  for (const [at, [gap]] of drawn.entries()) {
    const index = from + at;
    place.append(...between(gap));
    const rank = spans.findIndex(([first]) => first === index);
    if (rank >= 0) root.append((place = openSpan(rank, spans[rank][2], declined)));
    place.append(drawUnit(texts[at], index, passage, highest));
    if (spans.some(([, last]) => last === index)) place = root;
  }
  root.append(...(to < units.length ? [unread(` … ${counted(units.length - to, "token")} after …`)] : between(letters.slice(end).join(""))));
  return [root];
}

/** A blank line between two words stays; all else is one space, at which a line may break. @param {string} space */
export const between = (space) => (space.split("\n").length > 2 ? [make("br"), make("br")] : [space && " "]);

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

/** @param {string} text */
const unread = (text) => make("span", { class: "unread" }, text);

/** @param {string} text @param {number} index @param {Passage} passage @param {number} highest */
function drawUnit(text, index, { bars }, highest) {
  const title = bars.map(({ name, values }) => `${name} ${values[index].toFixed(4)}`).join(" · ");
  return make("span.unit", { title }, text ? make("bdi", {}, text) : make("span.part"), drawBars(bars.map(({ values }) => values[index]), highest));
}

/** @param {number} rank @param {number} probability @param {boolean} declined */
function openSpan(rank, probability, declined) {
  // The sentence above names the two best; of the others, those count that are more than nothing.
  if (probability < LEAST_MARKED && rank > 1) return make("span", {});
  const share = probability < LEAST_MARKED ? "<1\u00A0%" : wholePercent(probability);
  return make("span", { class: rank === 0 && !declined ? "span best" : "span" }, make("span", { class: "rank", "data-rank": rank + 1 }, `${rank + 1} · ${share}`));
}

/** @param {number[]} values @param {number} highest */
function drawBars(values, highest) {
  const style = (/** @type {number} */ value) => `height:${(Math.min(Math.max(value / highest, 0), 1) * BAR).toFixed(1)}px`;
  const drawn = values.map((value, index) => make(`i.bar${index}`, { style: style(value), "data-value": value.toFixed(6) }));
  return make("span", { class: "bars", "aria-hidden": "true" }, ...drawn);
}

/**
 * @typedef {{ side: string, question: [text: string, special: number][], shares: number[], word: number | null, bars: number[] | null,
 *   name: string, layer: number, head: number | null, heads: [layer: number, head: number, weight: number][] }} SeenQuestion  what a head
 *   gives between the question and the answer: shares of each word, bars of the chosen one; name: of the word that the heads are ranked by
 */

/** Draws the question, with what the head gives to each word, above its passage. @param {HTMLElement} place
 * @param {{ text: string, passage: Passage, seen: SeenQuestion, where: string, isFull: boolean }} drawn where: the head in words
 * @param {Palette} palette @param {(word: number) => void} choose */
export function drawAnswer(place, { text, passage, seen, where, isFull }, palette, choose) {
  const { question, word: chosen, bars, side } = seen;
  const meets = chosen === null ? "" : `“${question[chosen][0]}”`;
  const own = bars ? [{ name: side === "question" ? `${meets} looks here` : `looks at ${meets}`, values: bars }] : passage.bars;
  const looks = side === "question" ? "How much each question word looks at the answer" : "How much the answer looks at each question word";
  const note = chosen === null ? `${looks} (${where}). Click a word.` : `Bars show attention with ${meets} in ${where}. Click it again to go back.`;
  drawPassage(place, text, { ...passage, bars: own }, make("p.note", {}, note), questionButtons(seen, palette, isFull, choose));
}

/** What has the keyboard in a picture has it again once that is drawn anew. @param {HTMLElement} place */
export function keptFocus(place) {
  const { activeElement } = /** @type {Document | ShadowRoot} */ (place.getRootNode());
  const focused = place.contains(activeElement) && /** @type {HTMLElement | null} */ (activeElement?.closest("[data-word], [data-head], [data-selector], .cells") ?? null);
  const again = focused && (Object.entries(focused.dataset).map(([name, value]) => `[data-${name}="${value}"]`).join("") || ".cells");
  return () => again && /** @type {HTMLElement | null} */ (place.querySelector(again))?.focus({ preventScroll: true });
}

/** The question as buttons, one a word, shaded by what the answer gives to each. @param {SeenQuestion} seen @param {Palette} palette
 * @param {boolean} isFull colours run from 0 to 1, not to the largest share @param {(word: number) => void} choose */
function questionButtons({ question, shares, word: chosen }, palette, isFull, choose) {
  const highest = isFull ? 1 : Math.max(...shares) || 1;
  const buttons = question.map(([text, special], index) => {
    const colour = palette.colour(shares[index] / highest);
    const name = make("bdi", { style: `background:${colour};color:${palette.ink(colour)}` }, text);
    const kind = [special && "special", index === chosen && "chosen"].filter(Boolean).join(" ");
    const attributes = { type: "button", class: kind, "data-word": index, "aria-pressed": String(index === chosen), onclick: () => choose(index) };
    return make("button.word", attributes, name, make("em", {}, shares[index].toFixed(2)));
  });
  return make("div.asked", { dir: directionOf(question.map(([text, special]) => (special ? "" : text)).join("")) }, ...buttons);
}

/** The heads that give most to the chosen word, or to the one that the answer looks at most. @param {SeenQuestion} seen @param {string} answer
 * @param {(layer: number, head: number) => void} open */
export function linkingHeads({ side, heads, name, layer, head }, answer, open) {
  const short = cutText(answer);
  const [who, whom] = side === "question" ? [name, short] : [short, name];
  const listed = heads.map(([own, number, weight]) => ({ layer: own, head: number, weight }));
  const rows = headButtons(listed, (own, number) => own === layer && number === head, open);
  const caption = make("p.note", {}, "Which heads link ", make("strong", {}, word(who)), " to ", make("strong", {}, word(whom)), "?");
  return make("div.first", {}, caption, make("ol.first-heads", {}, ...rows));
}
