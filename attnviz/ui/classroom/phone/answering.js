// What a phone offers to answer a question with. Each kind calls `choose` with the answer as the server reads it, or null.

// Elements of a page, and the colours of weights. Text is text here, whatever somebody has typed.

/** @typedef {Record<string, string | number | boolean | undefined | ((event: Event) => void)>} Attributes */
/** @typedef {Node | string | null | false | undefined} Child */

/**
 * Makes an element; "onclick" and the like are listened to, false and undefined are left out.
 *
 * @param {string} name "button", or "button.word" with classes
 * @param {Attributes} [attributes]
 * @param {...Child} children
 */
export function element(name, attributes = {}, ...children) {
  const [tag, ...classes] = name.split(".");
  const made = document.createElement(tag);
  if (classes.length) made.className = classes.join(" ");
  for (const [key, value] of Object.entries(attributes)) {
    if (typeof value === "function") made.addEventListener(key.slice(2), value);
    else if (value !== undefined && value !== false) made.setAttribute(key, value === true ? "" : String(value));
  }
  made.append(...children.flatMap((child) => (child ? [child] : [])));
  return made;
}

/** A word as it stands in a text: the second "the" is named "the(2)". @param {string} name */
const plainWord = (name) => name.replace(/\((\d+)\)$/, "");

/** A word, for whom it may run from right to left. @param {string} name */
export const word = (name) => element("bdi", {}, plainWord(name) || "␣");

/** @param {number} share 0 to 1 */
export const percent = (share) => `${Math.round(100 * share)}\u00A0%`;

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

// The picture after the reveal: how dark the head drew each word, what the class guessed, and one's own guess in it.

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
  const { question, truth } = shown;
  // Of a next word, what the model gives each choice.
  const shares = question.kind === "choice" && truth.weights.length === answers.length ? truth.weights : [];
  const rows = answers.map((answer, at) => {
    const guesses = count(shown, answer);
    const bar = element("div.bar", { style: `width:${(100 * guesses) / Math.max(truth.answered, 1)}%` });
    const model = shares.length > 0 && element("div.bar.model", { style: `width:${100 * shares[at]}%` });
    const given = shares.length > 0 && element("small", {}, ` ${percent(shares[at])}`);
    const text = element("div", { style: "flex:1" }, element("bdi", {}, answer), given, bar, model);
    return element("li", {}, element(`div.option${frame(shown, answer)}`, {}, text, element("b", {}, String(guesses))));
  });
  return element("div.options", {}, element("ul.options", {}, ...rows),
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
const ownText = ({ own }) => element("p", {}, own === null ? null : "You wrote: ", own === null ? null : element("bdi", {}, own));
