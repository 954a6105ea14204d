// What a phone offers to answer a question with. Each kind calls `choose` with the answer as the server reads it, or null.

import { element, percent, plainWord, word } from "./elements.js";

/** @typedef {(answer: string | null) => void} Choose */

/** The texts that a question is about, where no word of them is tapped. @param {ClassQuestion} question */
export const givenTexts = ({ kind, words }) =>
  ["token", "number", "head", "cell"].includes(kind) ? [] : words.map((text) => element("p", {}, element("bdi", {}, text)));

/** @param {ClassQuestion} question @param {Choose} choose @returns {Node} */
export const answering = (question, choose) => element("div.options", {}, ...givenTexts(question), control(question, choose));

/** @param {ClassQuestion} question @param {Choose} choose @returns {Node} */
function control(question, choose) {
  switch (question.kind) {
    case "token":
      return tapWord(question, choose);
    case "cell":
      return tapCell(question, choose);
    case "head":
      return tapHead(question, choose);
    case "number":
      return moveSlider(question, choose);
    case "order":
      return tapInOrder(question, choose);
    case "text":
      return writeText(choose);
    default:
      return pickOption(question, choose);
  }
}

/** Lets one of several buttons be pressed at a time. @param {HTMLElement} group @param {(name: string) => void} choose */
function radio(group, choose) {
  group.addEventListener("click", (event) => {
    const pressed = /** @type {Element} */ (event.target).closest("button");
    if (!pressed) return;
    for (const each of group.querySelectorAll("button")) each.setAttribute("aria-pressed", String(each === pressed));
    choose(pressed.dataset.answer ?? "");
  });
  return group;
}

/** The sentence, its marked words in a frame. @param {ClassQuestion} question @param {(name: string, at: number) => Node} make */
const wordList = (question, make) =>
  element("ul.words", {}, ...question.words.map((name, at) => element("li", {}, make(name, at))));

/** @param {string} name @param {boolean} isAbout */
export const plainBox = (name, isAbout) =>
  element(/^[[<].+[\]>]$/.test(name) ? "span.word.special" : isAbout ? "span.word.about" : "span.word", {}, word(name));

/** @param {string} name @param {boolean} [isAbout] @param {string} [answer] */
function wordButton(name, isAbout = false, answer = name) {
  const label = name === plainWord(name) ? undefined : name.replace(/\((\d+)\)$/, ", number $1");
  const attributes = { type: "button", "data-answer": answer, "aria-pressed": "false", "aria-label": label };
  return element(isAbout ? "button.word.about" : "button.word", attributes, word(name));
}

/** @param {ClassQuestion} question @param {Choose} choose */
function tapWord(question, choose) {
  const can = new Set(question.choices);
  const make = (/** @type {string} */ name, /** @type {number} */ at) => {
    const isAbout = question.marked.includes(at);
    return can.has(name) ? wordButton(name, isAbout) : plainBox(name, isAbout);
  };
  return radio(wordList(question, make), choose);
}

/** @param {ClassQuestion} question @param {Choose} choose */
function tapCell(question, choose) {
  /** @type {(string | null)[]} */
  const chosen = [null, null];
  const list = (/** @type {string} */ title, /** @type {string[]} */ names, /** @type {number} */ place) => {
    const group = element("div.words", { role: "group", "aria-label": title }, ...names.map((name) => wordButton(name)));
    const pick = (/** @type {string} */ name) => {
      chosen[place] = name;
      choose(chosen.includes(null) ? null : chosen.join(" → "));
    };
    return element("div", {}, element("p", { "aria-hidden": "true" }, title), radio(group, pick));
  };
  return element("div.options", {}, list("Which word looks?", question.rows, 0), list("At which word?", question.columns, 1));
}

/** @param {ClassQuestion} question @param {Choose} choose */
function tapHead(question, choose) {
  const corner = element("tr", {}, element("th"), ...question.columns.map((name) => element("th", { scope: "col" }, name)));
  const rows = question.rows.map((row) =>
    element("tr", {}, element("th", { scope: "row" }, row), ...question.columns.map((column) => {
      const answer = `${row}·${column}`;
      const attributes = { type: "button", "data-answer": answer, "aria-pressed": "false", "aria-label": answer };
      return element("td", {}, element("button.cell", attributes));
    })),
  );
  const grid = radio(element("div.grid", {}, element("table", {}, element("thead", {}, corner), element("tbody", {}, ...rows))), (name) => {
    told.textContent = `You chose ${name}.`;
    choose(name);
  });
  const told = element("p", {}, "Tap a head: a row is a layer.");
  const about = element("ul.words", {}, ...question.marked.map((at) => element("li", {}, plainBox(question.words[at], true))));
  return element("div.options", {}, about, grid, told);
}

/** @param {ClassQuestion} question @param {Choose} choose */
function moveSlider(question, choose) {
  const told = element("output.number", {}, "?");
  const slider = element("input", {
    type: "range", min: 0, max: 100, step: 1, value: 50, "aria-label": "Your guess, in percent",
    oninput: (event) => {
      const value = Number(/** @type {HTMLInputElement} */ (event.target).value) / 100;
      told.textContent = percent(value);
      choose(value.toFixed(2));
    },
  });
  // Half is a guess, too: a tap on the slider where it stands counts.
  slider.addEventListener("pointerup", () => slider.dispatchEvent(new Event("input")));
  const shown = wordList(question, (name, at) => plainBox(name, question.marked.includes(at)));
  const ends = element("div.ends", { "aria-hidden": "true" }, element("span", {}, "0 %"), element("span", {}, "100 %"));
  return element("div.options", {}, shown, told, slider, ends);
}

/** @param {ClassQuestion} question @param {Choose} choose */
function pickOption(question, choose) {
  const make = (/** @type {string} */ name) => {
    const attributes = { type: "button", "data-answer": name, "aria-pressed": "false" };
    return element("li", {}, element("button.option", attributes, element("bdi", {}, name)));
  };
  return radio(element("ul.options", {}, ...question.choices.map(make)), choose);
}

/** @param {ClassQuestion} question @param {Choose} choose */
function tapInOrder(question, choose) {
  /** @type {string[]} */
  const chosen = [];
  const told = element("p", {}, "Tap the words in their order, the first one first.");
  const list = element("ul.options", {}, ...question.choices.map((name) => {
    const attributes = { type: "button", "data-answer": name, "aria-pressed": "false" };
    return element("li", {}, element("button.option", attributes, element("bdi", {}, name), element("span.place")));
  }));
  list.addEventListener("click", (event) => {
    const pressed = /** @type {Element} */ (event.target).closest("button");
    if (!pressed) return;
    const name = pressed.dataset.answer ?? "";
    chosen.includes(name) ? chosen.splice(chosen.indexOf(name)) : chosen.push(name);
    for (const each of list.querySelectorAll("button")) {
      const place = chosen.indexOf(each.dataset.answer ?? "") + 1;
      each.setAttribute("aria-pressed", String(place > 0));
      each.querySelector(".place")?.replaceChildren(place ? `${place}.` : "");
    }
    choose(chosen.length === question.choices.length ? chosen.join(" > ") : null);
  });
  return element("div.options", {}, told, list);
}

/** @param {Choose} choose */
function writeText(choose) {
  const box = element("textarea", {
    rows: 4, maxlength: 200, "aria-label": "Your answer",
    oninput: (event) => choose(/** @type {HTMLTextAreaElement} */ (event.target).value.trim() || null),
  });
  return box;
}
