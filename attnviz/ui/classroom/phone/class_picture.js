// The picture after the reveal: how dark the head drew each word, what the class guessed, and one's own guess in it.

import { make } from "../../../figures/drawing/elements.js";
import { percent } from "../../../figures/drawing/numbers.js";
import { plainWord, wordNamed } from "../../../figures/lessons/question.js";

/** @param {string} hex "#rrggbb" @returns {number[]} */
const channels = (hex) => [1, 3, 5].map((at) => Number.parseInt(hex.slice(at, at + 2), 16));

/**
 * The colour of a weight, and a colour that can be read on it.
 *
 * @param {readonly string[]} scale from weight 0 to weight 1
 * @param {number} weight
 */
export function shade(scale, weight) {
  const place = Math.min(Math.max(weight, 0), 1) * (scale.length - 1);
  const below = Math.min(Math.floor(place), scale.length - 2);
  const [from, to] = [channels(scale[below]), channels(scale[below + 1])];
  const mixed = from.map((value, at) => Math.round(value + (to[at] - value) * (place - below)));
  const [red, green, blue] = mixed.map((value) => (value <= 10 ? value / 3294.6 : ((value / 255 + 0.055) / 1.055) ** 2.4));
  const isDark = 0.2126 * red + 0.7152 * green + 0.0722 * blue < 0.179;
  return `background:rgb(${mixed.join(",")});color:${isDark ? "#fff" : "#000"}`;
}

const BARS = 20;

/**
 * @typedef {object} Shown
 * @property {ClassQuestion} question
 * @property {ClassTruth} truth
 * @property {string | null} own
 * @property {readonly string[]} scale
 */

/** @param {Shown} shown @returns {Node} */
export function revealed(shown) {
  const { question, truth, own } = shown;
  const isRight = truth.guesses.find(([answer]) => answer === own)?.[2];
  const verdict =
    own === null ? "You did not answer." : isRight === true ? "You were right." : isRight === false ? "Not this time." : "";
  const comment = isRight ? truth.if_right : truth.if_wrong;
  const right = truth.guesses.reduce((sum, [, count, is]) => sum + (is ? count : 0), 0);
  const share = truth.right.length > 0 && truth.answered > 0 && `${right} of ${truth.answered} in the class were right.`;
  return make(
    "div.options",
    {},
    verdict && make("p.verdict", {}, verdict),
    own !== null && question.kind !== "text" && make("p", {}, "You answered ", make("b", {}, make("bdi", {}, answerInWords(question, own))), "."),
    // It is English, whichever word it begins with.
    truth.sentence && make("p", {}, truth.sentence.replaceAll(" %", "\u00A0%")),
    comment && make("p", {}, make("bdi", {}, comment)),
    question.kind === "text" ? ownText(shown) : classPicture(shown),
    share && make("p", {}, share),
    /^\/(?!\/)/.test(truth.link) && make("a.link", { href: truth.link, target: "_blank", rel: "noopener" }, "Open this picture in the app"),
  );
}

/** What the class guessed, in the picture. @param {Shown} shown @returns {Node} */
export function classPicture(shown) {
  const pictures = {
    token: shadedWords, number: histogram, head: shadedGrid, cell: shadedGrid, choice: countedOptions, order: countedOrders, text: countedTexts,
  };
  return pictures[shown.question.kind](shown);
}

/** A share has the one digit behind the point that it can be given with. @param {ClassQuestion} question @param {string} answer */
export const answerInWords = ({ kind }, answer) => (kind === "number" ? `${Math.round(1000 * shareOf(answer)) / 10}\u00A0%` : answer);

/** A share as it was given, such as "57 %" or ".57". @param {string} answer */
const shareOf = (answer) => (answer.includes("%") ? Number.parseFloat(answer) / 100 : Number(answer.replace(",", ".")));

/** @param {Shown} shown @param {string} answer */
const count = ({ truth }, answer) => truth.guesses.find(([each]) => each === answer)?.[1] ?? 0;

/** @param {Shown} shown @param {string} answer */
function frame({ truth, own }, answer) {
  return `${answer === own ? ".own" : ""}${truth.right.includes(answer) ? ".right" : ""}`;
}

/** @param {Shown} shown @param {string} guesses what shows them, where there are some @param {...string} more */
const legend = ({ own, truth }, guesses, ...more) =>
  make("p.legend", {}, ...[...(own === null ? [] : [["own", "your answer"]]), ["right", "the right answer"]].map(([kind, name]) =>
    make("span", {}, make(`i.${kind}`), name)), ...more.map((name) => make("span", {}, name)), truth.answered > 0 && make("span", {}, guesses));

/** @param {Shown} shown */
function shadedWords(shown) {
  const { question, truth, scale } = shown;
  const can = new Set(question.choices);
  const boxes = question.words.map((name, at) => {
    const guesses = can.has(name) ? count(shown, name) : 0;
    const box = make(
      `span.word${frame(shown, name)}`,
      { style: shade(scale, truth.weights[at] ?? 0) },
      wordNamed(name),
      make("small", {}, percent(truth.weights[at] ?? 0)),
      guesses > 0 && make("b.guesses", { "aria-label": `${guesses} guessed it` }, String(guesses)),
    );
    return make("li", {}, box);
  });
  return make("div.options", {}, make("ul.words", {}, ...boxes), legend(shown, "orange: guesses", "percent: attention"));
}

/** @param {Shown} shown */
function histogram({ question, truth, own, scale }) {
  const bins = Array.from({ length: BARS }, () => 0);
  for (const [answer, times] of truth.guesses) {
    bins[Math.min(Math.floor(shareOf(answer) * BARS), BARS - 1)] += times;
  }
  const most = Math.max(...bins, 1);
  const bars = bins.map((times) => make("i", { style: `height:${(100 * times) / most}%` }));
  const marks = [make("b", { style: `left:${100 * Number(truth.right[0])}%` })];
  if (own !== null) marks.push(make("b.mine", { style: `left:${100 * shareOf(own)}%` }));
  const words = question.words.map((name, at) => {
    const isMarked = question.marked.includes(at);
    if (!isMarked) return make("li", {}, plainWord(name, false));
    const style = shade(scale, truth.weights[at] ?? 0);
    return make("li", {}, make("span.word.marked", { style }, wordNamed(name), make("small", {}, percent(truth.weights[at] ?? 0))));
  });
  const about = `Guesses of the class from 0 % to 100 %; the true value is ${percent(Number(truth.right[0]))}.`;
  return make(
    "div.options", {}, make("ul.words", {}, ...words),
    make("div.histogram", { role: "img", "aria-label": about }, ...bars, ...marks),
    make("div.ends", { "aria-hidden": "true" }, make("span", {}, "0 %"), make("span", {}, "100 %")),
    make("p.legend", {}, truth.answered > 0 && make("span", {}, "bars: the class"), make("span", {}, "line: true"), own !== null && make("span", {}, "dashed: you")),
  );
}

/** @param {Shown} shown */
function shadedGrid(shown) {
  const { question, truth, scale } = shown;
  const between = question.kind === "head" ? "·" : " → ";
  const label = question.kind === "head" ? "div" : "span";
  // Of twelve heads a phone has room for the numbers.
  const heads = question.columns.map((name) => make("th", { scope: "col" }, make(label, {}, wordNamed(question.kind === "head" ? name.replace("H", "") : name))));
  const rows = question.rows.map((row, down) =>
    make("tr", {}, make("th", { scope: "row" }, wordNamed(row)), ...question.columns.map((column, across) => {
      const answer = `${row}${between}${column}`;
      const weight = truth.weights[down * question.columns.length + across] ?? 0;
      const guesses = count(shown, answer);
      const title = `${answer}: ${percent(weight)}${guesses ? `, ${guesses} guessed it` : ""}`;
      return make(`td${frame(shown, answer)}`, { style: shade(scale, weight), title }, guesses > 0 && String(guesses));
    })),
  );
  const table = make("table", {}, make("thead", {}, make("tr", {}, make("th"), ...heads)), make("tbody", {}, ...rows));
  return make("div.options", {}, make(`div.grid.${question.kind}s`, { tabindex: 0, role: "region", "aria-label": "The picture" }, table), legend(shown, "numbers: guesses"));
}

/** @param {Shown} shown @param {string[]} [answers] */
function countedOptions(shown, answers = shown.question.choices) {
  const { question, truth } = shown;
  // Of a next word, what the model gives each choice.
  const shares = question.kind === "choice" && truth.weights.length === answers.length ? truth.weights : [];
  const rows = answers.map((answer, at) => {
    const guesses = count(shown, answer);
    const bar = make("div.bar", { style: `width:${(100 * guesses) / Math.max(truth.answered, 1)}%` });
    const model = shares.length > 0 && make("div.bar.model", { style: `width:${100 * shares[at]}%` });
    const given = shares.length > 0 && make("small", {}, ` ${percent(shares[at])}`);
    const text = make("div", { style: "flex:1" }, make("bdi", {}, answer), given, bar, model);
    return make("li", {}, make(`div.option${frame(shown, answer)}`, {}, text, make("b", {}, String(guesses))));
  });
  return make("div.options", {}, make("ul.options", {}, ...rows),
    legend(shown, shares.length > 0 ? "orange: the class" : "bars: the class", ...(shares.length > 0 ? ["blue, percent: the model"] : [])));
}

/** The orders that were given most, the right one among them. @param {Shown} shown */
function countedOrders(shown) {
  const given = shown.truth.guesses.slice(0, 5).map(([answer]) => answer);
  return countedOptions(shown, [...new Set([...shown.truth.right, ...given, ...(shown.own === null ? [] : [shown.own])])]);
}

/** What was written most, and no more of it than can be read. @param {Shown} shown */
const countedTexts = (shown) => countedOptions(shown, shown.truth.guesses.slice(0, 8).map(([answer]) => answer));

/** @param {Shown} shown */
const ownText = ({ own }) => make("p", {}, own === null ? null : "You wrote: ", own === null ? null : make("bdi", {}, own));
