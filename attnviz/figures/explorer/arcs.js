// Arcs: who looks, on the left, at whom, on the right; an arc's opacity and width are the weight. Several heads lie over each other,
// each in a colour of its own. Only what can be seen is drawn: the canvas is as high as its frame, whatever the text's length.

import { HeadChips } from "./chips.js";
import { roomHeight } from "./heights.js";
import { MOST_LINKS } from "./look.js";
import { clamp, cut, fit, fontOf, make } from "./paint.js";
import { MASKED } from "./store.js";

const ARC_ROW = 24;
const ARC_MOST = 20_000;
const ARC_LEVELS = 12;
const ARC_LABEL_SHARE = 0.3;

export class ArcsView {
  constructor(explorer) {
    Object.assign(this, { explorer, pointed: null, widths: null, mark: null, arcs: [] });
    this.heads = new HeadChips(explorer);
    this.canvas = make("canvas", { tabindex: "0", role: "application", class: "arcs" });
    this.overlay = make("canvas", { class: "overlay", "aria-hidden": "true" });
    this.view = make("div", { class: "stack" }, this.canvas, this.overlay);
    this.sizer = make("div", { class: "sizer" }, this.view);
    this.frame = make("div", { class: "frame" }, this.sizer);
    this.slider = make("input", { type: "range", min: "0", max: MOST_LINKS, step: "0.01" });
    this.slider.addEventListener("input", () => {
      explorer.state.links = Number(this.slider.value);
      this.gather();
      explorer.tellLater();
    });
    // No <output>: the label would be its, and not the slider's.
    this.from = make("b");
    this.left = make("p", { class: "caption" });
    const row = make("div", { class: "row" }, make("label", { class: "threshold" }, "Show links ≥", this.from, this.slider), this.left);
    this.element = make("div", { class: "pane arcs" }, this.heads.element, row, this.frame);
    const { queries, keys } = explorer.overview;
    const label = `${queries.length} tokens that look, left; ${keys.length} tokens looked at, right. Arrow keys move, Enter selects.`;
    this.canvas.setAttribute("aria-label", label);
    this.listen();
  }

  listen() {
    const { canvas } = this;
    canvas.addEventListener("pointermove", (event) => this.point(this.tokenAt(event)));
    canvas.addEventListener("pointerleave", () => this.point(null));
    canvas.addEventListener("blur", () => this.point(null));
    canvas.addEventListener("click", (event) => this.pick(this.tokenAt(event)));
    canvas.addEventListener("keydown", (event) => this.key(event));
    this.frame.addEventListener("scroll", () => {
      cancelAnimationFrame(this.scrolling);
      this.scrolling = requestAnimationFrame(() => this.paint());
    });
  }

  // Called whenever something may have changed; the arcs are gathered anew only where it has.
  draw() {
    if (!this.element.clientWidth || this.explorer.state.query === null) return;
    this.heads.draw();
    this.measure();
    this.gather();
  }

  gather() {
    const { store, state, chips } = this.explorer;
    const { links: threshold, fullScale } = state;
    this.slider.value = threshold;
    const mark = `${state.layer} ${[...chips.keys()]} ${threshold} ${fullScale}`;
    if (mark === this.mark) return this.paint();
    this.mark = mark;
    this.explorer.when(Promise.all(Array.from(chips.keys(), (head) => store.head(state.layer, head))), (heads) => {
      if (mark !== this.mark) return;
      Object.assign(this, gatherArcs(heads, threshold, fullScale));
      this.tell();
      this.paint();
    });
  }

  tell() {
    const percent = (100 * this.leftOut).toFixed(this.leftOut < 0.1 ? 1 : 0);
    const most = this.capped ? `The strongest ${ARC_MOST.toLocaleString("en")} are drawn. ` : "";
    this.left.textContent = `${most}Left out: ${percent} % of the attention`;
    this.from.textContent = ` ${this.least.toPrecision(this.least < 0.1 ? 1 : 2)}`;
  }

  measure() {
    const { queries, keys } = this.explorer.overview;
    const width = this.element.clientWidth - 6;
    const context = this.canvas.getContext("2d");
    context.font = fontOf(this.canvas, "bold");
    const widest = (tokens) => Math.max(...tokens.map(([text]) => context.measureText(cut(text)).width));
    this.widths ??= { queries: widest(queries), keys: widest(keys) };
    const whole = Math.max(queries.length, keys.length) * ARC_ROW;
    const height = Math.min(whole, roomHeight(this.explorer.root) || clamp(window.innerHeight * 0.72, 380, 820));
    // The room for weights that stand beside the tokens on the right.
    const numbers = 56;
    const columns = Math.min(width, 720);
    const start = (width - columns) / 2;
    const left = start + Math.min(this.widths.queries + 12, columns * ARC_LABEL_SHARE) + 40;
    const right = start + columns - Math.min(this.widths.keys + 12, columns * ARC_LABEL_SHARE) - numbers;
    this.size = { width, height, left, right };
    this.frame.style.height = `${height}px`;
    this.sizer.style.height = `${whole}px`;
    this.context = fit(this.canvas, width, height);
    this.over = fit(this.overlay, width, height);
  }

  y(index) {
    return (index + 0.5) * ARC_ROW - this.frame.scrollTop;
  }

  paint() {
    if (!this.context) return;
    const { context, size } = this;
    context.clearRect(0, 0, size.width, size.height);
    this.paintArcs(context, this.arcs);
    this.paintLabels(context, () => ({ colour: this.explorer.palette.text, bold: false }));
    this.paintPointed();
  }

  // Arcs of nearly the same weight are one path: thousands of them are a few strokes.
  paintArcs(context, arcs) {
    const { left, right, height } = this.size;
    const middle = (left + right) / 2;
    const paths = new Map();
    for (const [head, query, key, share] of arcs) {
      const [from, to] = [this.y(query), this.y(key)];
      if (Math.max(from, to) < 0 || Math.min(from, to) > height) continue;
      const level = Math.ceil(share * ARC_LEVELS);
      const name = `${head} ${level}`;
      if (!paths.has(name)) paths.set(name, { head, level, path: new Path2D() });
      const { path } = paths.get(name);
      path.moveTo(left, from);
      path.bezierCurveTo(middle, from, middle, to, right, to);
    }
    const widest = this.explorer.overview.queries.length > 48 ? 2.5 : 5;
    for (const { head, level, path } of [...paths.values()].sort((one, other) => one.level - other.level)) {
      context.globalAlpha = 0.08 + (0.87 * level) / ARC_LEVELS;
      context.lineWidth = 0.75 + (widest * level) / ARC_LEVELS;
      context.strokeStyle = this.heads.colour(head === "mean" ? null : head);
      context.stroke(path);
    }
    context.globalAlpha = 1;
  }

  paintLabels(context, look) {
    const { queries, keys } = this.explorer.overview;
    this.column(context, "queries", queries, look);
    this.column(context, "keys", keys, look);
  }

  column(context, axis, tokens, look) {
    const { left, right, height, width } = this.size;
    const first = Math.max(0, Math.floor(this.frame.scrollTop / ARC_ROW));
    const last = Math.min(tokens.length, Math.ceil((this.frame.scrollTop + height) / ARC_ROW));
    const query = axis === "queries";
    context.textAlign = query ? "right" : "left";
    context.save();
    context.beginPath();
    if (query) context.rect(0, 0, left, height);
    else context.rect(right, 0, width - right, height);
    context.clip();
    for (let index = first; index < last; index++) {
      const style = look(axis, index);
      if (!style) continue;
      context.font = fontOf(this.canvas, style.bold ? "bold" : "");
      context.fillStyle = style.colour;
      const x = query ? left - 8 : right + 8;
      context.fillText(cut(tokens[index][0]), x, this.y(index));
      if (!style.weight) continue;
      const beside = context.measureText(cut(tokens[index][0])).width + 10;
      context.font = fontOf(this.canvas);
      context.fillStyle = this.explorer.palette.faint;
      context.fillText(style.weight, query ? x - beside : x + beside, this.y(index));
    }
    context.restore();
  }

  // The token that is pointed at: its own arcs over the others, which fade, and their weights beside the tokens they lead to.
  paintPointed() {
    const { over, size, pointed, explorer } = this;
    over.clearRect(0, 0, size.width, size.height);
    this.view.classList.toggle("pointed", Boolean(pointed));
    if (!pointed) return;
    const at = pointed.axis === "queries" ? 1 : 2;
    const own = this.arcs.filter((arc) => arc[at] === pointed.index);
    const weights = new Map();
    for (const arc of own) weights.set(arc[3 - at], Math.max(arc[4], weights.get(arc[3 - at]) ?? 0));
    const { accent, text } = explorer.palette;
    this.paintArcs(over, own);
    this.paintLabels(over, (axis, index) => {
      if (axis === pointed.axis) return index === pointed.index ? { colour: accent, bold: true } : null;
      return weights.has(index) ? { colour: text, bold: true, weight: weights.get(index).toFixed(2) } : null;
    });
  }

  tokenAt(event) {
    if (!this.size) return null;
    const { queries, keys } = this.explorer.overview;
    const axis = event.offsetX < (this.size.left + this.size.right) / 2 ? "queries" : "keys";
    const index = Math.floor((event.offsetY + this.frame.scrollTop) / ARC_ROW);
    return index < (axis === "queries" ? queries : keys).length ? { axis, index } : null;
  }

  point(token) {
    if (token?.axis === this.pointed?.axis && token?.index === this.pointed?.index) return;
    this.pointed = token;
    if (this.over) this.paintPointed();
    const head = this.explorer.current();
    const link = token && head?.strongestOf(token.axis, token.index);
    if (link) this.explorer.live.sayCell(this.explorer.overview, head, ...link);
  }

  pick(token) {
    const link = token && this.explorer.current()?.strongestOf(token.axis, token.index);
    if (link) this.explorer.selectCell(...link);
  }

  key(event) {
    const { overview, state } = this.explorer;
    const at = this.pointed ?? { axis: "queries", index: state.query ?? 0 };
    const moves = { ArrowUp: [at.axis, -1], ArrowDown: [at.axis, 1], ArrowLeft: ["queries", 0], ArrowRight: ["keys", 0] };
    if (event.key === "Enter") this.pick(at);
    else if (event.key === "Escape") this.pointed ? this.point(null) : this.explorer.back();
    else if (moves[event.key]) {
      const [axis, step] = moves[event.key];
      const index = clamp(at.index + step * (event.shiftKey ? 10 : 1), 0, overview[axis].length - 1);
      const top = index * ARC_ROW;
      this.frame.scrollTop = clamp(this.frame.scrollTop, top + ARC_ROW - this.size.height, top);
      this.point({ axis, index });
    } else return;
    event.preventDefault();
  }
}

// The arcs of some heads from a threshold on, the weakest first, as [head, query, key, share of the scale, weight].
// `leftOut`: the share of their attention that is not drawn; `least`: the threshold as a weight; `capped`: there were too many.
function gatherArcs(heads, threshold, fullScale) {
  let arcs = [];
  let [whole, drawn, capped] = [0, 0, false];
  const end = fullScale ? 1 : Math.max(...heads.map((head) => head.highest / head.one), 1e-9);
  const least = threshold * end;
  for (const head of heads) {
    const wanted = Math.max(1, Math.ceil(least * head.one - 1e-6));
    const { total, from } = strongestFrom(head, wanted, ARC_MOST);
    whole += total;
    capped ||= from > wanted;
    for (let cell = 0; cell < head.codes.length; cell++) {
      const code = head.codes[cell];
      if (code < from || code === MASKED) continue;
      const weight = code / head.one;
      arcs.push([head.head ?? "mean", Math.floor(cell / head.nKeys), cell % head.nKeys, Math.min(weight / end, 1), weight]);
    }
  }
  arcs.sort((one, other) => one[4] - other[4]);
  capped ||= arcs.length > ARC_MOST;
  arcs = arcs.slice(-ARC_MOST);
  for (const arc of arcs) drawn += arc[4];
  return { arcs, least, capped, leftOut: whole > 0 ? Math.max(0, 1 - drawn / whole) : 0 };
}

// The sum of a head's weights, and the code from which on it has no more cells than `most`, if that is above `wanted`.
function strongestFrom(head, wanted, most) {
  const counts = new Uint32Array(head.highest + 2);
  for (const code of head.codes) if (code !== MASKED) counts[code]++;
  let [total, cells, from] = [0, 0, head.highest + 1];
  for (let code = head.highest; code > 0; code--) {
    total += (counts[code] * code) / head.one;
    cells += counts[code];
    if (cells <= most && code >= wanted) from = code;
  }
  return { total, from };
}
