// Arcs from queries, on the left, to keys, on the right; an arc's opacity and width are the weight. Several heads lie over each other,
// each in a colour of its own. Only what can be seen is drawn: the canvas is as high as its frame, whatever the text's length.

import { clamp, fit, fontOf, onScroll } from "../drawing/canvas.js";
import { cut, make, layered, listen } from "../drawing/elements.js";
import { counted, grouped, percent } from "../drawing/numbers.js";
import { headTitle, MASKED } from "./head_store.js";
import { View } from "./explorer_part.js";
import { MOST_LINKS } from "./view_options.js";

/**
 * @import { Axis, Head, Token } from "./head_store.js"
 * @import { Parts } from "./explorer_part.js"
 */

// The heads of a layer as chips: which of them the arcs show, and in which colour.

class HeadChips extends View {
  /** @type {number | null} */
  layer = null;
  /** @type {[head: number | null, button: HTMLButtonElement][]} */
  buttons = [];

  /** @param {Parts} parts */
  constructor(parts) {
    super(parts);
    this.chips = make("div", { class: "chips", role: "group", "aria-label": "Heads that are drawn" });
    this.element = make("div", { class: "row start" }, this.chips);
  }

  draw() {
    const { overview, layer, colouredHeads } = this.state;
    const { palette } = this.surface;
    const heads = [...Array(overview.heads).keys(), ...(overview.heads > 1 ? [null] : [])];
    if (this.layer !== layer) {
      this.layer = layer;
      this.buttons = heads.map((head) => [head, this.chip(head)]);
      this.chips.replaceChildren(...this.buttons.map(([, button]) => button));
    }
    this.element.hidden = heads.length < 2;
    for (const [head, button] of this.buttons) {
      const isOn = colouredHeads.has(head);
      const colour = isOn ? this.colour(head) : "";
      button.setAttribute("aria-pressed", String(isOn));
      button.style.background = button.style.borderColor = colour;
      button.style.color = isOn ? palette.ink(colour) : "";
    }
  }

  /** @param {number | null} head */
  chip(head) {
    const name = headTitle(this.state.layer, head);
    const attributes = { type: "button", title: `${name}: click to add or remove, double-click to see it alone`, "aria-label": name };
    const alone = () => this.actions.lookAtHeads(new Map([[head, 0]]));
    return make("button", { ...attributes, onclick: () => this.toggle(head), ondblclick: alone }, head === null ? "Mean" : String(head));
  }

  /** @param {number | null} head */
  toggle(head) {
    const on = new Map(this.state.colouredHeads);
    if (on.has(head) && on.size > 1) on.delete(head);
    else if (!on.has(head)) on.set(head, this.freeColour(on));
    this.actions.lookAtHeads(on);
  }

  /** A head keeps its colour while it is on; with more heads than colours they go round. @param {Map<number | null, number>} on */
  freeColour(on) {
    const used = new Set(on.values());
    const count = this.surface.colours.heads.length;
    for (let colour = 0; colour < count; colour++) if (!used.has(colour)) return colour;
    return on.size % count;
  }

  /** @param {number | null} head */
  colour(head) {
    const { colouredHeads } = this.state;
    const { accent, heads } = this.surface.colours;
    return colouredHeads.size === 1 ? accent : heads[(colouredHeads.get(head) ?? 0) % heads.length];
  }
}

/**
 * @typedef {{ axis: Axis, index: number }} AxisPlace
 * @typedef {(axis: Axis, index: number) => { colour: string, bold: boolean, weight?: string } | null} LabelLook
 */

const ARC_ROW = 24;
const ARC_LEVELS = 12;
const ARC_LABEL_SHARE = 0.3;
// The room for weights that stand beside the tokens on the right.
const NUMBERS = 56;
const MOST_COLUMNS = 720;

export class ArcsView extends View {
  /** @type {AxisPlace | null} */
  pointed = null;
  /** @type {Arc[]} */
  arcs = [];
  mark = "";
  size = { width: 0, height: 0, left: 0, right: 0 };
  /** @type {CanvasRenderingContext2D | null} */
  context = null;
  /** @type {CanvasRenderingContext2D | null} */
  over = null;

  /** @param {Parts} parts */
  constructor(parts) {
    super(parts);
    this.heads = new HeadChips(parts);
    const { canvas, overlay, stack } = layered("arcs");
    this.canvas = canvas;
    this.overlay = overlay;
    this.stack = stack;
    this.sizer = make("div", { class: "sizer" }, stack);
    this.frame = make("div", { class: "frame" }, this.sizer);
    this.slider = make("input", { type: "range", min: "0", max: MOST_LINKS, step: "0.01" });
    this.slider.addEventListener("input", () => {
      this.state.options.links = Number(this.slider.value);
      this.gather();
      this.actions.tellLater();
    });
    // No <output>: the label would be its, and not the slider's.
    this.from = make("b");
    this.left = make("p", { class: "caption" });
    const row = make("div", { class: "row" }, make("label", { class: "threshold" }, "Show links ≥", this.from, this.slider), this.left);
    this.element = make("div", { class: "pane arcs" }, this.heads.element, row, this.frame);
    const { queries, keys } = this.state.overview;
    const label = `${counted(queries.length, "query", "queries")}, left; ${counted(keys.length, "key")}, right. Arrow keys move, Enter selects.`;
    this.canvas.setAttribute("aria-label", label);
    listen(this.canvas, {
      point: (event) => this.point(event && this.tokenAt(event)),
      click: (event) => this.pick(this.tokenAt(event)),
      key: (event) => this.key(event),
    });
    onScroll(this.frame, () => this.paint());
  }

  // Called whenever something may have changed; the arcs are gathered anew only where it has.
  draw() {
    if (!this.element.clientWidth || this.state.query === null) return;
    this.heads.draw();
    this.measure();
    this.gather();
  }

  gather() {
    const { state } = this;
    const { layer, colouredHeads, fullScale, store, options: { links } } = state;
    this.slider.value = String(links);
    const mark = `${layer} ${[...colouredHeads.keys()]} ${links} ${fullScale}`;
    if (mark === this.mark || !store) return this.paint();
    this.mark = mark;
    this.later(Promise.all(Array.from(colouredHeads.keys(), (head) => store.head(layer, head))), (heads) => {
      if (mark !== this.mark) return;
      const { arcs, least, isCapped, leftOut } = gatherArcs(heads, links, fullScale);
      this.arcs = arcs;
      const most = isCapped ? `The strongest ${grouped(MOST_ARCS)} are drawn. ` : "";
      this.left.textContent = `${most}Left out: ${percent(leftOut)} of the attention`;
      this.from.textContent = ` ${least.toPrecision(least < 0.1 ? 1 : 2)}`;
      this.paint();
    });
  }

  measure() {
    const { surface, canvas } = this;
    const { queries, keys } = this.state.overview;
    const width = this.room;
    const whole = Math.max(queries.length, keys.length) * ARC_ROW;
    const height = Math.min(whole, surface.presentedHeight || clamp(window.innerHeight * 0.72, 380, 820));
    const columns = Math.min(width, MOST_COLUMNS);
    const start = (width - columns) / 2;
    /** @param {Token[]} tokens */
    const labels = (tokens) => Math.min(surface.widest(canvas, tokens) + 12, columns * ARC_LABEL_SHARE);
    this.size = { width, height, left: start + labels(queries) + 40, right: start + columns - labels(keys) - NUMBERS };
    this.frame.style.height = `${height}px`;
    this.sizer.style.height = `${whole}px`;
    this.context = fit(canvas, width, height);
    this.over = fit(this.overlay, width, height);
  }

  /** @param {number} index */
  y(index) {
    return (index + 0.5) * ARC_ROW - this.frame.scrollTop;
  }

  paint() {
    const { context, size, surface } = this;
    if (!context) return;
    context.clearRect(0, 0, size.width, size.height);
    this.paintArcs(context, this.arcs);
    this.paintLabels(context, () => ({ colour: surface.colours.text, bold: false }));
    this.paintPointed();
  }

  /** Arcs of nearly the same weight are one path: thousands of them are a few strokes.
   * @param {CanvasRenderingContext2D} context @param {Arc[]} arcs */
  paintArcs(context, arcs) {
    const { left, right, height } = this.size;
    const middle = (left + right) / 2;
    /** @type {Map<string, { head: number | "mean", level: number, path: Path2D }>} */
    const paths = new Map();
    for (const [head, query, key, share] of arcs) {
      const [from, to] = [this.y(query), this.y(key)];
      if (Math.max(from, to) < 0 || Math.min(from, to) > height) continue;
      const level = Math.ceil(share * ARC_LEVELS);
      const name = `${head} ${level}`;
      const stroke = paths.get(name) ?? { head, level, path: new Path2D() };
      paths.set(name, stroke);
      stroke.path.moveTo(left, from);
      stroke.path.bezierCurveTo(middle, from, middle, to, right, to);
    }
    const widest = this.state.overview.queries.length > 48 ? 2.5 : 5;
    for (const { head, level, path } of [...paths.values()].sort((one, other) => one.level - other.level)) {
      context.globalAlpha = 0.08 + (0.87 * level) / ARC_LEVELS;
      context.lineWidth = 0.75 + (widest * level) / ARC_LEVELS;
      context.strokeStyle = this.heads.colour(head === "mean" ? null : head);
      context.stroke(path);
    }
    context.globalAlpha = 1;
  }

  /** @param {CanvasRenderingContext2D} context @param {LabelLook} look */
  paintLabels(context, look) {
    this.column(context, "queries", look);
    this.column(context, "keys", look);
  }

  /** @param {CanvasRenderingContext2D} context @param {Axis} axis @param {LabelLook} look */
  column(context, axis, look) {
    const { left, right, height, width } = this.size;
    const tokens = this.state.overview[axis];
    const first = Math.max(0, Math.floor(this.frame.scrollTop / ARC_ROW));
    const last = Math.min(tokens.length, Math.ceil((this.frame.scrollTop + height) / ARC_ROW));
    const isQuery = axis === "queries";
    const [x, outwards] = isQuery ? [left - 8, -1] : [right + 8, 1];
    context.textAlign = isQuery ? "right" : "left";
    context.save();
    context.beginPath();
    if (isQuery) context.rect(0, 0, left, height);
    else context.rect(right, 0, width - right, height);
    context.clip();
    for (let index = first; index < last; index++) {
      const style = look(axis, index);
      if (!style) continue;
      const label = cut(tokens[index][0]);
      context.font = fontOf(this.canvas, style.bold ? "bold" : "");
      context.fillStyle = style.colour;
      context.fillText(label, x, this.y(index));
      if (!style.weight) continue;
      const beside = context.measureText(label).width + 10;
      context.font = fontOf(this.canvas);
      context.fillStyle = this.surface.colours.faint;
      context.fillText(style.weight, x + outwards * beside, this.y(index));
    }
    context.restore();
  }

  // The token that is pointed at: its own arcs over the others, which fade, and their weights beside the tokens they lead to.
  paintPointed() {
    const { over, size, pointed, surface } = this;
    this.stack.classList.toggle("pointed", Boolean(pointed));
    if (!over) return;
    over.clearRect(0, 0, size.width, size.height);
    if (!pointed) return;
    const [at, other] = pointed.axis === "queries" ? /** @type {const} */ ([1, 2]) : /** @type {const} */ ([2, 1]);
    const own = this.arcs.filter((arc) => arc[at] === pointed.index);
    /** @type {Map<number, number>} */
    const weights = new Map();
    for (const arc of own) weights.set(arc[other], Math.max(arc[4], weights.get(arc[other]) ?? 0));
    const { accent, text } = surface.colours;
    this.paintArcs(over, own);
    this.paintLabels(over, (axis, index) => {
      if (axis === pointed.axis) return index === pointed.index ? { colour: accent, bold: true } : null;
      const weight = weights.get(index);
      return weight === undefined ? null : { colour: text, bold: true, weight: weight.toFixed(2) };
    });
  }

  /** @param {MouseEvent} event @returns {AxisPlace | null} */
  tokenAt(event) {
    const axis = event.offsetX < (this.size.left + this.size.right) / 2 ? "queries" : "keys";
    const index = Math.floor((event.offsetY + this.frame.scrollTop) / ARC_ROW);
    return this.context && index < this.state.overview[axis].length ? { axis, index } : null;
  }

  /** @param {AxisPlace | null} token */
  point(token) {
    if (token?.axis === this.pointed?.axis && token?.index === this.pointed?.index) return;
    this.pointed = token;
    this.paintPointed();
    const head = this.state.current;
    const link = token && head?.strongestOf(token.axis, token.index);
    if (head && link) this.sayCell(head, ...link);
  }

  /** @param {AxisPlace | null} token */
  pick(token) {
    const link = token && this.state.current?.strongestOf(token.axis, token.index);
    if (link) this.actions.selectCell(...link);
  }

  /** @param {KeyboardEvent} event */
  key(event) {
    const { overview, query } = this.state;
    const at = this.pointed ?? { axis: "queries", index: query ?? 0 };
    /** @type {Record<string, [Axis, number]>} */
    const moves = { ArrowUp: [at.axis, -1], ArrowDown: [at.axis, 1], ArrowLeft: ["queries", 0], ArrowRight: ["keys", 0] };
    if (event.key === "Enter") this.pick(at);
    else if (event.key === "Escape") this.pointed ? this.point(null) : this.actions.back();
    else if (event.key in moves) {
      const [axis, step] = moves[event.key];
      const index = clamp(at.index + step * (event.shiftKey ? 10 : 1), 0, overview[axis].length - 1);
      const top = index * ARC_ROW;
      this.frame.scrollTop = clamp(this.frame.scrollTop, top + ARC_ROW - this.size.height, top);
      this.point({ axis, index });
    } else return;
    event.preventDefault();
  }
}

// Which links of some heads are drawn as arcs, and how much of their attention is not.

/**
 * @typedef {[head: number | "mean", query: number, key: number, share: number, weight: number]} Arc  share: of the scale
 * @typedef {Pick<Head, "head" | "codes" | "highest" | "one" | "nKeys">} HeadCodes
 */

export const MOST_ARCS = 20_000;

/** The arcs from a threshold on, the weakest first. `leftOut`: the share of the attention that is not drawn; `least`: the
 * threshold as a weight; `isCapped`: there were too many. @param {HeadCodes[]} heads @param {number} threshold @param {boolean} fullScale */
export function gatherArcs(heads, threshold, fullScale, most = MOST_ARCS) {
  /** @type {Arc[]} */
  let arcs = [];
  let [whole, drawn, isCapped] = [0, 0, false];
  const end = fullScale ? 1 : Math.max(...heads.map((head) => head.highest / head.one), 1e-9);
  const least = threshold * end;
  for (const head of heads) {
    const wanted = Math.max(1, Math.ceil(least * head.one - 1e-6));
    const { total, from } = strongestFrom(head, wanted, most);
    whole += total;
    isCapped ||= from > wanted;
    for (let cell = 0; cell < head.codes.length; cell++) {
      const code = head.codes[cell];
      if (code < from || code === MASKED) continue;
      const weight = code / head.one;
      arcs.push([head.head ?? "mean", Math.floor(cell / head.nKeys), cell % head.nKeys, Math.min(weight / end, 1), weight]);
    }
  }
  arcs.sort((one, other) => one[4] - other[4]);
  isCapped ||= arcs.length > most;
  arcs = arcs.slice(-most);
  for (const arc of arcs) drawn += arc[4];
  // Nothing is left out where the sums differ by their rounding, and not all where something is drawn.
  const leftOut = whole > 0 ? Number((1 - drawn / whole).toFixed(6)) : 0;
  return { arcs, least, isCapped, leftOut: arcs.length ? Math.min(leftOut, 0.999) : leftOut };
}

/** The sum of a head's weights, and the code from which on it has no more cells than `most`, if that is above `wanted`.
 * @param {HeadCodes} head @param {number} wanted @param {number} most */
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
