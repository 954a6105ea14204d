// What a question of a lesson is answered with: words to click, a grid of cells or heads, a slider, an order, choices, a text.
// Nothing here knows the right answer.

/**
 * @typedef {{ words: string[], marked: number[], choices: number[] }} GuessLine
 * @typedef {{
 *   form: "words" | "order" | "number" | "cells" | "heads" | "choices" | "text",
 *   lines: GuessLine[], options: string[], grid: [string[], string[]], sign: string, longest: number,
 * }} Guess
 * @typedef {{ root: HTMLElement, answer: (text: string) => void, button: HTMLButtonElement, text: string }} Asking
 */

/**
 * Draws a guess; `answer` is called with it as a text.
 * @param {HTMLElement} root @param {Guess} guess @param {(text: string) => void} answer
 */
export function drawGuess(root, guess, answer) {
  const button = element("button", "give", "Answer");
  button.disabled = true;
  const asking = { root, answer, button, text: "" };
  button.addEventListener("click", () => asking.text && answer(asking.text));
  const words = guess.lines.map((line) => lineOf(line, guess, asking));
  root.replaceChildren(...words, ...FORMS[guess.form](guess, asking), button);
}

/** @type {Record<Guess["form"], (guess: Guess, asking: Asking) => HTMLElement[]>} */
const FORMS = {
  words: () => [],
  order: (guess, asking) => [orderOf(guess.options, asking)],
  number: (_, asking) => [numberOf(asking)],
  cells: (guess, asking) => [gridOf(guess, asking)],
  heads: (guess, asking) => [gridOf(guess, asking)],
  choices: (guess, asking) => [choicesOf(guess.options, asking)],
  text: (guess, asking) => [textOf(guess.longest, asking)],
};

/**
 * @template {keyof HTMLElementTagNameMap} Name
 * @param {Name} name @param {string} className @param {string} [text] @returns {HTMLElementTagNameMap[Name]}
 */
function element(name, className, text = "") {
  const made = document.createElement(name);
  Object.assign(made, { className, textContent: text });
  return made;
}

/** @param {Asking} asking @param {string} text */
function choose(asking, text) {
  asking.text = text;
  asking.button.disabled = !text;
}

/** One of several buttons is pressed. @param {Asking} asking @param {HTMLElement} pressed @param {string} text */
function press(asking, pressed, text) {
  for (const each of asking.root.querySelectorAll("[aria-pressed]")) each.setAttribute("aria-pressed", String(each === pressed));
  choose(asking, text);
}

/** @param {Asking} asking @param {string} name @param {string} text @param {string} [label] */
function option(asking, name, text, label = "") {
  const made = element("button", "option", name);
  made.type = "button";
  made.dir = "auto";
  made.dataset.answer = text;
  made.setAttribute("aria-pressed", "false");
  if (label) made.setAttribute("aria-label", label);
  made.addEventListener("click", () => press(asking, made, text));
  return made;
}

/** @param {GuessLine} line @param {Guess} guess @param {Asking} asking */
function lineOf({ words, marked, choices }, guess, asking) {
  const line = element("p", "line");
  line.dir = "auto";
  words.forEach((word, place) => {
    const isChoice = guess.form === "words" && choices.includes(place);
    const made = isChoice ? option(asking, word, word) : element("span", "word", word);
    made.classList.toggle("marked", marked.includes(place));
    line.append(made, " ");
  });
  if (choices.length) roam(line, 0);
  return line;
}

/** @param {string[]} options @param {Asking} asking */
function choicesOf(options, asking) {
  const list = element("div", "choices");
  list.append(...options.map((each) => option(asking, each, each)));
  return list;
}

/** Words are clicked, the first first; a click on a numbered one takes it back. @param {string[]} options @param {Asking} asking */
function orderOf(options, asking) {
  const list = element("div", "choices order");
  /** @type {string[]} */
  let chosen = [];
  const buttons = options.map((word) => {
    const made = option(asking, word, word);
    made.addEventListener("click", () => {
      chosen = chosen.includes(word) ? chosen.filter((each) => each !== word) : [...chosen, word];
      for (const [at, each] of buttons.entries()) {
        const place = chosen.indexOf(options[at]) + 1;
        each.dataset.place = place ? String(place) : "";
        each.setAttribute("aria-pressed", String(place > 0));
        each.setAttribute("aria-label", place ? `${options[at]}, number ${place}` : options[at]);
      }
      choose(asking, chosen.length === options.length ? chosen.join(" > ") : "");
    });
    return made;
  });
  list.append(...buttons);
  return list;
}

/** @param {Asking} asking */
function numberOf(asking) {
  const row = element("div", "number");
  const slider = element("input", "");
  const field = element("input", "");
  Object.assign(slider, { type: "range", min: "0", max: "100", value: "50" });
  Object.assign(field, { type: "number", min: "0", max: "100", placeholder: "0 to 100" });
  slider.setAttribute("aria-label", "Your guess, in percent");
  field.setAttribute("aria-label", "Your guess in percent, typed");
  /** @param {HTMLInputElement} from @param {HTMLInputElement} to */
  const copy = (from, to) => () => {
    to.value = from.value;
    choose(asking, from.value !== "" && from.checkValidity() ? `${Number(from.value)} %` : "");
  };
  slider.addEventListener("input", copy(slider, field));
  field.addEventListener("input", copy(field, slider));
  row.append(slider, field, "%");
  return row;
}

/** @param {Guess} guess @param {Asking} asking */
function gridOf({ grid: [rows, columns], sign, form }, asking) {
  const frame = element("div", `grid ${form}`);
  const table = element("table", "");
  const head = element("tr", "");
  head.append(element("td", ""), ...columns.map((name) => element("th", "", form === "heads" ? name.replace("H", "") : name)));
  table.append(head);
  for (const row of rows) {
    const line = element("tr", "");
    line.append(element("th", "", row));
    for (const column of columns) {
      const cell = element("td", "");
      const name = `${row}${sign}${column}`;
      cell.append(option(asking, "", name, name));
      line.append(cell);
    }
    table.append(line);
  }
  roam(table, columns.length);
  frame.append(table);
  return frame;
}

/** @param {number} longest @param {Asking} asking */
function textOf(longest, asking) {
  const field = element("textarea", "");
  Object.assign(field, { maxLength: longest, rows: 3, placeholder: "Type your answer" });
  field.setAttribute("aria-label", "Your answer");
  field.addEventListener("input", () => choose(asking, field.value.trim()));
  return field;
}

/** Arrow keys move among buttons, of which the tab key meets one. @param {HTMLElement} box @param {number} width of a row; 0: one row */
function roam(box, width) {
  const buttons = /** @type {HTMLButtonElement[]} */ ([...box.querySelectorAll("button.option")]);
  buttons.forEach((each, at) => (each.tabIndex = at ? -1 : 0));
  box.addEventListener("keydown", (event) => {
    const step = { ArrowRight: 1, ArrowLeft: -1, ArrowDown: width || 1, ArrowUp: -(width || 1) }[event.key];
    const at = buttons.indexOf(/** @type {HTMLButtonElement} */ (event.target));
    const next = step && buttons[at + step];
    if (!next) return;
    event.preventDefault();
    buttons[at].tabIndex = -1;
    next.tabIndex = 0;
    next.focus();
  });
}
