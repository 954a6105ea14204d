// What a class sees on the wall: how to join, the question, and after the reveal the guesses on the picture.

import { givenTexts, plainBox } from "../phone/answering.js";
import { element, percent } from "../phone/elements.js";
import { refusesPhones } from "../phone/blocked_routes.js";
import { classPicture } from "../phone/revealed.js";

/**
 * @typedef {object} Wall
 * @property {ClassView} view
 * @property {number} here
 * @property {number} answered
 * @property {string} where such as "school.example/join"
 * @property {string} qr an image
 * @property {string} sentence what the class guessed, beside what is true
 * @property {string[]} scale
 */

/** @param {StreamlitComponent<[Wall]>} mounted */
export default function ({ data: [wall], parentElement, setTriggerValue }) {
  const root = parentElement.querySelector("#phone");
  if (root instanceof HTMLElement && !root.dataset.asked && wall.view.state !== "ended") {
    root.dataset.asked = "true";
    refusesPhones().then((refuses) => refuses && setTriggerValue("refused", true)).catch(() => {});
  }
  const drawn = JSON.stringify(wall);
  if (!(root instanceof HTMLElement) || root.dataset.drawn === drawn) return;
  root.dataset.drawn = drawn;
  root.replaceChildren(head(wall), body(wall));
}

/** @param {Wall} wall */
function head({ view, here, answered, where }) {
  const asked = view.number && view.state !== "ended" ? `Question ${view.number} · ${answered} answered · ` : "";
  const join = view.state === "ended" ? "" : element("span", {}, "join at ", element("b", {}, `${where} · ${view.code}`));
  return element("header", {}, element("span", { role: "status" }, `${asked}${here} here`), join);
}

/** @param {Wall} wall */
function body(wall) {
  const { view, qr, where, sentence, scale } = wall;
  const { question, truth } = view;
  if (view.state === "ended") return element("div.body", {}, element("h1", {}, "This class has ended."));
  if (!question) {
    const steps = element("p", {}, "Scan this, or open ", element("b", {}, where), " and type ", element("b.code", {}, view.code), ".");
    return element("div.body.joining", {}, element("h1", {}, "Join the class"), qr && element("img", { src: qr, alt: "QR code to join the class" }), steps);
  }
  const ask = element("h1", {}, element("bdi", {}, question.ask));
  if (view.state !== "revealed" || !truth) {
    const closed = view.state === "closed" && element("p.notice", {}, "Answers are closed.");
    return element("div.body", {}, ask, closed, options(question));
  }
  const told = sentence && element("p.told", {}, element("bdi", {}, sentence));
  if (question.kind === "text") {
    const many = truth.answered === 1 ? "1 has written an answer" : `${truth.answered} have written an answer`;
    return element("div.body", {}, ask, element("p", {}, `${many}: your teacher has them.`), told);
  }
  return element("div.body", {}, ask, classPicture({ question, truth, own: null, scale }), told, shares(question, truth));
}

/** What can be answered, before anything is known. @param {ClassQuestion} question */
function options(question) {
  const texts = givenTexts(question);
  const words = texts.length ? [] : question.words.map((name, at) => element("li", {}, plainBox(name, question.marked.includes(at))));
  const choices = question.kind === "token" ? [] : question.choices;
  return element(
    "div.options", {}, ...texts, words.length > 0 && element("ul.words", {}, ...words),
    choices.length > 0 && element("ul.options", {}, ...choices.map((name) => element("li", {}, element("div.option", {}, element("bdi", {}, name))))),
  );
}

/** How many of the class chose the right word, beside what the head gives it. @param {ClassQuestion} question @param {ClassTruth} truth */
function shares(question, truth) {
  const [right] = truth.right;
  const weight = truth.weights[question.words.indexOf(right)];
  if (question.kind !== "token" || weight === undefined || !truth.answered) return null;
  const chose = truth.guesses.reduce((sum, [answer, times]) => sum + (answer === right ? times : 0), 0);
  /** @type {[string, number, string][]} */
  const rows = [["the class", chose / truth.answered, "class"], ["the head", weight, "head"]];
  return element("div.shares", {}, ...rows.map(([name, share, kind]) =>
    element("div", {}, element("span", {}, name), element(`i.${kind}`, { style: `width:${60 * share}%` }),
      element("span", {}, `${percent(share)} `, element("bdi", {}, right)))));
}
