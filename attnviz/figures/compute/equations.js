// The equation of a step, its matrices and what is written out of a cell; and the walk through the steps: where it stands, where it may
// go, and what a class does not know yet. A host gives it `tell` and `show`, which reach Python, and `draw`.

import { cutText, make } from "../drawing/elements.js";
import { signed } from "../drawing/numbers.js";
import { inkOn, nearestColour } from "../drawing/palette.js";

/** @import { Theme } from "../drawing/palette.js" */

/** The colour of a row's name as a style. @param {string | undefined} colour */
const toned = (colour) => (colour ? `--tone:${colour}` : null);

// Formulas as they are set.

/** "W_Q" and "e^{0.5}" with their subscripts and superscripts. @param {string} text */
export function typeset(text, marks = /([_^])(?:\{([^}]*)\}|(\S))/g) {
  const pieces = [];
  let end = 0;
  for (const match of text.matchAll(marks)) {
    pieces.push(text.slice(end, match.index), make(match[1] === "_" ? "sub" : "sup", {}, match[2] ?? match[3]));
    end = match.index + match[0].length;
  }
  return [...pieces, text.slice(end)];
}

// A sentence may hold tokens as they were typed: of it, only the names of matrices and sizes are set as such.
export const MATRICES = /(?<=\bW|√d)(_)(?:\{([^}]*)\}|([A-Zk]))/g;

/**
 * @typedef {{ id: string, text: string, exact?: string, masked?: boolean, value?: number }} Cell
 * @typedef {{ name: string, label: string, shape: string, rows: string[], columns: string[], totals: string[], blocks: number,
 *   weights: boolean, cells: Cell[][] }} Matrix
 * @typedef {{ symbol: string, title: string, formula: string, sentence: string, signs: string[], start: [number, number],
 *   matrices: Matrix[] }} Step
 * @typedef {{ step: number, from: string[], sum: [string, string | null][] }} Origin
 * @typedef {{ steps: Step[], origins: Record<string, Origin>, predict: "off" | "most" | "weight", key: string, seq: number,
 *   hidden: number | null, at: [number, number, number], first?: [number, number, number], expanded: string | null,
 *   theme: Theme }} Computation  what steps.py sends, in words, with the theme that it names; first: the place to open with, where `at` is none
 * @typedef {[number, number]} Place  a row and a column of a step's result
 * @typedef {{ seq: number, data: Computation, step: number, cell: Place, expanded: string | null, guess: number | string | null,
 *   guessed: Place | null, content: string, moved?: boolean, waits?: boolean, timer?: number, tell(): void, show(key: string): void,
 *   draw(): void }} Walk
 */

// What is looked at is what Python says, which the address has too; a person's own last move may be newer. A guess is the person's.
/** @param {Computation} data @param {Walk} [before] @returns {Walk} */
export function follow(data, before) {
  const walk = before ?? /** @type {Walk} */ ({ seq: 0 });
  if (before?.data.key !== data.key) Object.assign(walk, { guess: null, guessed: null });
  const isNewer = before && walk.seq > data.seq && walk.step in data.steps;
  const [step, ...cell] = data.at[0] in data.steps ? data.at : data.first ?? data.at;
  Object.assign(walk, { data }, isNewer ? {} : { seq: data.seq, step, cell, expanded: data.expanded });
  if (isNewer && data.hidden !== null && isLocked(walk, walk.step)) walk.step = data.hidden;
  if (!holds(result(walk), walk.cell)) walk.cell = [...data.steps[walk.step].start];
  if (!knows(walk, walk.expanded)) walk.expanded = null;
  return walk;
}

/** @param {Step} step */
const resultOf = (step) => /** @type {Matrix} */ (step.matrices.at(-1));
/** @param {Walk} walk */
export const result = (walk) => resultOf(walk.data.steps[walk.step]);
/** @param {Matrix} matrix @param {Place} place */
const holds = (matrix, [row, column]) => row in matrix.rows && column in matrix.columns;
/** @param {Walk} walk @param {string | null} id */
const knows = (walk, id) => walk.data.steps[walk.step].matrices.some((matrix) => matrix.cells.flat().some((cell) => cell.id === id));
/** @param {Matrix} a @param {Matrix} b */
const same = (a, b) => a.rows.join("\n") === b.rows.join("\n") && a.columns.join("\n") === b.columns.join("\n");

/** @param {Walk} walk */
export const asks = (walk) => walk.step === walk.data.hidden;
/** What comes after the weights would tell them. @param {Walk} walk @param {number} step */
export const isLocked = (walk, step) => walk.data.hidden !== null && step > walk.data.hidden;

/** @param {Walk} walk @param {number} step */
export function go(walk, step) {
  if (!(step in walk.data.steps) || step === walk.step || isLocked(walk, step)) return;
  const before = result(walk);
  walk.step = step;
  Object.assign(walk, { guess: null, guessed: null, expanded: null });
  // A cell that was looked at stays, as long as the same rows and columns stand there.
  if (!(walk.moved && same(before, result(walk)))) {
    walk.cell = [...walk.data.steps[step].start];
    walk.moved = false;
  }
  walk.draw();
  walk.tell();
}

/** @param {Walk} walk @param {Place} cell */
export function look(walk, cell) {
  if (!holds(result(walk), cell)) return;
  Object.assign(walk, { cell, moved: true, expanded: null });
  walk.draw();
  walk.tell();
}

// Places of the colours of a theme: those of the operands from left to right, and that of the result, which is always green.
const [OPERANDS, RESULT] = [[0, 1, 3, 4, 5], 2];

// The colour of a matrix: the operands in turn, and the result's own.
/** @param {Walk} walk @param {Step} step @param {number} index */
export function tone(walk, step, index) {
  return walk.data.theme.heads[index === step.matrices.length - 1 ? RESULT : OPERANDS[index % OPERANDS.length]];
}

// What a class is asked before it sees the weights, and whether its guess was right.

/** @param {HTMLElement} root @param {Walk} walk */
export function reveal(root, walk) {
  // A guess that is no share is asked for again, in the browser's own words.
  const field = /** @type {HTMLInputElement | null} */ (root.querySelector(".answers input"));
  if (field?.reportValidity() === false) return;
  Object.assign(walk, { guessed: [...walk.cell], waits: true });
  walk.show(walk.data.key);
}

/** @param {HTMLElement} root @param {Walk} walk @param {Step} step */
export function question(root, walk, step) {
  const matrix = result(walk);
  const [row, column] = walk.cell;
  const place = make("div", { class: "question" });
  const answers = make("div", { class: "answers" });
  if (walk.data.predict === "most") {
    place.append(`Which token gets most of the attention of “${cutText(matrix.rows[row])}”?`);
    matrix.columns.forEach((name, index) => {
      if (!isChoice(step, row, index)) return;
      const guessed = walk.guess === index;
      const choose = () => {
        walk.guess = index;
        walk.draw();
      };
      answers.append(make("button", { class: guessed ? "guessed" : "", "data-keep": `guess${index}`, onclick: choose }, name));
    });
  } else {
    place.append(`How much of the attention of “${cutText(matrix.rows[row])}” goes to “${cutText(matrix.columns[column])}”?`);
    const field = make("input", { type: "number", min: 0, max: 1, step: "any", placeholder: "0 to 1", value: walk.guess ?? "", "aria-label": "Your guess, from 0 to 1" });
    field.oninput = () => (walk.guess = field.value);
    answers.append(field);
  }
  answers.append(make("button", { class: "reveal", onclick: () => reveal(root, walk) }, "Reveal"));
  place.append(answers);
  return place;
}

// A key by itself that can be seen: not those that stand for "8 more".
/** @param {Step} step @param {number} row @param {number} column */
const isChoice = (step, row, column) => !resultOf(step).cells[row][column].masked && step.matrices[0].cells[row][column].text !== "…";

/** After a guess: was it right, and why. @param {Walk} walk @param {Step} step */
export function verdict(walk, step) {
  if (!walk.guessed || !result(walk).weights || walk.guess === null || walk.guess === "") return [];
  const matrix = result(walk);
  const [row, column] = walk.guessed;
  if (walk.data.predict === "weight") {
    const truth = Number(matrix.cells[row][column].text);
    const off = Math.abs(truth - Number(walk.guess));
    const said = off < 0.005 ? "Exactly right." : `You said ${signed(Number(walk.guess))}: ${off.toFixed(2)} ${truth > Number(walk.guess) ? "too little" : "too much"}.`;
    return [make("div", { class: "question" }, `${said} “${cutText(matrix.columns[column])}” gets ${matrix.cells[row][column].text}.`)];
  }
  const exact = matrix.cells[row].map((cell, index) => (isChoice(step, row, index) ? cell.value ?? 0 : -1));
  // Of equal ones the first, unless another of them was guessed.
  const most = Math.max(...exact);
  const best = exact[Number(walk.guess)] === most ? Number(walk.guess) : exact.indexOf(most);
  const score = step.matrices[0].cells[row][best].text;
  const said = walk.guess === best ? "Right:" : `You said “${cutText(matrix.columns[Number(walk.guess)])}”, but`;
  return [make("div", { class: "question" }, `${said} “${cutText(matrix.columns[best])}” gets most, ${matrix.cells[row][best].text}: its score ${score} is the largest of the row.`)];
}

/** For another row, or another class. @param {Walk} walk */
export function again(walk) {
  const isAsking = walk.data.steps.findIndex((step) => resultOf(step)?.weights) === walk.step;
  if (walk.data.predict === "off" || !isAsking) return [];
  const hide = () => {
    Object.assign(walk, { guess: null, guessed: null });
    walk.show("");
  };
  return [make("button", { class: "again", "data-keep": "again", onclick: hide }, "Hide the weights again")];
}

// The matrices of a step, as an equation whose cells can be chosen.

/** Rows one under the other: their columns meet, and there is room for large digits. @param {Step} step */
export const isStack = (step) => step.matrices.length > 1 && step.matrices.every((matrix) => matrix.rows.length === 1) && step.matrices[0].columns.length > 3;

// One row times a matrix: the row stands upright beside the rows that it weighs, and what they add up to below them.
/** @param {Step} step */
export const isMixed = (step) => step.matrices.length === 3 && step.signs[0] === "×" && step.matrices[0].rows.length === 1 && step.matrices[1].rows.length > 1;

/** @param {Walk} walk @param {Step} step @param {Set<string>} lit */
function mixed(walk, step, lit) {
  const [given, matrix, sum] = step.matrices;
  /** @param {HTMLElement} row @param {string} tone */
  const paint = (row, tone) => (row.style.setProperty("--tone", tone), row);
  /** @param {Matrix} each @param {number} index */
  const name = (each, index, options = {}) =>
    make("th", { class: "name", style: toned(tone(walk, step, index)), ...options }, make("i", {}, ...typeset(each.label)), make("span", {}, each.shape));
  /** @param {Matrix} each @param {number} index @param {number} row @param {number} column */
  const cell = (each, index, row, column) => paint(square(walk, each, [row, column], each.cells[row][column], index === 2, lit), tone(walk, step, index));
  /** @param {string} text */
  const column = (text) => make("th", { class: /^\d/.test(text) ? "column" : "column word", title: text, dir: "auto" }, text);
  const rows = matrix.rows.map((text, row) => {
    const line = make("tr", {}, make("th", { class: "row", title: text, dir: "auto" }, text), cell(given, 0, 0, row));
    if (!row) line.append(make("th", { class: "sign", rowspan: matrix.rows.length }, step.signs[0]));
    line.append(...matrix.columns.map((_, at) => cell(matrix, 1, row, at)));
    return line;
  });
  return make("table", { class: "mixed" },
    make("tr", {}, make("td"), name(given, 0), make("td"), name(matrix, 1, { colspan: matrix.columns.length })),
    make("tr", {}, make("td"), column(given.rows[0]), make("td"), ...matrix.columns.map(column)),
    ...rows,
    make("tr", { class: "gap" }),
    make("tr", {}, make("td"), name(sum, 2), make("th", { class: "sign" }, step.signs[1]), ...sum.columns.map((_, at) => cell(sum, 2, 0, at))),
  );
}

/** @param {Walk} walk @param {Step} step */
export function equation(walk, step) {
  const place = make("div", { class: isStack(step) ? "equation stack" : "equation" });
  const chosen = result(walk).cells[walk.cell[0]]?.[walk.cell[1]]?.id;
  const lit = new Set(asks(walk) ? [] : walk.data.origins[chosen]?.from);
  if (isMixed(step)) {
    place.append(make("div", { class: "matrix" }, mixed(walk, step, lit)));
    return place;
  }
  step.matrices.forEach((matrix, index) => {
    if (index || isStack(step)) place.append(make("div", { class: "sign" }, index ? isStack(step) ? step.signs[index - 1].replace("→", "↓") : step.signs[index - 1] : ""));
    place.append(table(walk, matrix, index === step.matrices.length - 1, tone(walk, step, index), lit));
  });
  return place;
}

/** @param {Walk} walk @param {Matrix} matrix @param {boolean} isResult @param {string} colour @param {Set<string>} lit */
function table(walk, matrix, isResult, colour, lit) {
  const words = matrix.columns.map((name) => !/^\d/.test(name));
  const head = make("tr", {}, make("td"));
  matrix.columns.forEach((name, column) => head.append(make("th", { class: words[column] ? "column word" : "column", title: name, dir: "auto" }, name)));
  const body = matrix.rows.map((name, row) => {
    const line = make("tr", {}, make("th", { class: "row", title: name, dir: "auto" }, name));
    matrix.cells[row].forEach((cell, column) => line.append(square(walk, matrix, [row, column], cell, isResult, lit)));
    if (matrix.totals.length) line.append(make("td", { class: "total" }, `= ${matrix.totals[row]}`));
    return line;
  });
  const name = make("div", { class: "name" }, make("i", {}, ...typeset(matrix.label)), make("span", {}, matrix.shape));
  return make("div", { class: "matrix", style: toned(colour) }, name, make("table", {}, head, ...body));
}

/**
 * @param {Walk} walk @param {Matrix} matrix @param {Place} place @param {Cell} cell @param {boolean} isResult
 * @param {Set<string>} lit
 */
function square(walk, matrix, [row, column], cell, isResult, lit) {
  const classes = [];
  const isHere = walk.cell[0] === row && (walk.cell[1] === column || (asks(walk) && walk.data.predict === "most"));
  const perBlock = matrix.columns.length / matrix.blocks;
  if (matrix.blocks > 1 && column && column % perBlock === 0) classes.push("block");
  if (cell.masked) classes.push("masked");
  if (isResult && asks(walk)) classes.push("hidden");
  if (lit.has(cell.id)) classes.push("from");
  if (isResult ? isHere && !walk.expanded : walk.expanded === cell.id) classes.push("chosen");
  const square = make("td", { class: classes.join(" "), title: cell.exact ?? null, "data-id": cell.id }, cell.text);
  if (cell.value !== undefined) {
    const shade = nearestColour(walk.data.theme, cell.value);
    Object.assign(square.style, { background: lit.has(cell.id) ? "" : shade, color: inkOn(shade) });
  }
  square.onclick = () => {
    if (isResult) return look(walk, [row, column]);
    walk.expanded = cell.id;
    walk.draw();
    walk.tell();
  };
  return square;
}

// The sum that a cell came from, written out.

/** @param {Walk} walk @param {Step} step */
export function written(walk, step) {
  const matrix = result(walk);
  const [row, column] = walk.cell;
  const id = walk.expanded ?? matrix.cells[row][column].id;
  const cell = step.matrices.flatMap((each) => each.cells.flat()).find((each) => each.id === id);
  const origin = walk.data.origins[id];
  const line = make("div", { class: "sum", "aria-live": "polite" });
  const numbered = matrix.columns[column].replace(/^\d+$/, "column $&");
  const name = walk.expanded ? "" : [matrix.rows[row], numbered].filter(Boolean).join(" · ");
  if (name) line.append(make("span", { class: "place" }, name));
  if (!origin) line.append(cell?.text === "…" ? "The others, which are not shown one by one." : `${cell?.text ?? ""} is given: it comes from no other number.`);
  const inStep = new Map(step.matrices.map((each, index) => [each.name, index]));
  for (const [text, of] of origin?.sum ?? []) {
    if (!of) line.append(...typeset(text));
    else {
      const own = of === id.split(":").slice(0, -2).join(":");
      const colour = inStep.has(of) ? tone(walk, step, inStep.get(of) ?? 0) : "transparent";
      line.append(make("span", { class: own ? "number result" : "number", style: toned(colour) }, ...typeset(text)));
    }
  }
  if (cell?.exact && numeric(cell.exact) !== numeric(cell.text)) line.append(make("span", { class: "exact" }, `more exactly ${cell.exact}`));
  if (walk.expanded && origin) line.append(make("button", { class: "goto", onclick: () => go(walk, origin.step) }, `Step ${origin.step + 1}`));
  return line;
}

/** @param {string} text  a number as it is shown, with its minus sign */
const numeric = (text) => Number(text.replace("−", "-"));
