// Walks through the steps of the numbers that steps.py gives. A cell that is chosen lights up those it came from, with its sum written
// out. Everything is set as text, never as HTML. The step and the cell that are looked at go to Python, for the address.

import { make } from "../drawing/elements.js";
import { THEMES } from "../drawing/themes.js";
import { describeSteps } from "./worded_steps.js";
import { again, question, reveal, verdict, equation, isMixed, isStack, written, MATRICES, typeset, asks, follow, go, isLocked, look } from "./equations.js";

/**
 * @import { Computation, Step, Walk } from "./equations.js"
 * @import { Numbers } from "./worded_steps.js"
 */

const COLOURS = /** @type {const} */ (["background", "accent", "text", "faint", "panel", "border", "masked"]);
const QUIET = 500;
const NARROW = 640;
// Of the digits in pixels, of the cells in their digits' heights, and of a matrix in the window's height.
const SIZES = [44, 38, 33, 28, 25, 22, 18, 15];
const WIDTHS = [5, 4.4, 3.8, 3.3];
const TALLEST = 0.36;
/** @type {Record<string, number>} */
const SIDEWAYS = { ArrowLeft: -1, ArrowRight: 1 };
/** @type {Record<string, number>} */
const DOWN = { ArrowUp: -1, ArrowDown: 1 };
const HINT = "← → steps · ↑ ↓ and Shift ← → cells · Enter reveals · F presents";

/** @typedef {HTMLElement & { walk?: Walk, shown?: string, leave?: () => void }} Root */

/** @param {StreamlitComponent<[Omit<Computation, "theme" | "steps" | "origins"> & Numbers & { theme: "light" | "dark" }]>} component */
export default function (component) {
  const { data: [data], parentElement, setTriggerValue } = component;
  const root = /** @type {Root} */ (parentElement.querySelector(".compute"));
  const theme = THEMES[data.theme];
  for (const name of COLOURS) root.style.setProperty(`--${name}`, theme[name]);
  const walk = follow({ ...data, ...describeSteps(data), theme }, root.walk);
  root.walk = walk;
  walk.content = JSON.stringify({ ...data, seq: 0, at: 0, first: 0, expanded: 0 });
  // What Python says meanwhile is older already.
  walk.tell = () => {
    clearTimeout(walk.timer);
    walk.seq += 1;
    walk.timer = setTimeout(() => setTriggerValue("moved", { seq: walk.seq, at: [walk.step, ...walk.cell], expanded: walk.expanded }), QUIET);
  };
  // What is hidden is not here yet: Python has it.
  walk.show = (key) => setTriggerValue("revealed", key);
  walk.draw = () => draw(root, walk);
  // What did not change stays: a guess that is being typed, and what has the focus.
  if (root.shown !== shownOf(walk)) walk.draw();
  if (walk.waits && data.hidden === null) {
    walk.waits = false;
    root.focus({ preventScroll: true });
  }
  root.onkeydown = (event) => press(root, walk, event);
  // Streamlit may mount it again before it cleans up after the last time: a key must not move two steps.
  root.leave?.();
  // Before anything is clicked, the arrow keys belong to the picture.
  /** @param {KeyboardEvent} event */
  const anywhere = (event) => event.target === document.body && press(root, walk, event);
  document.addEventListener("keydown", anywhere);
  const resized = new ResizeObserver(() => fitTable(root, walk));
  resized.observe(root);
  root.leave = () => {
    resized.disconnect();
    document.removeEventListener("keydown", anywhere);
  };
  return root.leave;
}

/** @param {HTMLElement} root @param {Walk} walk @param {KeyboardEvent} event */
function press(root, walk, event) {
  const field = /** @type {Element} */ (event.composedPath()[0]);
  if (event.ctrlKey || event.metaKey || event.altKey || (field.tagName === "INPUT" && event.key !== "Enter")) return;
  const [row, column] = walk.cell;
  const sideways = SIDEWAYS[event.key];
  const down = DOWN[event.key];
  if (sideways) event.shiftKey ? look(walk, [row, column + sideways]) : go(walk, walk.step + sideways);
  else if (down) look(walk, [row + down, column]);
  else if (event.key === "Enter" && asks(walk) && field.tagName !== "BUTTON") reveal(root, walk);
  else return;
  event.preventDefault();
}

/** @param {Walk} walk */
const shownOf = ({ content, step, cell, expanded }) => JSON.stringify([content, step, cell, expanded]);

/** @param {Root} root @param {Walk} walk */
function draw(root, walk) {
  const step = walk.data.steps[walk.step];
  root.shown = shownOf(walk);
  // Where a step was scrolled to it stays, and so does the way through all of them.
  const scrolling = root.dataset.step === String(walk.step) ? ".way, .equation, .matrix" : ".way";
  const places = [...root.querySelectorAll(scrolling)].map(({ scrollLeft }) => scrollLeft);
  const { activeElement } = /** @type {ShadowRoot} */ (root.getRootNode());
  const focused = activeElement instanceof HTMLElement ? activeElement.dataset.keep : "";
  root.dataset.step = String(walk.step);
  root.tabIndex = 0;
  root.setAttribute("role", "group");
  root.setAttribute("aria-label", `Step ${walk.step + 1} of ${walk.data.steps.length}: ${step.title}. Arrow keys move.`);
  root.replaceChildren(
    wayThrough(walk),
    make("div", { class: "title" }, make("b", {}, step.title), make("span", { class: "formula" }, ...typeset(step.formula))),
    // The sentence may have the number in it that somebody is to guess.
    make("p", { class: "sentence" }, ...(asks(walk) ? [`Guess first: the scores are ${isStack(step) ? "above" : "on the left"}.`] : typeset(step.sentence, MATRICES))),
    equation(walk, step),
    ...(asks(walk) ? [question(root, walk, step)] : [...verdict(walk, step), written(walk, step), ...again(walk)]),
    make("p", { class: "hint" }, HINT),
  );
  fitTable(root, walk);
  root.querySelectorAll(scrolling).forEach((each, at) => (each.scrollLeft = places[at] ?? 0));
  if (focused) /** @type {HTMLElement | null} */ (root.querySelector(`[data-keep="${focused}"]:not(:disabled)`))?.focus({ preventScroll: true });
}

// The largest digits, and then the widest cells, with which a step stands in one line and fills its panel without going far below
// the fold; on a phone its matrices stand one below the other.
/** @param {HTMLElement} root @param {Walk} walk */
function fitTable(root, walk) {
  const isNarrow = root.clientWidth < NARROW;
  const usual = isMixed(walk.data.steps[walk.step]) ? 18 : 22;
  const matrices = /** @type {HTMLElement[]} */ ([...root.querySelectorAll(".matrix")]);
  const [first, last] = [matrices[0], matrices[matrices.length - 1]];
  const isWhole = () => matrices.every((each) => each.scrollWidth <= each.clientWidth + 1);
  const isLine = () => first === last || root.querySelector(".stack") || last.offsetLeft >= first.offsetLeft + first.offsetWidth;
  // A screen that presents enlarges what would fill one half as wide.
  const height = root.hasAttribute("data-presenting") ? Math.min(innerHeight, 540, (540 / 960) * innerWidth) : innerHeight;
  /** @param {number} size */
  const isLow = (size) => size <= usual || last.offsetHeight <= TALLEST * height;
  /** @param {number} size */
  const fits = (size) => isWhole() && (isNarrow || (isLine() && isLow(size)));
  /** @param {number} size @param {number} width */
  const set = (size, width) => {
    root.className = `compute ${size < 18 ? "small" : size < 22 ? "medium" : "large"}`;
    root.style.setProperty("--digit", `${size}px`);
    root.style.setProperty("--cell", `${width}em`);
  };
  const sizes = SIZES.filter((size) => size <= (isNarrow ? usual : SIZES[0]));
  /** @param {number} size */
  const narrowest = (size) => (size < 18 ? 2.5 : 2.9);
  const size = sizes.find((each) => (set(each, narrowest(each)), fits(each))) ?? sizes.find((each) => (set(each, narrowest(each)), isWhole())) ?? sizes[sizes.length - 1];
  [...WIDTHS, narrowest(size)].find((width) => (set(size, width), fits(size)));
  // One that scrolls can be scrolled with a keyboard.
  for (const each of matrices) {
    if (each.scrollWidth > each.clientWidth + 1) each.tabIndex = 0;
    else each.removeAttribute("tabindex");
  }
}

/** @param {Walk} walk */
function wayThrough(walk) {
  const way = make("div", { class: "way" });
  walk.data.steps.forEach((step, index) => {
    const kind = index === walk.step ? "now" : index < walk.step ? "passed" : "";
    const disabled = isLocked(walk, index);
    const title = disabled ? `${step.title}: reveal the weights first` : step.title;
    const attributes = { class: kind, title, disabled, "aria-current": index === walk.step && "step", "data-keep": `step${index}` };
    const name = step.title !== step.symbol && make("small", {}, step.title);
    way.append(make("button", { ...attributes, onclick: () => go(walk, index) }, ...typeset(step.symbol), name));
  });
  /** @param {string} name @param {number} by @param {string} label */
  const move = (name, by, label) => {
    const disabled = !(walk.step + by in walk.data.steps) || isLocked(walk, walk.step + by);
    return make("button", { class: "move", disabled, "aria-label": label, "data-keep": label, onclick: () => go(walk, walk.step + by) }, name);
  };
  way.append(make("span", { class: "moves" }, move("← Back", -1, "Back"), move("Next →", 1, "Next")));
  return way;
}
