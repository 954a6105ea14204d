// The sentence on the left, its translation on the right, and curves whose width and opacity are the weights.

import { around, make, word } from "../drawing/elements.js";
import { AlignmentPart } from "./view.js";

/**
 * @import { AlignedToken } from "./model_translation.js"
 * @import { Parts } from "./view.js"
 */

// A line of words, at least.
const LINE = 24;
const SVG = "http://www.w3.org/2000/svg";

export class WordPair extends AlignmentPart {
  /** @param {Parts} parts */
  constructor(parts) {
    super(parts);
    this.svg = document.createElementNS(SVG, "svg");
    for (const [name, value] of [["preserveAspectRatio", "none"], ["aria-hidden", "true"]]) this.svg.setAttribute(name, value);
    this.source = make("div", { class: "side source" });
    this.target = make("div", { class: "side target" });
    this.pair = make("div", { class: "pair", dir: "ltr" }, this.source, this.svg, this.target);
    this.element = make("div", { class: "pane frame" }, this.pair);
    for (const name of ["pointerover", "focusin"]) {
      this.pair.addEventListener(name, (event) => this.point(around(event, "[data-row], [data-column]")));
    }
    for (const name of ["pointerleave", "focusout"]) this.pair.addEventListener(name, () => this.point(null));
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
      this.pair.style.height = `${high}px`;
      this.svg.setAttribute("viewBox", `0 0 100 ${high}`);
      this.source.replaceChildren(...model.keys.map(([text], key) => make("span", { class: "word", "data-column": key, title: text }, word(text))));
      this.target.replaceChildren(...model.queries.map((token, query) => this.targetWord(token, query)));
      this.svg.replaceChildren(...this.curves(high));
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
        const path = document.createElementNS(SVG, "path");
        path.setAttribute("d", `M0 ${left}C45 ${left} 55 ${right} 100 ${right}`);
        path.setAttribute("stroke-width", (0.75 + 5.25 * weight).toFixed(2));
        path.setAttribute("stroke-opacity", (0.1 + 0.8 * weight).toFixed(3));
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
