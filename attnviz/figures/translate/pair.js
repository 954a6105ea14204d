// The sentence on the left, its translation on the right, and curves whose width and opacity are the weights.

import { TEXT } from "./model.js";
import { make, word } from "./paint.js";

// A line of words, at least.
const LINE = 24;
const SVG = "http://www.w3.org/2000/svg";

export class SentencePair {
  constructor(app) {
    this.app = app;
    this.svg = document.createElementNS(SVG, "svg");
    for (const [name, value] of [["preserveAspectRatio", "none"], ["aria-hidden", "true"]]) this.svg.setAttribute(name, value);
    this.source = make("div", { class: "words source" });
    this.target = make("div", { class: "words target" });
    this.pair = make("div", { class: "pair", dir: "ltr" }, this.source, this.svg, this.target);
    this.element = make("div", { class: "pane frame" }, this.pair);
    const wordOf = (event) => event.target.closest("[data-row], [data-column]");
    this.pair.addEventListener("pointerover", (event) => this.point(wordOf(event)));
    this.pair.addEventListener("focusin", (event) => this.point(wordOf(event)));
    this.pair.addEventListener("pointerleave", () => this.point(null));
    this.pair.addEventListener("focusout", () => this.point(null));
  }

  point(element) {
    const read = (value) => (value === undefined ? null : Number(value));
    const { model } = this.app;
    this.app.pointAt(element && { model, query: read(element.dataset.row), key: read(element.dataset.column) });
  }

  draw(height) {
    const { model, name } = this.app;
    const rows = Math.max(model.queries.length, model.keys.length);
    const high = Math.max(height, rows * LINE);
    this.element.style.maxHeight = `${height}px`;
    this.element.classList.toggle("scrolls", high > height);
    const drawn = `${name} ${model.slot} ${high}`;
    if (this.drawn !== drawn) {
      this.drawn = drawn;
      this.pair.style.height = `${high}px`;
      this.svg.setAttribute("viewBox", `0 0 100 ${high}`);
      this.source.replaceChildren(...model.keys.map((token, key) => make("span", { class: "word", "data-column": key, title: token[TEXT] }, word(token[TEXT]))));
      this.target.replaceChildren(...model.queries.map((token, query) => this.targetWord(token, query)));
      this.svg.replaceChildren(...this.curves(high));
    }
    this.drawChosen();
    this.drawPointed();
  }

  targetWord(token, query) {
    const { model } = this.app;
    const weight = model.weight(query, model.strongestOf(query)).toFixed(2);
    const attributes = { class: "word", type: "button", "data-row": query, "data-pick": query, title: token[TEXT], onclick: () => this.app.selectWord(query) };
    if (model.choices[query].length) attributes["aria-haspopup"] = "dialog";
    return make("button", attributes, word(token[TEXT]), make("em", {}, weight));
  }

  curves(high) {
    const { model, least } = this.app;
    const { queries, keys } = model;
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
    const { model, chosen } = this.app;
    const best = model.strongestOf(chosen.query);
    for (const [key, each] of Array.from(this.source.children).entries()) each.classList.toggle("chosen", key === best);
    for (const [query, each] of Array.from(this.target.children).entries()) each.classList.toggle("chosen", query === chosen.query);
  }

  // Without a pointer the chosen word's links stand out, a little.
  drawPointed() {
    const { model, pointed } = this.app;
    const lit = this.app.litIn(model);
    const isLit = Boolean(pointed) && (lit.query !== null || lit.key !== null);
    this.pair.classList.toggle("pointed", isLit);
    const isMine = ({ row, column }) => (lit.query === null || Number(row) === lit.query) && (lit.key === null || Number(column) === lit.key);
    for (const each of this.pair.querySelectorAll("path")) each.classList.toggle("lit", isLit && isMine(each.dataset));
    for (const each of this.pair.querySelectorAll(".word")) {
      const { row, column } = each.dataset;
      each.classList.toggle("lit", isLit && (row === undefined ? Number(column) === lit.key : Number(row) === lit.query));
    }
  }

  wordAt(query) {
    return this.target.children[query];
  }
}
