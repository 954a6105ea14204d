// All heads of the model as one list, sorted by a measure: a small picture, the head's name, and a bar as long as its measure.
// Only what can be seen is drawn: the canvas is as high as its frame, however many heads there are.

import { columnHeight } from "./heights.js";
import { clamp, fit, fontOf, make } from "./paint.js";
import { headTitle } from "./store.js";

const ROW = 44;
const PICTURE = 38;
const RANK = 40;
const NAME = RANK + PICTURE + 12;
const BAR = NAME + 74;
const BAR_HEIGHT = 12;
const MEASURE = 92;

export class RankingView {
  constructor(explorer) {
    Object.assign(this, { explorer, pointed: null, ranked: null, revealed: null });
    this.caption = make("p", { class: "caption" });
    this.canvas = make("canvas", { class: "ranking", tabindex: "0", role: "application" });
    this.view = make("div", { class: "stack" }, this.canvas);
    this.sizer = make("div", { class: "sizer" }, this.view);
    this.frame = make("div", { class: "frame" }, this.sizer);
    this.element = make("div", { class: "pane grid" }, this.caption, this.frame);
    const { canvas } = this;
    canvas.addEventListener("pointermove", (event) => this.point(this.placeAt(event)));
    canvas.addEventListener("pointerleave", () => this.point(null));
    canvas.addEventListener("blur", () => this.point(null));
    canvas.addEventListener("click", (event) => this.open(this.placeAt(event)));
    canvas.addEventListener("keydown", (event) => this.key(event));
    this.frame.addEventListener("scroll", () => {
      cancelAnimationFrame(this.scrolling);
      this.scrolling = requestAnimationFrame(() => this.paint());
    });
  }

  // Every head of the model, [layer, head, note], in the order that was chosen.
  rank() {
    const { overview, order } = this.explorer;
    if (this.ranked?.order === order) return this.ranked.heads;
    const { value } = ORDERS[order];
    const heads = overview.notes.map((note, index) => [Math.floor(index / overview.heads), index % overview.heads, note]);
    heads.sort(([, , one], [, , other]) => value(one) - value(other));
    this.ranked = { order, heads };
    this.revealed = null;
    return heads;
  }

  draw() {
    const { explorer } = this;
    if (!explorer.grid.thumbs || !this.element.clientWidth) return;
    const heads = this.rank();
    const { caption } = ORDERS[explorer.order];
    this.caption.textContent = `All ${heads.length} heads of the model, ${caption}`;
    this.canvas.setAttribute("aria-label", `${heads.length} heads, ${caption}. Arrow keys move, Enter opens one.`);
    const height = Math.min(heads.length * ROW, columnHeight(explorer));
    this.size = { width: this.element.clientWidth - 6, height };
    this.frame.style.height = `${height}px`;
    this.sizer.style.height = `${heads.length * ROW}px`;
    this.context = fit(this.canvas, this.size.width, height);
    this.reveal();
    this.paint();
  }

  // Once for each head that is opened: scrolling away from it is allowed.
  reveal() {
    const { layer, head } = this.explorer.state;
    const name = `${layer} ${head}`;
    if (name === this.revealed) return;
    this.revealed = name;
    const at = this.ranked.heads.findIndex((each) => each[0] === layer && each[1] === head);
    if (at >= 0) this.bringIntoView(at);
  }

  bringIntoView(at) {
    this.frame.scrollTop = clamp(this.frame.scrollTop, (at + 1) * ROW - this.size.height, at * ROW);
  }

  paint() {
    if (!this.context || !this.ranked) return;
    const { context, frame, size } = this;
    context.clearRect(0, 0, size.width, size.height);
    const first = Math.max(0, Math.floor(frame.scrollTop / ROW));
    const last = Math.min(this.ranked.heads.length, Math.ceil((frame.scrollTop + size.height) / ROW));
    for (let at = first; at < last; at++) this.paintRow(at, at * ROW - frame.scrollTop);
  }

  paintRow(at, top) {
    const { context, size, explorer } = this;
    const { palette, state, grid, overview } = explorer;
    const [layer, head, note] = this.ranked.heads[at];
    const { most, tell, length } = ORDERS[explorer.order];
    const isChosen = layer === state.layer && (state.head === null || state.head === head);
    const middle = top + ROW / 2;
    if (isChosen || at === this.pointed) {
      context.fillStyle = palette.panel;
      context.fillRect(0, top, size.width, ROW - 2);
    }
    context.font = fontOf(this.canvas);
    context.textAlign = "right";
    context.fillStyle = palette.faint;
    context.fillText(`${at + 1}.`, RANK - 10, middle);
    const picture = grid.chosen({ cell: PICTURE, height: PICTURE })[layer * overview.heads + head];
    context.drawImage(picture, RANK, top + (ROW - 2 - PICTURE) / 2, PICTURE, PICTURE);
    context.textAlign = "left";
    context.font = fontOf(this.canvas, isChosen ? "bold" : "");
    context.fillStyle = isChosen ? palette.accent : palette.text;
    context.fillText(headTitle(layer, head), NAME, middle);
    const room = Math.max(0, size.width - BAR - MEASURE);
    const longest = most ?? Math.max(...this.ranked.heads.map(([, , each]) => length(each)), 1e-9);
    context.fillStyle = palette.border;
    context.fillRect(BAR, middle - BAR_HEIGHT / 2, room, BAR_HEIGHT);
    context.fillStyle = palette.accent;
    context.fillRect(BAR, middle - BAR_HEIGHT / 2, (room * length(note)) / longest, BAR_HEIGHT);
    context.textAlign = "right";
    context.font = fontOf(this.canvas);
    context.fillStyle = palette.text;
    context.fillText(tell(note), size.width - 8, middle);
  }

  placeAt(event) {
    const at = Math.floor((event.offsetY + this.frame.scrollTop) / ROW);
    return this.ranked && at < this.ranked.heads.length ? at : null;
  }

  point(at) {
    if (at === this.pointed) return;
    this.pointed = at;
    this.paint();
    const { grid, note } = this.explorer;
    if (at === null) return note.hide();
    const [layer, head] = this.ranked.heads[at];
    grid.note(this.canvas, layer, head, NAME, (at + 1) * ROW - this.frame.scrollTop - 8);
  }

  open(at, options) {
    if (at !== null) this.explorer.openHead(...this.ranked.heads[at].slice(0, 2), options);
  }

  key(event) {
    const { state } = this.explorer;
    const last = this.ranked.heads.length - 1;
    const chosen = this.ranked.heads.findIndex(([layer, head]) => layer === state.layer && head === state.head);
    const at = this.pointed ?? Math.max(chosen, 0);
    const to = { ArrowUp: at - 1, ArrowDown: at + 1, Home: 0, End: last }[event.key];
    if (event.key === "Enter") this.open(at, { keyboard: true });
    else if (event.key === "Escape") this.point(null);
    else if (to !== undefined) {
      const place = clamp(to, 0, last);
      this.bringIntoView(place);
      this.paint();
      this.point(place);
    } else return;
    event.preventDefault();
  }
}

// The measures that heads are sorted by. value: what is first is least; length: of the bar, of which `most` is the longest, else
// the largest of all heads.
export const ORDERS = {
  model: { label: "as in the model" },
  entropy: {
    label: "sharpest first",
    caption: "those with the lowest entropy first",
    value: (note) => note.entropy,
    length: (note) => note.entropy,
    tell: (note) => `${note.entropy.toFixed(2)} bits`,
  },
  diagonal: {
    label: "to neighbours first",
    caption: "those that look most at neighbouring tokens first",
    most: 1,
    value: (note) => -note.diagonal,
    length: (note) => note.diagonal,
    tell: (note) => `${Math.round(100 * note.diagonal)} %`,
  },
  distance: {
    label: "furthest first",
    caption: "those that look furthest first",
    value: (note) => -note.distance,
    length: (note) => note.distance,
    tell: (note) => `${note.distance.toFixed(1)} tokens`,
  },
};
