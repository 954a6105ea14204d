// The text itself: every token shaded by what one token gives it, or gets from it.

import { around, make, word, stepAlong } from "../drawing/elements.js";
import { headName } from "./head_store.js";
import { View } from "./explorer_part.js";

/**
 * @import { Axis } from "./head_store.js"
 * @import { Parts } from "./explorer_part.js"
 */

export class TextView extends View {
  /** @type {{ axis: Axis, index: number } | null} */
  pointed = null;
  /** @type {HTMLElement[]} */
  queries = [];
  /** @type {HTMLElement[]} */
  keys = [];
  // Whether queries and keys are the same tokens: then they stand in one line.
  isSingle = false;
  shaded = "";

  /** @param {Parts} parts */
  constructor(parts) {
    super(parts);
    this.caption = make("p", { class: "caption" });
    this.lines = make("div", { class: "lines" });
    this.choice = make("div", { class: "row choice", role: "group", "aria-label": "Which attention" });
    this.choices = /** @type {[boolean, string][]} */ ([[true, "gives"], [false, "receives"]]).map(([gives, text]) => {
      return make("button", { type: "button", onclick: () => this.actions.look({ gives }) }, text);
    });
    this.choice.append(...this.choices);
    this.element = make("div", { class: "pane text" }, make("div", { class: "row" }, this.caption, this.choice), this.lines);
    const { lines } = this;
    for (const name of ["pointerover", "focusin"]) lines.addEventListener(name, (event) => this.point(around(event, "[data-index]")));
    for (const name of ["pointerleave", "focusout"]) lines.addEventListener(name, () => this.point(null));
    lines.addEventListener("click", (event) => this.pick(around(event, "[data-index]")));
    lines.addEventListener("keydown", (event) => this.key(event));
  }

  // Made when it is first seen, for a long text has thousands of tokens.
  build() {
    const { overview } = this.state;
    this.isSingle = overview.queries.length === overview.keys.length && overview.own.every((column, row) => column === row);
    this.queries = this.isSingle ? [] : this.line("queries");
    this.keys = this.line("keys");
    const parts = [];
    if (this.queries.length) parts.push(make("p", { class: "axis" }, "Who looks"), this.paragraph("queries"));
    if (this.queries.length) parts.push(make("p", { class: "axis" }, "At whom"));
    this.lines.replaceChildren(...parts, this.paragraph("keys"));
    this.choice.hidden = !this.isSingle;
  }

  /** @param {Axis} axis */
  line(axis) {
    return this.state.overview[axis].map(([text, special], index) => {
      const kind = special ? "token special" : "token";
      return make("span", { class: kind, role: "button", tabindex: "-1", dir: "auto", "data-axis": axis, "data-index": index }, text);
    });
  }

  /** @param {Axis} axis */
  paragraph(axis) {
    const [queries, keys] = this.state.overview.direction;
    const name = axis === "queries" ? "Tokens that look" : "Tokens";
    this[axis][0].tabIndex = 0;
    return make("div", { class: "tokens", role: "group", "aria-label": name, dir: axis === "queries" ? queries : keys }, ...this[axis]);
  }

  /** The token whose attention is shown: what is pointed at, else the selected query. @returns {{ axis: Axis, index: number }} */
  shown() {
    const { options, selected: { query } } = this.state;
    return this.pointed ?? { axis: this.isSingle && !options.gives ? "keys" : "queries", index: query };
  }

  draw() {
    const { state, surface: { palette } } = this;
    const head = state.current;
    if (!head || !this.element.isConnected || this.element.hidden || state.query === null) return;
    if (!this.keys.length) this.build();
    const { axis, index } = this.shown();
    const { gives } = state.options;
    const mark = `${headName(head.layer, head.head)} ${axis} ${index} ${palette.theme.name} ${state.fullScale} ${state.query} ${gives}`;
    if (mark === this.shaded) return;
    this.shaded = mark;
    const end = head.scaleEnd(state.fullScale);
    const byRow = axis === "queries";
    const targets = byRow || this.isSingle ? this.keys : this.queries;
    const others = byRow ? this.queries : this.isSingle ? [] : this.keys;
    targets.forEach((span, other) => {
      const [query, key] = byRow ? [index, other] : [other, index];
      const isMasked = head.masked(query, key);
      const colour = isMasked ? palette.theme.masked : palette.colour(head.weight(query, key) / end);
      span.style.background = colour;
      span.style.color = palette.ink(colour);
      span.classList.toggle("masked", isMasked);
      span.title = head.tell(query, key);
      span.classList.toggle("query", byRow ? state.overview.own[index] === other : this.isSingle && index === other);
    });
    others.forEach((span, other) => {
      span.style.background = span.style.color = "";
      span.title = "";
      span.classList.toggle("query", other === index);
    });
    this.tell(axis, index);
    if (!this.pointed) this.reveal(axis === "queries" ? state.overview.own[index] : index);
  }

  /** Scrolls a long text, and nothing around it, so that a token can be seen: a key, or with null the selected query.
   * @param {number | null} index */
  reveal(index) {
    const token = index === null ? this.queries[this.state.selected.query] : this.keys[index];
    if (!token) return;
    const [inner, outer] = [token.getBoundingClientRect(), this.lines.getBoundingClientRect()];
    if (inner.top < outer.top || inner.bottom > outer.bottom) {
      this.lines.scrollTop += inner.top + inner.height / 2 - outer.top - outer.height / 2;
    }
  }

  /** @param {Axis} axis @param {number} index */
  tell(axis, index) {
    const { overview, options: { gives } } = this.state;
    const token = () => make("strong", {}, word(overview[axis][index][0]));
    this.caption.replaceChildren(token(), axis === "queries" ? " gives its attention to …" : " receives attention from …");
    this.choices.forEach((button, place) => button.setAttribute("aria-pressed", String(gives === (place === 0))));
  }

  /** @param {HTMLElement | null} span */
  point(span) {
    this.pointed = span && this.placeOf(span);
    this.draw();
    const head = this.state.current;
    const link = head && this.pointed && head.strongestOf(this.pointed.axis, this.pointed.index);
    if (link) this.sayCell(head, ...link);
  }

  /** @param {HTMLElement} span @returns {{ axis: Axis, index: number }} */
  placeOf(span) {
    const axis = this.isSingle && this.state.options.gives ? "queries" : /** @type {Axis} */ (span.dataset.axis);
    return { axis, index: Number(span.dataset.index) };
  }

  /** @param {HTMLElement | null} span */
  pick(span) {
    if (!span) return;
    const { axis, index } = this.placeOf(span);
    const link = this.state.current?.strongestOf(axis, index);
    if (link) this.actions.selectCell(...link);
  }

  /** @param {KeyboardEvent} event */
  key(event) {
    const span = around(event, "[data-index]");
    if (event.key === "Enter" || event.key === " ") this.pick(span);
    else if (event.key === "Escape") this.actions.back();
    else if (!span || !stepAlong(event, span, this[/** @type {Axis} */ (span.dataset.axis)])) return;
    event.preventDefault();
  }
}
