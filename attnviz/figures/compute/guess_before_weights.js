// What a class is asked before it sees the weights, and whether its guess was right.

import { make } from "./typeset.js";
import { result, resultOf } from "./step_by_step.js";

/** @import { Cell, Step, Walk } from "./step_by_step.js" */

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
  const place = make("div", { className: "question" });
  const answers = make("div", { className: "answers" });
  const show = make("button", { className: "reveal", onclick: () => reveal(root, walk) }, "Reveal");
  if (walk.data.predict === "most") {
    place.append(`Which token gets most of the attention of “${matrix.rows[row]}”?`);
    matrix.columns.forEach((name, index) => {
      if (!isChoice(step, row, index)) return;
      const guessed = walk.guess === index;
      const choose = () => {
        walk.guess = index;
        walk.draw();
      };
      const button = make("button", { className: guessed ? "guessed" : "", onclick: choose }, name);
      button.dataset.keep = `guess${index}`;
      answers.append(button);
    });
  } else {
    place.append(`How much of the attention of “${matrix.rows[row]}” goes to “${matrix.columns[column]}”?`);
    const field = make("input", { type: "number", min: 0, max: 1, step: "any", placeholder: "0 to 1", value: walk.guess ?? "" });
    field.setAttribute("aria-label", "Your guess, from 0 to 1");
    field.oninput = () => (walk.guess = field.value);
    answers.append(field);
  }
  answers.append(show);
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
    const said = off < 0.005 ? "Exactly right." : `You said ${Number(walk.guess).toFixed(2).replace("-", "−")}: ${off.toFixed(2)} ${truth > Number(walk.guess) ? "too little" : "too much"}.`;
    return [make("div", { className: "question" }, `${said} “${matrix.columns[column]}” gets ${matrix.cells[row][column].text}.`)];
  }
  const exact = matrix.cells[row].map((cell, index) => (isChoice(step, row, index) ? cell.value ?? 0 : -1));
  const best = exact.indexOf(Math.max(...exact));
  const score = step.matrices[0].cells[row][best].text;
  const said = walk.guess === best ? "Right:" : `You said “${matrix.columns[Number(walk.guess)]}”, but`;
  return [make("div", { className: "question" }, `${said} “${matrix.columns[best]}” gets most, ${matrix.cells[row][best].text}: its score ${score} is the largest of the row.`)];
}

/** For another row, or another class. @param {Walk} walk */
export function again(walk) {
  const isAsking = walk.data.steps.findIndex((step) => resultOf(step)?.weights) === walk.step;
  if (walk.data.predict === "off" || !isAsking) return [];
  const hide = () => {
    Object.assign(walk, { guess: null, guessed: null });
    walk.show("");
  };
  const button = make("button", { className: "again", onclick: hide }, "Hide the weights again");
  button.dataset.keep = "again";
  return [button];
}
