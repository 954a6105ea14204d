// What selectors keep of a text: the text with kept words marked and the rest faded, under every word a bar; and all selectors as a table, a
// row each, with its figures, of which a click shows one large; and which heads look at what is kept.

import { between } from "./answer_spans.js";
import { directionOf, make, nameOfHead, visibleText } from "./drawing/elements.js";
import { wholePercent } from "./drawing/numbers.js";
import { inkOn } from "./drawing/palette.js";

/** @import { Palette } from "./drawing/palette.js" */

/**
 * @typedef {{ units: [start: number, end: number][], scores: number[], highest: number, kept: number[], sentence: ArrayLike<number>,
 *   sentences: [number: number, share: number | null][] }} KeptPassage  offsets count characters; kept: units; sentence: of each unit the number
 *   of its sentence; sentences: those that are kept, and what they receive of the attention
 */

const KEPT_BAR = 16;
// Of what a model has not read this much is shown.
const MOST_UNREAD = 280;

/** @param {Element} place @param {string} text @param {KeptPassage} passage */
export function drawKept(place, text, { units, scores, highest, kept, sentence, sentences }) {
  const [letters, root, marked] = [Array.from(text), make("div.passage.long", { dir: directionOf(text) }), new Set(kept)];
  let [end, within] = [0, /** @type {Element} */ (root)];
  for (const [at, [start, stop]] of units.entries()) {
    const space = between(letters.slice(end, start).join(""));
    if (at && sentence[at] === sentence[at - 1]) within.append(...space);
    else root.append(...space, (within = openSentence(sentences.find(([number]) => number === sentence[at]))));
    const height = (KEPT_BAR * Math.min(scores[at] / highest, 1)).toFixed(1);
    const bar = make("span.bar", {}, make("i", { style: `height:${height}px` }));
    const attributes = { class: marked.has(at) ? "kept" : "", title: scores[at].toFixed(4), "data-score": scores[at].toFixed(6) };
    within.append(make("span.unit", attributes, make("bdi", {}, visibleText(letters.slice(start, stop).join(""))), bar));
    end = Math.max(end, stop);
  }
  const unread = letters.slice(end).join("").trim();
  const most = Array.from(unread).slice(0, MOST_UNREAD).join("");
  if (unread) root.append(" ", make("span.unread", {}, most.length < unread.length ? `${most}…` : most));
  place.replaceChildren(root);
}

/** @param {[number: number, share: number | null] | undefined} kept */
function openSentence(kept) {
  if (!kept) return make("span.sentence");
  return make("span.sentence.kept", {}, kept[1] !== null && make("span.rank", {}, wholePercent(kept[1])));
}

/**
 * @typedef {{ key: string, name: string, sentences: string, words: string, figures: (number | null)[] }} SelectorRow  figures: ROUGE in
 *   percent, against a reference all three, else the one that was measured on other texts
 */

const MEASURES = ["ROUGE-1", "ROUGE-2", "ROUGE-L"];

/** @param {SelectorRow[]} rows @param {string} chosen key of the one that is shown large @param {(key: string) => void} pick */
export function selectorsTable(rows, chosen, pick) {
  const isKnown = rows.some(({ figures }) => figures.some((each) => each !== null));
  const names = isKnown ? MEASURES.slice(0, rows[0].figures.length) : [];
  // Equal figures are all the best, but nothing is where nothing fits.
  const best = names.map((_, at) => Math.max(...rows.map(({ figures }) => figures[at] ?? 0)) || Infinity);
  const large = rows.find(({ key }) => key === chosen);
  // Beside three columns of figures nothing else fits: what a row keeps stands below its name.
  const isBelow = names.length > 1;
  const lines = rows.map((row) => {
    const { key, name, sentences, words } = row;
    const button = make("button", { type: "button", "data-selector": key, "aria-pressed": String(row === large) }, name);
    const figures = names.map((_, at) => make("td.figure", { class: row.figures[at] === best[at] ? "best" : "" }, row.figures[at]?.toFixed(1) ?? "–"));
    const said = differenceOf(row, row === large ? undefined : large);
    const kept = [sentences, words].map((text, at) => make("p", { dir: "auto", title: text }, said[at]));
    const attributes = { "data-pick": key, class: row === large ? "chosen" : "", onclick: () => pick(key) };
    return make("tr", attributes, make("td", {}, button, ...(isBelow ? kept : [])), ...figures, isBelow ? null : make("td", {}, ...kept));
  });
  const top = make("tr", {}, make("th", {}, "Choose by"), ...names.map((name) => make("th.figure", {}, name)), isBelow ? null : make("th", {}, "Keeps"));
  return make("div.scroll", {}, make("table.ways", { "data-below": isBelow }, top, ...lines));
}

/** What a row keeps: of another than the one shown large, where it differs from that one. @param {{ sentences: string, words: string }} row
 * @param {{ sentences: string, words: string } | undefined} large @returns {[sentences: string, words: string]} */
function differenceOf(row, large) {
  if (!large) return [row.sentences, row.words];
  const [mine, its] = [row.words, large.words].map((words) => words.split(/\s+/).filter(Boolean));
  const [more, less] = [mine.filter((word) => !its.includes(word)), its.filter((word) => !mine.includes(word))];
  const words = more.length ? `Also: ${more.join(" ")}` : less.length ? `Without: ${less.join(" ")}` : "The same words";
  return [row.sentences === large.sentences ? "The same sentences" : row.sentences, words];
}

/** The share (0 to 1) of each head's attention to words that lands on kept words: a row of buttons a layer.
 * @param {{ shares: number[], shape: [layers: number, heads: number], layer: number, head: number | null }} drawn  shares: layer by layer; head: none
 *   is chosen, but the mean of the layer @param {Palette} palette @param {(layer: number, head: number) => void} open */
export function headShares({ shares, shape: [layers, heads], layer, head }, palette, open) {
  const grid = make("div.costs", { style: `--layers:${layers};--heads:${heads}` }, make("span.axis"));
  for (let own = 0; own < heads; own++) grid.append(make(heads > 9 ? "span.axis.many" : "span.axis", {}, `H${own}`));
  for (const [at, share] of shares.entries()) {
    const [row, column] = [Math.floor(at / heads), at % heads];
    if (!column) grid.append(make("span.axis.layer", {}, `L${row}`));
    const [colour, title] = [palette.colour(share), `${nameOfHead(row, column)}: ${(100 * share).toFixed(1)}\u00A0% to kept words`];
    const isChosen = row === layer && (head === null || column === head);
    grid.append(make("button.head", {
      type: "button", "data-pick": `${row}.${column}`, "aria-pressed": String(isChosen), title, "aria-label": title,
      style: `background:${colour};color:${inkOn(colour)}`, onclick: () => open(row, column),
    }, make("span", {}, String(Math.round(100 * share)))));
  }
  return make("div.percents", {}, grid);
}
