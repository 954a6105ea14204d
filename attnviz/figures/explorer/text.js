// The text itself: every token shaded by what one token gives it, or gets from it.

import { clamp, make, word } from "./paint.js";
import { headName } from "./store.js";

export class TextView {
  // `strip`: a line under the matrix, of the keys alone, shaded by the row that is pointed at there.
  constructor(explorer, { strip = false } = {}) {
    Object.assign(this, { explorer, strip, pointed: null, overview: null });
    this.caption = make("p", { class: "caption" });
    this.lead = make("p", { class: "lead" });
    this.lines = make("div", { class: "lines" });
    this.choice = make("div", { class: "row choice", role: "group", "aria-label": "Which attention" });
    for (const [gives, text] of [[true, "gives"], [false, "receives"]]) {
      this.choice.append(make("button", { type: "button", onclick: () => this.turn(gives) }, text));
    }
    const head = strip ? [] : [make("div", { class: "row" }, this.caption, this.choice)];
    this.element = make("div", { class: strip ? "strip" : "pane text" }, ...head, ...(strip ? [this.lead] : []), this.lines);
    this.lines.addEventListener("pointerover", (event) => this.point(event.target.closest("[data-index]")));
    this.lines.addEventListener("pointerleave", () => this.point(null));
    this.lines.addEventListener("focusin", (event) => this.point(event.target.closest("[data-index]")));
    this.lines.addEventListener("focusout", () => this.point(null));
    this.lines.addEventListener("click", (event) => this.pick(event.target.closest("[data-index]")));
    this.lines.addEventListener("keydown", (event) => this.key(event));
  }

  // Made when it is first seen, for a long text has thousands of tokens. One line where queries and keys are the same tokens, else one of each.
  build() {
    const { overview } = this.explorer;
    Object.assign(this, { overview, pointed: null });
    this.single = overview.queries.length === overview.keys.length && overview.own.every((column, row) => column === row);
    this.queries = this.single || this.strip ? [] : this.line("queries");
    this.keys = this.line("keys");
    const parts = [];
    if (this.queries.length) parts.push(make("p", { class: "axis" }, "Who looks"), this.paragraph("queries"));
    if (this.queries.length) parts.push(make("p", { class: "axis" }, "At whom"));
    this.lines.replaceChildren(...parts, this.paragraph("keys"));
    this.choice.hidden = !this.single;
    this.shaded = null;
  }

  line(axis) {
    return this.explorer.overview[axis].map(([text, special], index) => {
      const kind = special ? "token special" : "token";
      return make("span", { class: kind, role: "button", tabindex: "-1", dir: "auto", "data-axis": axis, "data-index": index }, text);
    });
  }

  paragraph(axis) {
    const [queries, keys] = this.explorer.overview.direction;
    const name = axis === "queries" ? "Tokens that look" : "Tokens";
    this[axis][0].tabIndex = 0;
    return make("div", { class: "tokens", role: "group", "aria-label": name, dir: axis === "queries" ? queries : keys }, ...this[axis]);
  }

  turn(gives) {
    this.explorer.look({ gives });
  }

  // The token whose attention is shown: what is pointed at, else the selected query.
  shown() {
    const { state } = this.explorer;
    if (this.strip) return { axis: "queries", index: this.explorer.pointedCell?.query ?? state.query };
    if (this.pointed) return this.pointed;
    return this.single && !state.gives ? { axis: "keys", index: state.query } : { axis: "queries", index: state.query };
  }

  draw() {
    const head = this.explorer.current();
    if (!head || !this.element.isConnected || this.element.hidden || this.explorer.state.query === null) return;
    if (!this.overview) this.build();
    const { palette, state, overview } = this.explorer;
    const { axis, index } = this.shown();
    const mark = `${headName(head.layer, head.head)} ${axis} ${index} ${palette.name} ${state.fullScale} ${state.query} ${state.gives}`;
    if (mark === this.shaded) return;
    this.shaded = mark;
    const end = state.fullScale ? 1 : Math.max(head.highest / head.one, 1e-9);
    const byRow = axis === "queries";
    const targets = byRow || this.single ? this.keys : this.queries;
    const others = byRow ? this.queries : this.single ? [] : this.keys;
    targets.forEach((span, other) => {
      const [query, key] = byRow ? [index, other] : [other, index];
      const masked = head.masked(query, key);
      const colour = masked ? palette.masked : palette.colour(head.weight(query, key) / end);
      span.style.background = colour;
      span.style.color = palette.ink(colour);
      span.classList.toggle("masked", masked);
      span.title = head.tell(query, key);
      const own = byRow ? overview.own[index] === other : this.single && index === other;
      span.classList.toggle("query", own);
    });
    others.forEach((span, other) => {
      span.style.background = span.style.color = "";
      span.title = "";
      span.classList.toggle("query", other === index);
    });
    this.tell(axis, index);
    if (this.strip || !this.pointed) this.reveal(this.placeIn(axis, index));
  }

  // Where the token that is looked from stands in the line of keys; null where it is none of them.
  placeIn(axis, index) {
    return axis === "queries" ? this.explorer.overview.own[index] : index;
  }

  // Scrolls a long text, and nothing around it, so that a token can be seen.
  reveal(index) {
    const token = index === null ? this.queries[this.explorer.state.query] : this.keys[index];
    if (!token) return;
    const scroller = this.strip ? this.element : this.lines;
    const [inner, outer] = [token.getBoundingClientRect(), scroller.getBoundingClientRect()];
    if (inner.top < outer.top || inner.bottom > outer.bottom) {
      scroller.scrollTop += inner.top + inner.height / 2 - outer.top - outer.height / 2;
    }
  }

  tell(axis, index) {
    // In the strip the one who looks stands among the others, outlined; between two texts it has to be named.
    const { overview } = this.explorer;
    this.lead.hidden = overview.own[index] !== null;
    this.lead.replaceChildren(make("strong", {}, word(overview[axis][index][0])), " looks at");
    const token = make("strong", {}, word(overview[axis][index][0]));
    this.caption.replaceChildren(token, axis === "queries" ? " gives its attention to …" : " receives attention from …");
    const [gives, receives] = this.choice.children;
    gives.setAttribute("aria-pressed", this.explorer.state.gives);
    receives.setAttribute("aria-pressed", !this.explorer.state.gives);
  }

  point(span) {
    if (this.strip) return;
    this.pointed = span ? this.placeOf(span) : null;
    this.draw();
    const head = this.explorer.current();
    if (!span || !head) return;
    const { axis, index } = this.pointed;
    const link = head.strongestOf(axis, index);
    if (link) this.explorer.live.sayCell(this.explorer.overview, head, ...link);
  }

  placeOf(span) {
    const axis = this.single && this.explorer.state.gives ? "queries" : span.dataset.axis;
    return { axis, index: Number(span.dataset.index) };
  }

  pick(span) {
    const head = this.explorer.current();
    if (!span || !head) return;
    let { axis, index } = this.placeOf(span);
    if (this.strip) {
      index = this.explorer.overview.own.indexOf(index);
      axis = "queries";
      if (index < 0) return;
    }
    const link = head.strongestOf(axis, index);
    if (link) this.explorer.selectCell(...link);
  }

  key(event) {
    const span = event.target.closest("[data-index]");
    const step = { ArrowLeft: -1, ArrowRight: 1, ArrowUp: -1, ArrowDown: 1, Home: -Infinity, End: Infinity }[event.key];
    if (event.key === "Enter" || event.key === " ") this.pick(span);
    else if (event.key === "Escape") this.explorer.back();
    else if (step) {
      const { axis, index } = span.dataset;
      const mirrored = span.parentElement.dir === "rtl" && event.key.match(/Left|Right/) ? -1 : 1;
      const line = this[axis];
      const next = line[clamp(Number(index) + mirrored * step, 0, line.length - 1)];
      span.tabIndex = -1;
      next.tabIndex = 0;
      next.focus();
    } else return;
    event.preventDefault();
  }
}
