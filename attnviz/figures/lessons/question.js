// A question: what is read, and what it is answered with: words, a grid of cells or heads, a share, an order, choices, a text.
// Nothing here knows the right answer.

import { directionOf, isBrowsers, make } from "../drawing/elements.js";

/**
 * What attnviz/lessons/question_kinds.py writes of a question.
 *
 * @typedef {{
 *   kind: "token" | "cell" | "head" | "number" | "choice" | "order" | "text", ask: string,
 *   words: string[], marked: number[], choices: string[], rows: string[], columns: string[],
 *   other?: string[], other_marked?: number[], texts?: string[],
 * }} QuestionForm
 * @typedef {(answer: string) => void} Choose  is called with what is chosen so far; empty: that is no answer
 */

// Where a grid of words has no room, a row and a column are chosen apart.
const NARROW_SCREEN = "(max-width: 640px)";

/** @type {Record<QuestionForm["kind"], (form: QuestionForm, choose: Choose, longest: number) => Node[]>} */
const FIELDS = {
  token: () => [],
  cell: (form, choose) => (matchMedia(NARROW_SCREEN).matches ? twoLists(form, choose) : cellGrid(form, choose)),
  head: (form, choose) => gridOf(form, "Choose a head: a row is a layer.", choose),
  number: (_, choose) => [shareField(choose)],
  // A choice is a text, no name of a word: "f(2)" stands as it is.
  choice: (form, choose) =>
    [oneOf(make("div.choices", {}, ...form.choices.map((each) => option(each, false, { "aria-label": null }, make("bdi", {}, each)))), choose)],
  order: (form, choose) => [inOrder(form.choices, choose)],
  text: (_, choose, longest) => [textField(longest, choose)],
};

/**
 * Draws a question without what it asks: what is read, and what it is answered with.
 * @param {QuestionForm} form @param {Choose} choose @param {number} longest characters of a text
 */
export function drawQuestion(form, choose, longest) {
  return make("div.question-form", {}, ...questionLines(form, choose), ...FIELDS[form.kind](form, choose, longest));
}

/** What is read: texts, or lines of words, of which those are buttons that can be chosen. @param {QuestionForm} form @param {Choose} [choose] */
export function questionLines({ kind, words, marked, choices, other = [], other_marked = [], texts = [] }, choose) {
  const [can, isMarked] = [new Set(choose && kind === "token" ? choices : []), new Set(marked)];
  const lineOf = (/** @type {string[]} */ names) => make("p.line", { dir: directionOf(names.filter((name) => !isSpecial(name)).join(" ")) });
  const line = lineOf(words);
  words.forEach((name, at) => line.append(can.has(name) ? option(name, isMarked.has(at)) : plainWord(name, isMarked.has(at)), " "));
  const otherLine = lineOf(other);
  other.forEach((name, at) => otherLine.append(plainWord(name, other_marked.includes(at)), " "));
  if (choose && can.size) {
    oneOf(line, choose);
    roam(line, 0);
  }
  return [
    ...texts.map((text) => make("p.read", {}, make("bdi", {}, text))),
    other.length > 0 && otherLine,
    words.length > 0 && line,
  ];
}

const NUMBERED = /\((\d+)\)$/;

/** A word, which may run from right to left; of several alike with its number, small: the second "the" is named "the(2)". @param {string} name */
export const wordNamed = (name) => {
  const number = NUMBERED.exec(name)?.[0];
  return make("bdi", {}, name.replace(NUMBERED, "") || "␣", number && make("sub", {}, number));
};

/** @param {string} name */
const spokenName = (name) => name.replace(NUMBERED, ", number $1");

/** @param {string} name */
const isSpecial = (name) => /^[[<].+[\]>](\(\d+\))?$/.test(name);

/** @param {string} name @param {boolean} isMarked */
export const plainWord = (name, isMarked) =>
  isSpecial(name)
    ? make("span.word.special", {}, wordNamed(name.replace(NUMBERED, "")))
    : make("span.word", { class: isMarked ? "marked" : "" }, wordNamed(name));

/** @param {string} name @param {boolean} [isMarked] @param {Record<string, unknown>} [more] @param {...Node} content */
function option(name, isMarked = false, more = {}, ...content) {
  const label = NUMBERED.test(name) ? spokenName(name) : null;
  const attributes = { type: "button", "data-answer": name, "aria-pressed": "false", "aria-label": label, ...more };
  return make("button.option", { class: isMarked ? "marked" : "", ...attributes }, ...(content.length ? content : [wordNamed(name)]));
}

/** Lets one of several buttons be pressed at a time. @template {HTMLElement} Box @param {Box} box @param {Choose} choose */
function oneOf(box, choose) {
  box.addEventListener("click", (event) => {
    const pressed = /** @type {Element} */ (event.target).closest("button");
    if (!pressed) return;
    for (const each of box.querySelectorAll("button")) each.setAttribute("aria-pressed", String(each === pressed));
    choose(pressed.dataset.answer ?? "");
  });
  return box;
}

/** @param {QuestionForm} form @param {Choose} choose */
const cellGrid = (form, choose) => gridOf(form, "Choose a cell: a row is the word that looks.", choose);

/** @param {QuestionForm} form @param {string} advice @param {Choose} choose */
function gridOf({ rows, columns, kind }, advice, choose) {
  const isHeads = kind === "head";
  // Of twelve heads a phone has room for the numbers.
  const heads = columns.map((name) => make("th", { scope: "col" }, wordNamed(isHeads ? name.replace("H", "") : name)));
  const lines = rows.map((row) => make("tr", {}, make("th", { scope: "row" }, wordNamed(row)), ...columns.map((column) => {
    const name = `${row}${isHeads ? "·" : " → "}${column}`;
    return make("td", {}, option(name, false, { "aria-label": name }, make("i")));
  })));
  const table = make("table", {}, make("tr", {}, make("td"), ...heads), ...lines);
  const told = make("p.read", { role: "status" }, advice);
  roam(table, columns.length);
  const chosen = (/** @type {string} */ name) => {
    told.textContent = `You chose ${name}.`;
    choose(name);
  };
  return [oneOf(make(`div.grid.${kind}s`, {}, table), chosen), told];
}

/** @param {QuestionForm} form @param {Choose} choose */
function twoLists({ rows, columns }, choose) {
  const chosen = ["", ""];
  return [rows, columns].map((names, place) => {
    const title = ["Which word looks?", "At which word?"][place];
    const line = make("div.line", { role: "group", "aria-label": title }, ...names.map((name) => option(name)));
    roam(line, 0);
    oneOf(line, (name) => {
      chosen[place] = name;
      choose(chosen.includes("") ? "" : chosen.join(" → "));
    });
    return make("div", {}, make("p.read", { "aria-hidden": "true" }, title), line);
  });
}

/** Words are clicked, the first first; a click on a numbered one takes it back. @param {string[]} words @param {Choose} choose */
function inOrder(words, choose) {
  /** @type {string[]} */
  let chosen = [];
  const buttons = words.map((word) => option(word));
  const list = make("div.choices.order", {}, ...buttons);
  list.addEventListener("click", (event) => {
    const word = /** @type {Element} */ (event.target).closest("button")?.dataset.answer;
    if (word === undefined) return;
    chosen = chosen.includes(word) ? chosen.filter((each) => each !== word) : [...chosen, word];
    for (const [at, each] of buttons.entries()) {
      const place = chosen.indexOf(words[at]) + 1;
      each.dataset.place = place ? String(place) : "";
      each.setAttribute("aria-pressed", String(place > 0));
      each.setAttribute("aria-label", spokenName(words[at]) + (place ? `, place ${place}` : ""));
    }
    choose(chosen.length === words.length ? chosen.join(" > ") : "");
  });
  return list;
}

/** @param {Choose} choose */
function shareField(choose) {
  const range = { min: "0", max: "100", "aria-label": "Your guess, in percent" };
  const slider = make("input", { ...range, type: "range", value: "50" });
  const field = make("input", { ...range, type: "number", step: "0.1", placeholder: "0 to 100", "aria-label": "Your guess in percent, typed" });
  /** @param {HTMLInputElement} from @param {HTMLInputElement} to */
  const copy = (from, to) => () => {
    to.value = from.value;
    choose(from.value !== "" && from.checkValidity() ? `${Number(from.value)} %` : "");
  };
  slider.addEventListener("input", copy(slider, field));
  // Half is a guess, too: a tap on the slider where it stands counts.
  slider.addEventListener("pointerup", copy(slider, field));
  field.addEventListener("input", copy(field, slider));
  // What is no share is said by the browser.
  field.addEventListener("change", () => field.reportValidity());
  return make("div.share", {}, slider, field, "%");
}

/** @param {number} longest @param {Choose} choose */
function textField(longest, choose) {
  const attributes = { maxlength: longest, rows: 3, placeholder: "Type your answer", "aria-label": "Your answer" };
  const field = make("textarea", attributes);
  field.addEventListener("input", () => choose(field.value.trim()));
  return field;
}

/** Arrow keys move among buttons, of which the tab key meets one. @param {HTMLElement} box @param {number} width of a row; 0: one row */
function roam(box, width) {
  const buttons = /** @type {HTMLButtonElement[]} */ ([...box.querySelectorAll("button")]);
  buttons.forEach((each, at) => (each.tabIndex = at ? -1 : 0));
  box.addEventListener("keydown", (event) => {
    const step = { ArrowRight: 1, ArrowLeft: -1, ArrowDown: width || 1, ArrowUp: -(width || 1) }[event.key];
    const at = buttons.indexOf(/** @type {HTMLButtonElement} */ (event.target));
    const next = step && buttons[at + step];
    if (!next || isBrowsers(event)) return;
    event.preventDefault();
    buttons[at].tabIndex = -1;
    next.tabIndex = 0;
    next.focus();
  });
}
