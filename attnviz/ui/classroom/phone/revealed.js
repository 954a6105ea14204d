// The picture after the reveal: how dark the head drew each word, what the class guessed, and one's own guess in it.

import { plainBox } from "./answering.js";
import { element, percent, shade, word } from "./elements.js";

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
  return element(
    "div.options",
    {},
    verdict && element("p.verdict", {}, verdict),
    own !== null && question.kind !== "text" && element("p", {}, "You answered ", element("b", {}, element("bdi", {}, named(question, own))), "."),
    truth.sentence && element("p", {}, element("bdi", {}, truth.sentence.replaceAll(" %", "\u00A0%"))),
    comment && element("p", {}, element("bdi", {}, comment)),
    question.kind === "text" ? ownText(shown) : classPicture(shown),
    share && element("p", {}, share),
    /^\/(?!\/)/.test(truth.link) && element("a.link", { href: truth.link, target: "_blank", rel: "noopener" }, "Open this picture in the app"),
  );
}

/** What the class guessed, in the picture. @param {Shown} shown @returns {Node} */
export function classPicture(shown) {
  const pictures = {
    token: shadedWords, number: histogram, head: shadedGrid, cell: shadedGrid, choice: countedOptions, order: countedOrders, text: countedTexts,
  };
  return pictures[shown.question.kind](shown);
}

/** @param {ClassQuestion} question @param {string} answer */
const named = (question, answer) => (question.kind === "number" ? percent(Number(answer)) : answer);

/** @param {Shown} shown @param {string} answer */
const count = ({ truth }, answer) => truth.guesses.find(([each]) => each === answer)?.[1] ?? 0;

/** @param {Shown} shown @param {string} answer */
function frame({ truth, own }, answer) {
  return `${answer === own ? ".own" : ""}${truth.right.includes(answer) ? ".right" : ""}`;
}

/** @param {Shown} shown @param {...string} more */
const legend = ({ own }, ...more) =>
  element("p.legend", {}, ...[...(own === null ? [] : [["own", "your answer"]]), ["right", "the right answer"]].map(([kind, name]) =>
    element("span", {}, element(`i.${kind}`), name)), ...more.map((name) => element("span", {}, name)));

/** @param {Shown} shown */
function shadedWords(shown) {
  const { question, truth, scale } = shown;
  const can = new Set(question.choices);
  const boxes = question.words.map((name, at) => {
    const guesses = can.has(name) ? count(shown, name) : 0;
    const box = element(
      `span.word${frame(shown, name)}`,
      { style: shade(scale, truth.weights[at] ?? 0) },
      word(name),
      element("small", {}, percent(truth.weights[at] ?? 0)),
      guesses > 0 && element("b.guesses", { "aria-label": `${guesses} guessed it` }, String(guesses)),
    );
    return element("li", {}, box);
  });
  return element("div.options", {}, element("ul.words", {}, ...boxes), legend(shown, "percent: attention", "orange: guesses"));
}

/** @param {Shown} shown */
function histogram({ question, truth, own, scale }) {
  const bins = Array.from({ length: BARS }, () => 0);
  for (const [answer, times] of truth.guesses) {
    const value = answer.includes("%") ? Number.parseFloat(answer) / 100 : Number(answer.replace(",", "."));
    bins[Math.min(Math.floor(value * BARS), BARS - 1)] += times;
  }
  const most = Math.max(...bins, 1);
  const bars = bins.map((times) => element("i", { style: `height:${(100 * times) / most}%` }));
  const marks = [element("b", { style: `left:${100 * Number(truth.right[0])}%` })];
  if (own !== null) marks.push(element("b.mine", { style: `left:${100 * Number(own)}%` }));
  const words = question.words.map((name, at) => {
    const isAbout = question.marked.includes(at);
    if (!isAbout) return element("li", {}, plainBox(name, false));
    const style = shade(scale, truth.weights[at] ?? 0);
    return element("li", {}, element("span.word.about", { style }, word(name), element("small", {}, percent(truth.weights[at] ?? 0))));
  });
  const about = `Guesses of the class from 0 % to 100 %; the true value is ${percent(Number(truth.right[0]))}.`;
  return element(
    "div.options", {}, element("ul.words", {}, ...words),
    element("div.histogram", { role: "img", "aria-label": about }, ...bars, ...marks),
    element("div.ends", { "aria-hidden": "true" }, element("span", {}, "0 %"), element("span", {}, "100 %")),
    element("p.legend", {}, element("span", {}, "bars: the class"), element("span", {}, "line: true"), own !== null && element("span", {}, "dashed: you")),
  );
}

/** @param {Shown} shown */
function shadedGrid(shown) {
  const { question, truth, scale } = shown;
  const between = question.kind === "head" ? "·" : " → ";
  const label = question.kind === "head" ? "div" : "span";
  const heads = question.columns.map((name) => element("th", { scope: "col" }, element(label, {}, word(name))));
  const rows = question.rows.map((row, down) =>
    element("tr", {}, element("th", { scope: "row" }, word(row)), ...question.columns.map((column, across) => {
      const answer = `${row}${between}${column}`;
      const weight = truth.weights[down * question.columns.length + across] ?? 0;
      const guesses = count(shown, answer);
      const title = `${answer}: ${percent(weight)}${guesses ? `, ${guesses} guessed it` : ""}`;
      return element(`td${frame(shown, answer)}`, { style: shade(scale, weight), title }, guesses > 0 && String(guesses));
    })),
  );
  const table = element("table", {}, element("thead", {}, element("tr", {}, element("th"), ...heads)), element("tbody", {}, ...rows));
  return element("div.options", {}, element("div.grid", { tabindex: 0, role: "region", "aria-label": "The picture" }, table), legend(shown, "numbers: guesses"));
}

/** @param {Shown} shown @param {string[]} [answers] */
function countedOptions(shown, answers = shown.question.choices) {
  const { truth } = shown;
  const rows = answers.map((answer) => {
    const guesses = count(shown, answer);
    const bar = element("div.bar", { style: `width:${(100 * guesses) / Math.max(truth.answered, 1)}%` });
    const text = element("div", { style: "flex:1" }, element("bdi", {}, answer), bar);
    return element("li", {}, element(`div.option${frame(shown, answer)}`, {}, text, element("b", {}, String(guesses))));
  });
  return element("div.options", {}, element("ul.options", {}, ...rows), legend(shown, "bars: the class"));
}

/** The orders that were given most, the right one among them. @param {Shown} shown */
function countedOrders(shown) {
  const given = shown.truth.guesses.slice(0, 5).map(([answer]) => answer);
  return countedOptions(shown, [...new Set([...shown.truth.right, ...given, ...(shown.own === null ? [] : [shown.own])])]);
}

/** What was written most, and no more of it than can be read. @param {Shown} shown */
const countedTexts = (shown) => countedOptions(shown, shown.truth.guesses.slice(0, 8).map(([answer]) => answer));

/** @param {Shown} shown */
const ownText = ({ own }) => element("p", {}, own === null ? null : "You wrote: ", own === null ? null : element("bdi", {}, own));
