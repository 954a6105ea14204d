// The large model's text and translation as the explorer's words: lines to click, the headline, and the heads that were asked for.

import { clamp } from "../drawing/canvas.js";
import { around, drawn, make, word } from "../drawing/elements.js";
import { HeadsList, WordsView } from "../explorer/clickable_words.js";
import { headPlace, headCaption, sentenceParts } from "./alignment_state.js";
import { AlignmentPart } from "./alignment_part.js";

/**
 * @import { AlignedToken, AlignmentState, Choice, Model } from "./alignment_state.js"
 * @import { Parts } from "./alignment_part.js"
 */

const LINE_NAMES = { queries: "Translation", keys: "Text" };

export class SentenceWords extends AlignmentPart {
  /** @type {WordsView | null} */
  words = null;
  /** @type {HeadsList | null} */
  list = null;

  /** @param {Parts} parts */
  constructor(parts) {
    super(parts);
    this.element = make("div");
    this.heads = make("div", { class: "ranked" });
  }

  draw() {
    const { state } = this;
    if (this.changes(state.drawn)) this.open();
    this.words?.draw();
    this.heads.hidden = !state.rankedHeads;
    this.list?.draw();
  }

  // Another model: other words.
  open() {
    const { state, actions, surface } = this;
    const shown = {
      /** @param {"queries" | "keys"} axis @param {number} word */
      askWord: (axis, word) => (axis === "queries" ? actions.select(word, null) : actions.select(state.chosen.query, word)),
      /** @param {number} layer @param {number | null} head */
      openHead: (layer, head) => actions.openHead(layer, head),
      unpin: () => actions.unpin(),
    };
    const parts = /** @type {any} */ ({ state: new WordsState(state), actions: shown, surface, later() {}, draw() {} });
    this.words = new WordsView(parts);
    this.words.several.hidden = true;
    this.list = new HeadsList(parts);
    this.element.replaceChildren(this.words.element);
    this.heads.replaceChildren(this.list.element);
  }
}

// One alignment as the explorer's state of a map: what its words are drawn from.
export class WordsState {
  hasWords = true;
  options = { several: false };

  /** @param {AlignmentState} alignments */
  constructor(alignments) {
    this.alignments = alignments;
    this.overview = overviewOf(alignments.model);
  }

  get current() {
    const { model } = this.alignments;
    const [layer, head] = model.said.place;
    return { layer, head, signed: false, weight: model.weight.bind(model), masked: model.masked.bind(model) };
  }

  get head() {
    return this.current.head;
  }

  get where() {
    const { said } = this.alignments.model;
    return headPlace(said);
  }

  get headName() {
    return `${this.current.layer}:${this.current.head}`;
  }

  get query() {
    return this.alignments.chosen.query;
  }

  // What a written word looks at most is no link that somebody asked for.
  get question() {
    const { query, key } = this.alignments.chosen;
    return { queries: [query], keys: [key], isLink: key !== this.alignments.model.strongestOf(query), isAsked: true };
  }

  get words() {
    return { isPinned: this.alignments.isPinned };
  }

  get number() {
    return this.alignments.model.said.number;
  }

  get fullScale() {
    return this.alignments.isFullScale;
  }

  get canRank() {
    return Boolean(this.alignments.rankedHeads);
  }

  // The heads as Python has ranked them.
  get store() {
    const ranked = this.alignments.rankedHeads;
    return { table: () => ({ value: ranked && { mean: () => ranked.mean, ranked: () => ranked.first } }) };
  }

  // Of a word that has two rows, which one the heads are ranked by.
  get rankedBy() {
    const [step, isOther] = this.alignments.rankedHeads?.step?.split(", ") ?? [];
    if (!step) return "";
    return isOther ? `the row that ${step} it, while the picture has the one that ${step === "writes" ? "reads" : "writes"} it` : `the row that ${step} it`;
  }

  /** @param {number} layer @param {number} head */
  isChosen(layer, head) {
    return this.current.layer === layer && this.current.head === head;
  }
}

/** @param {Model} model */
function overviewOf({ said, queries, keys }) {
  const words = (/** @type {[string, number, ...any]} */ [text, special], /** @type {number} */ index) => ({ text, special: Boolean(special), parts: [index] });
  return {
    words: { queries: queries.map(words), keys: keys.map(words), own: queries.map(() => null) },
    direction: said.directions, lineNames: LINE_NAMES, layers: said.shape[0], heads: said.shape[1],
  };
}

// The sentence on the left, its translation on the right, and curves whose width and opacity are the weights.

// A line of words, at least.
const LINE = 24;
// How much larger the letters are than labels of a canvas; the least curves, the weights, and what is between (alignments.css).
const [PAIR_SCALE, BESIDE_WORDS] = [17 / 14, 48 + 32 + 44];

export class WordPair extends AlignmentPart {
  /** @param {Parts} parts */
  constructor(parts) {
    super(parts);
    this.svg = drawn("svg", { preserveAspectRatio: "none", "aria-hidden": "true" });
    this.source = make("div", { class: "side source" });
    this.target = make("div", { class: "side target" });
    this.pair = make("div", { class: "pair", dir: "ltr" }, this.source, this.svg, this.target);
    this.element = make("div", { class: "pane frame" }, this.pair);
    for (const name of ["pointerover", "focusin"]) {
      this.pair.addEventListener(name, (event) => this.point(around(event, "[data-row], [data-column]")));
    }
    for (const name of ["pointerleave", "focusout"]) this.pair.addEventListener(name, () => this.point(null));
  }

  /** The width at which no word and no weight is cut. @param {HTMLCanvasElement} canvas to measure words */
  widthOf(canvas) {
    const { keys, queries } = this.state.model;
    const words = this.surface.widest(canvas, keys) + this.surface.widest(canvas, queries);
    return Math.ceil(words * PAIR_SCALE) + BESIDE_WORDS;
  }

  /** @param {HTMLElement | null} element */
  point(element) {
    /** @param {string | undefined} value */
    const read = (value) => (value === undefined ? null : Number(value));
    const { model } = this.state;
    this.actions.pointAt(element && { model, query: read(element.dataset.row), key: read(element.dataset.column) });
  }

  /** @param {number} height */
  draw(height) {
    const { model, drawn } = this.state;
    const high = Math.max(height, Math.max(model.queries.length, model.keys.length) * LINE);
    this.element.style.maxHeight = `${height}px`;
    this.element.classList.toggle("scrolls", high > height);
    if (this.changes(`${drawn} ${high}`)) {
      const { activeElement } = /** @type {Document | ShadowRoot} */ (this.pair.getRootNode());
      const focused = Array.from(this.target.children).findIndex((each) => each === activeElement);
      this.pair.style.height = `${high}px`;
      this.svg.setAttribute("viewBox", `0 0 100 ${high}`);
      this.source.replaceChildren(...model.keys.map(([text], key) => make("span", { class: "word", "data-column": key, title: text }, word(text))));
      this.target.replaceChildren(...model.queries.map((token, query) => this.targetWord(token, query)));
      this.svg.replaceChildren(...this.curves(high));
      if (focused >= 0) this.wordAt(Math.min(focused, model.queries.length - 1))?.focus({ preventScroll: true });
    }
    this.drawChosen();
    this.drawPointed();
  }

  /** @param {AlignedToken} token @param {number} query */
  targetWord([text], query) {
    const { model } = this.state;
    const weight = model.weight(query, model.strongestOf(query)).toFixed(2);
    const attributes = { class: "word", type: "button", "data-row": query, "data-pick": query, title: text };
    const popover = { "aria-haspopup": model.said.choices[query].length ? "dialog" : null };
    return make("button", { ...attributes, ...popover, onclick: () => this.actions.selectWord(query) }, word(text), make("em", {}, weight));
  }

  /** @param {number} high */
  curves(high) {
    const { model, least } = this.state;
    const { queries, keys } = model;
    /** @type {[number, SVGPathElement][]} */
    const paths = [];
    for (let query = 0; query < queries.length; query++) {
      for (let key = 0; key < keys.length; key++) {
        const weight = model.weight(query, key);
        const isHard = model.isHard(query, key);
        if (weight < least && !isHard) continue;
        const [left, right] = [((key + 0.5) * high) / keys.length, ((query + 0.5) * high) / queries.length];
        const stroke = { "stroke-width": (0.75 + 5.25 * weight).toFixed(2), "stroke-opacity": (0.1 + 0.8 * weight).toFixed(3) };
        const path = drawn("path", { d: `M0 ${left}C45 ${left} 55 ${right} 100 ${right}`, ...stroke });
        Object.assign(path.dataset, { row: query, column: key, weight: weight.toFixed(4) });
        if (model.hard) path.classList.add(isHard ? "hard" : "faded");
        paths.push([weight, path]);
      }
    }
    return paths.sort(([one], [other]) => one - other).map(([, path]) => path);
  }

  drawChosen() {
    const { model, chosen } = this.state;
    const best = model.strongestOf(chosen.query);
    for (const [key, each] of Array.from(this.source.children).entries()) each.classList.toggle("chosen", key === best);
    for (const [query, each] of Array.from(this.target.children).entries()) each.classList.toggle("chosen", query === chosen.query);
  }

  // Without a pointer the chosen word's links stand out, a little.
  drawPointed() {
    const { state } = this;
    const lit = state.litIn(state.model);
    const isLit = Boolean(state.pointed) && (lit.query !== null || lit.key !== null);
    this.pair.classList.toggle("pointed", isLit);
    const [row, column] = [lit.query, lit.key].map((place) => (place === null ? null : String(place)));
    for (const { dataset, classList } of this.svg.querySelectorAll("path")) {
      classList.toggle("lit", isLit && (row === null || dataset.row === row) && (column === null || dataset.column === column));
    }
    for (const { dataset, classList } of /** @type {Iterable<HTMLElement>} */ (this.pair.querySelectorAll(".word"))) {
      classList.toggle("lit", isLit && (dataset.row === undefined ? dataset.column === column : dataset.row === row));
    }
  }

  /** Tells a screen reader at which word the choices are open. @param {number | null} query */
  markOpen(query) {
    for (const [at, each] of Array.from(this.target.children).entries()) {
      if (each.ariaHasPopup) each.setAttribute("aria-expanded", String(at === query));
    }
  }

  /** @param {number} query */
  wordAt(query) {
    return /** @type {HTMLElement} */ (this.target.children[query]);
  }
}

// The popover at the chosen word: each token that it was written with, its probability, and what could stand in its place.

export class Choices extends AlignmentPart {
  /** @param {Parts} parts @param {WordPair} pair */
  constructor(parts, pair) {
    super(parts);
    this.pair = pair;
    this.element = make("div", { class: "choices", role: "dialog", hidden: true });
    this.element.addEventListener("keydown", (event) => this.key(event));
    /** @param {Event} event */
    const onPress = (event) => {
      const path = event.composedPath();
      const isWord = path.some((each) => each instanceof Element && each.matches("[data-pick]"));
      const isOutside = !path.includes(this.element) && !(isWord && path.includes(this.surface.root));
      if (!this.element.hidden && isOutside) this.actions.closeChoices();
    };
    document.addEventListener("pointerdown", onPress, { signal: this.surface.leaving });
  }

  draw() {
    const { element, state } = this;
    const { choices, chosen, model } = state;
    element.hidden = !state.isOpen || !choices.length;
    this.pair.markOpen(element.hidden ? null : chosen.query);
    if (element.hidden) return;
    if (this.changes(`${state.drawn} ${chosen.query}`)) {
      const onclick = () => this.actions.closeChoices({ focus: true });
      const close = make("button", { type: "button", class: "close", "aria-label": "Close", onclick }, "×");
      const canSteer = choices.some(({ alternatives }) => alternatives.some(([, , can]) => can));
      const hint = canSteer ? "Click one: the model goes on from there." : "The target was typed: change it there.";
      element.setAttribute("aria-label", `What could stand in place of ${model.queries[chosen.query][0]}`);
      element.replaceChildren(close, make("p", {}, hint), make("div", { class: "steps" }, ...choices.map((each) => this.step(each))));
    }
    this.place();
  }

  /** @param {Choice} choice */
  step({ step, text, p, fixed, alternatives }) {
    const buttons = alternatives.map(([name, value, can], place) => {
      const attributes = { type: "button", class: "alternative", disabled: !can, "data-choice": `${step}:${place}` };
      const share = make("i");
      share.style.width = `${100 * clamp(value, 0, 1)}%`;
      const onclick = (/** @type {MouseEvent} */ { detail }) => this.actions.steer(step, place, !detail);
      return make("button", { ...attributes, onclick }, share, word(name), make("em", {}, value.toFixed(2)));
    });
    const written = make("div", { class: "written" }, word(text), make("em", {}, p.toFixed(2)));
    return make("div", { class: fixed ? "step fixed" : "step" }, written, ...buttons);
  }

  // Below its word, or above it where the picture ends; never over the edge.
  place() {
    const { element } = this;
    const at = this.pair.wordAt(this.state.chosen.query);
    const [frame, anchor] = [this.surface.root.getBoundingClientRect(), at.getBoundingClientRect()];
    const left = clamp(anchor.left - frame.left, 0, Math.max(0, frame.width - element.offsetWidth));
    const below = anchor.bottom - frame.top + 4;
    const above = anchor.top - frame.top - element.offsetHeight - 4;
    element.style.left = `${left}px`;
    element.style.top = `${below + element.offsetHeight > frame.height + 40 && above > 0 ? above : below}px`;
  }

  /** @returns {HTMLElement[]} */
  get open() {
    return Array.from(this.element.querySelectorAll(".alternative:enabled"));
  }

  focus() {
    /** @type {HTMLElement | null} */
    const close = this.element.querySelector(".close");
    (this.open[0] ?? close)?.focus({ preventScroll: true });
  }

  /** @param {KeyboardEvent} event */
  key(event) {
    if (event.key === "Escape") this.actions.closeChoices({ focus: true });
    else if (event.key === "ArrowDown" || event.key === "ArrowUp") {
      const all = this.open;
      const from = all.findIndex((each) => each.contains(/** @type {Node} */ (event.target)));
      const to = from + (event.key === "ArrowDown" ? 1 : -1);
      all[(to + all.length) % all.length]?.focus();
    } else return;
    event.preventDefault();
  }
}

// The translations, a row a model: what differs from the others is marked. With one model, its translation in large type.

export class TranslationsTable extends AlignmentPart {
  /** @param {Parts} parts */
  constructor(parts) {
    super(parts);
    this.element = make("div", { class: "translations" });
    this.element.addEventListener("pointerover", (event) => this.point(around(event, "[data-row]")));
    this.element.addEventListener("pointerleave", () => this.actions.pointAt(null));
  }

  /** @param {HTMLElement | null} element */
  point(element) {
    const row = /** @type {HTMLElement | null | undefined} */ (element?.closest("[data-slot]"));
    const model = row && this.modelOf(row);
    this.actions.pointAt(model ? { model, query: Number(element?.dataset.row), key: null } : null);
  }

  get rows() {
    return /** @type {HTMLElement[]} */ (Array.from(this.element.querySelectorAll("[data-slot]")));
  }

  /** @param {HTMLElement} row */
  modelOf(row) {
    return this.state.models.find(({ slot }) => slot === Number(row.dataset.slot));
  }

  draw() {
    const { models, name, model } = this.state;
    if (this.changes(name)) this.element.replaceChildren(models.length === 1 ? this.alone(models[0]) : this.table(models));
    for (const row of this.rows) {
      const isChosen = Number(row.dataset.slot) === model.slot;
      row.classList.toggle("chosen", isChosen);
      row.querySelector("button")?.setAttribute("aria-pressed", String(isChosen));
    }
    this.drawPointed();
  }

  /** @param {Model} model */
  alone({ slot, said }) {
    const facts = [said.name, headCaption(said)].filter(Boolean).join(" · ");
    return make("p", { class: "answer", "data-slot": slot }, sentence(said), " ", make("small", {}, facts));
  }

  /** @param {Model[]} models */
  table(models) {
    const more = models.some(({ said }) => said.unlike.length) ? " · marked: the models chose different words" : "";
    const heads = [make("th", { scope: "col" }, "Model"), make("th", { scope: "col" }, "Translation", make("small", {}, more))];
    return make("table", {}, make("thead", {}, make("tr", {}, ...heads)), make("tbody", {}, ...models.map((each) => this.row(each))));
  }

  /** @param {Model} model */
  row({ slot, said }) {
    const head = headCaption(said);
    const name = make("button", { type: "button" }, make("bdi", {}, said.name), make("small", {}, head && ` ${head}`));
    return make("tr", { "data-slot": slot, onclick: () => this.actions.show(slot) },
      make("th", { scope: "row" }, name), make("td", { class: "answer" }, sentence(said)));
  }

  // The same words light up in all translations.
  drawPointed() {
    for (const row of this.rows) {
      const model = this.modelOf(row);
      const query = model && this.state.litIn(model).query;
      const parts = /** @type {NodeListOf<HTMLElement>} */ (row.querySelectorAll("[data-row]"));
      for (const part of parts) part.classList.toggle("lit", Number(part.dataset.row) === query);
    }
  }
}

/** @param {Model["said"]} said */
function sentence(said) {
  const words = sentenceParts(said).map(([text, row, differs]) => {
    if (row === null && !differs) return text;
    return make(differs ? "mark" : "span", row === null ? {} : { "data-row": row }, text);
  });
  return make("bdi", { dir: said.directions[0] }, ...(words.length ? words : [make("em", {}, "nothing")]));
}
