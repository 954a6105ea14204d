// What a class sees on the wall: how to join, the question, and after the reveal the guesses on the picture.

import { cutText, drawn, isolated, make, nameOfHead } from "../../../figures/drawing/elements.js";
import { counted, wholePercent } from "../../../figures/drawing/numbers.js";
import { questionLines, wordNamed } from "../../../figures/lessons/question.js";
import { classPicture, shade } from "../phone/class_picture.js";
import { refusesPhones } from "../phone/server_connection.js";

// The picture beside a question on the wall: one matrix with its words, or every head small. What is hidden is hatched.

/**
 * @typedef {object} WallPicture
 * @property {string} caption
 * @property {string[]} rows
 * @property {string[]} columns
 * @property {string} cells bytes in base64, a head after the other, row by row: 0 to 255
 * @property {[number, number]} heads
 * @property {number[]} marked
 * @property {number[]} hidden_rows
 * @property {number[]} hidden_columns
 */

// Of a matrix, in units of its own: a cell, its letters, and of a letter the width on average.
const CELL = 20;
const FONT = 16;
const LETTER = 8.6;
const LONGEST = 24;

/** @param {string} name */
const label = (name) => cutText(wordNamed(name).textContent ?? "", LONGEST);

/** @param {WallPicture} picture @param {readonly string[]} scale @param {readonly string[]} right names of heads */
function wallPicture(picture, scale, right = []) {
  const cells = Uint8Array.from(atob(picture.cells), (each) => each.charCodeAt(0));
  const [layers, heads] = picture.heads;
  const drawing = layers * heads > 1 ? smallHeads(picture, cells, scale, right) : matrix(picture, cells, scale);
  return make("figure.picture", {}, drawing, make("figcaption", {}, `${picture.caption}. ${reading(picture)}`));
}

/** @param {WallPicture} picture */
function reading({ rows, columns, hidden_rows: down, hidden_columns: across }) {
  const hidden = [...down.map((at) => rows[at]), ...across.map((at) => columns[at])].map(label);
  if (!hidden.length) return "Strong colour: much.";
  if (down.length === rows.length) return "All of it is hidden.";
  return `Hidden: ${hidden.slice(0, 3).map((name) => `“${isolated(name)}”`).join(", ")}${hidden.length > 3 ? " …" : ""}.`;
}

/** @param {WallPicture} picture @param {Uint8Array} cells @param {readonly string[]} scale */
function matrix({ rows, columns, marked, hidden_rows: down, hidden_columns: across, caption }, cells, scale) {
  const left = Math.max(...rows.map((name) => label(name).length)) * LETTER + 8;
  const top = Math.max(...columns.map((name) => label(name).length)) * LETTER + 8;
  const [width, height] = [left + columns.length * CELL + 16, top + rows.length * CELL + 4];
  const stripes = drawn("pattern", { id: "hidden", width: 6, height: 6, patternUnits: "userSpaceOnUse", patternTransform: "rotate(-45)" },
    drawn("rect", { width: 6, height: 6, class: "blank" }), drawn("rect", { width: 2.5, height: 6, class: "stripe" }));
  const parts = [drawn("defs", {}, stripes)];
  rows.forEach((name, row) => {
    const y = top + row * CELL;
    const isMarked = marked.includes(row);
    parts.push(drawn("text", { x: left - 5, y: y + CELL / 2 + FONT / 3, "text-anchor": "end", class: isMarked ? "marked" : "" }, label(name)));
    columns.forEach((_, column) => {
      const isHidden = down.includes(row) || across.includes(column);
      const style = isHidden ? "fill:url(#hidden)" : shade(scale, cells[row * columns.length + column] / 255).replace("background", "fill");
      parts.push(drawn("rect", { x: left + column * CELL + 0.5, y: y + 0.5, width: CELL - 1, height: CELL - 1, class: "weight", style }));
    });
    if (down.includes(row)) parts.push(drawn("text", { x: left + columns.length * CELL + 4, y: y + CELL / 2 + FONT / 3, class: "marked" }, "?"));
  });
  columns.forEach((name, column) => {
    const x = left + (column + 0.5) * CELL + FONT / 3;
    parts.push(drawn("text", { transform: `translate(${x} ${top - 4}) rotate(-90)`, class: across.includes(column) ? "marked" : "" }, label(name)));
  });
  return drawn("svg", { viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": caption, "font-size": FONT }, ...parts);
}

/** @param {WallPicture} picture @param {Uint8Array} cells @param {readonly string[]} scale @param {readonly string[]} right */
function smallHeads({ rows, columns, heads: [layers, heads], hidden_rows: down, hidden_columns: across }, cells, scale, right) {
  const size = rows.length * columns.length;
  const colours = Array.from({ length: 256 }, (_, value) => /rgb\(([^)]*)\)/.exec(shade(scale, value / 255))?.[1].split(",").map(Number) ?? []);
  const grid = make("div.heads", { style: `grid-template-columns:auto repeat(${heads},1fr)` }, make("span"));
  for (let head = 0; head < heads; head += 1) grid.append(make("span", {}, String(head)));
  for (let layer = 0; layer < layers; layer += 1) {
    grid.append(make("span", {}, nameOfHead(layer, null)));
    for (let head = 0; head < heads; head += 1) {
      const name = nameOfHead(layer, head);
      const canvas = /** @type {HTMLCanvasElement} */ (make(right.includes(name) ? "canvas.right" : "canvas", { title: name }));
      [canvas.width, canvas.height] = [columns.length, rows.length];
      const pixels = new ImageData(columns.length, rows.length);
      for (let at = 0; at < size; at += 1) {
        const isHidden = down.includes(Math.floor(at / columns.length)) || across.includes(at % columns.length);
        // Two greys in turn, as a hatch of one pixel.
        const colour = isHidden ? Array(3).fill(at % 2 ? 205 : 150) : colours[cells[(layer * heads + head) * size + at]];
        pixels.data.set([...colour, 255], 4 * at);
      }
      canvas.getContext("2d")?.putImageData(pixels, 0, 0);
      grid.append(canvas);
    }
  }
  return grid;
}

/**
 * @typedef {object} Step
 * @property {string} place
 * @property {string} title
 * @property {string} prose HTML, written by attnviz of a lesson's Markdown
 * @property {string} hint
 * @property {string} head
 *
 * @typedef {object} Wall
 * @property {ClassView} view
 * @property {Step | null} step
 * @property {WallPicture | null} picture
 * @property {number} here
 * @property {number} answered
 * @property {string} where such as "school.example/join"
 * @property {string} qr an image
 * @property {string} sentence what the class guessed, beside what is true
 * @property {string} said what the lesson says to that
 * @property {string[]} scale
 * @property {string} mark in front of all: what is shown is made up
 * @property {string[]} keys what the teacher may press, in words
 */

/** What is unfolded, as long as the question stands: its hint. @type {{ question: string, isOpen: boolean, root: HTMLElement | null }} */
const hint = { question: "", isOpen: false, root: null };

/** @param {StreamlitComponent<[Wall]>} mounted */
export default function ({ data: [wall], parentElement, setTriggerValue }) {
  const root = parentElement.querySelector("#phone");
  if (root instanceof HTMLElement && !root.dataset.asked && wall.view.state !== "ended" && wall.where) {
    root.dataset.asked = "true";
    refusesPhones().then((refuses) => refuses && setTriggerValue("refused", true)).catch(() => {});
  }
  const drawn = JSON.stringify(wall);
  if (!(root instanceof HTMLElement) || root.dataset.drawn === drawn) return;
  if (!hint.root) listenForKeys();
  const question = `${wall.view.code} ${wall.view.number} ${wall.view.question?.ask}`;
  if (hint.question !== question) {
    [hint.question, hint.isOpen] = [question, false];
    document.querySelector("[data-testid=stMain]")?.scrollTo(0, 0);
  }
  hint.root = root;
  root.dataset.drawn = drawn;
  root.classList.toggle("pictured", Boolean(wall.picture) && wall.view.state !== "ended");
  root.replaceChildren(head(wall), body(wall));
  fitWall();
}

function listenForKeys() {
  window.addEventListener("resize", fitWall);
  document.addEventListener("keydown", (event) => {
    const field = /** @type {Element} */ (event.composedPath()[0]);
    const isHint = event.key === "h" || event.key === "H" || event.key === "PageUp";
    if (!isHint || event.ctrlKey || event.metaKey || event.altKey || field.matches?.("input, textarea, select")) return;
    const folded = hint.root?.querySelector("details.hint");
    if (!hint.root?.isConnected || !(folded instanceof HTMLDetailsElement)) return;
    event.preventDefault();
    event.stopPropagation();
    folded.open = !folded.open;
  }, true);
}

/** Letters are as large as the screen lets them be: 28 pixels of 1080. */
function fitWall() {
  const { root } = hint;
  if (!root?.isConnected) return;
  const zoom = Math.min(window.innerWidth / 1050, window.innerHeight / 590);
  root.style.setProperty("--wall-zoom", window.innerWidth < 640 ? "1" : Math.min(Math.max(zoom, 1), 3).toFixed(3));
}

/** @param {Wall} wall */
function head({ view, step, here, answered, where, mark }) {
  const isOn = view.number && view.state !== "ended";
  const place = step?.place || (isOn ? `Question ${view.number}` : "");
  const join = view.state === "ended" || !where ? "" : make("span", {}, "join at ", make("b", {}, `${where} · ${view.code}`));
  const counts = `${here} here${isOn ? ` · ${answered} answered` : ""}`;
  return make("header", {}, mark && make("b.mark", {}, mark), make("span", {}, place), join, make("span", { role: "status" }, counts));
}

/** @param {Wall} wall */
function body(wall) {
  const { view, step, qr, where, picture, scale, keys } = wall;
  const { question, truth } = view;
  if (view.state === "ended") return make("div.body", {}, make("h1", {}, "This class has ended."));
  if (!question) {
    const steps = make("p", {}, "Scan this, or open ", make("b", {}, where), " and type ", make("b.code", {}, view.code), ".");
    return make("div.body.joining", {}, make("h1", {}, "Join the class"), qr && make("img", { src: qr, alt: "QR code to join the class" }), steps);
  }
  const isRevealed = view.state === "revealed" && truth;
  const left = make("div.text", {},
    step?.title && make("h2", {}, make("bdi", {}, step.title)),
    step?.prose && !isRevealed && prose(step.prose),
    make("div.ask", {}, make("h1", {}, make("bdi", {}, question.ask)), step?.head && !question.ask.includes(step.head) && make("p.head", {}, `In ${step.head}.`)),
    ...(isRevealed ? outcome(wall, question, truth) : waiting(wall, question)),
    keys.length > 0 && make("p.keys", {}, keys.join(" · ")),
  );
  const right = isRevealed && question.kind === "head" ? truth.right : [];
  return make("div.body", {}, left, picture && wallPicture(picture, scale, right));
}

/** @param {string} written */
function prose(written) {
  const made = make("div.prose");
  made.innerHTML = written;
  return made;
}

/** @param {Wall} wall @param {ClassQuestion} question */
function waiting({ view, step }, question) {
  const folded = /** @type {HTMLDetailsElement | false} */ (step?.hint ? make("details.hint", { open: hint.isOpen }, make("summary", {}, "Hint"), make("bdi", {}, step.hint)) : false);
  if (folded) folded.addEventListener("toggle", () => (hint.isOpen = folded.open));
  return [view.state === "closed" && make("p.notice", {}, "Answers are closed."), options(question), folded];
}

/** @param {Wall} wall @param {ClassQuestion} question @param {ClassTruth} truth */
function outcome({ sentence, said, scale, picture }, question, truth) {
  const told = [sentence && make("p.told", {}, sentence), said && make("p.said", {}, make("bdi", {}, said))];
  if (question.kind === "text") {
    const many = counted(truth.answered, "has written an answer", "have written an answer");
    return [make("p", {}, truth.answered ? `${many}: your teacher has ${truth.answered === 1 ? "it" : "them"}.` : "Nobody has answered."), ...told];
  }
  return [classPicture({ question, truth, own: null, scale }), ...told, !picture && shares(question, truth)];
}

/** What can be answered, before anything is known. @param {ClassQuestion} question */
function options(question) {
  const choices = question.kind === "token" ? [] : question.choices;
  const list = choices.map((name) => make("li", {}, make("div.option", {}, make("bdi", {}, name))));
  return make("div.options", {}, ...questionLines(question), list.length > 0 && make("ul.options", {}, ...list));
}

/** How many of the class chose the right word, beside what the head gives it. @param {ClassQuestion} question @param {ClassTruth} truth */
function shares(question, truth) {
  const [right] = truth.right;
  const weight = truth.weights[question.words.indexOf(right)];
  if (question.kind !== "token" || weight === undefined || !truth.answered) return null;
  const chose = truth.guesses.reduce((sum, [answer, times]) => sum + (answer === right ? times : 0), 0);
  /** @type {[string, number, string][]} */
  const rows = [["the class", chose / truth.answered, "class"], ["the head", weight, "head"]];
  return make("div.shares", {}, ...rows.map(([name, share, kind]) =>
    make("div", {}, make("span", {}, name), make(`i.${kind}`, { style: `width:${60 * share}%` }),
      make("span", {}, `${wholePercent(share)} `, make("bdi", {}, right)))));
}
