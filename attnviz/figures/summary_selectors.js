// What each selector keeps of a text, as a table: a row a selector, with its figures; a click shows one large.

import { make } from "./drawing/elements.js";

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
  const lines = rows.map((row) => {
    const { key, name, sentences, words } = row;
    const button = make("button", { type: "button", "data-selector": key, "aria-pressed": String(row === large) }, name);
    const figures = names.map((_, at) => make("td.figure", { class: row.figures[at] === best[at] ? "best" : "" }, row.figures[at]?.toFixed(1) ?? "–"));
    const said = differenceOf(row, row === large ? undefined : large);
    const kept = [sentences, words].map((text, at) => make("p", { dir: "auto", title: text }, said[at]));
    const attributes = { "data-pick": key, class: row === large ? "chosen" : "", onclick: () => pick(key) };
    return make("tr", attributes, make("td", {}, button), ...figures, make("td", {}, ...kept));
  });
  const top = make("tr", {}, make("th", {}, "Choose by"), ...names.map((name) => make("th.figure", {}, name)), make("th", {}, "Keeps"));
  return make("div.scroll", {}, make("table.ways", {}, top, ...lines));
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
