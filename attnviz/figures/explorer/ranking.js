// All heads of the model as one list, sorted by a measure: a small picture, the head's name, and a bar as long as its measure.
// Only what can be seen is drawn: the canvas is as high as its frame, however many heads there are.

import { clamp, fit, fontOf, onScroll } from "../drawing/canvas.js";
import { make, listen } from "../drawing/elements.js";
import { headTitle } from "./head_store.js";
import { View } from "./explorer_part.js";
import { ORDERS } from "./view_options.js";

/**
 * @import { Thumbnails } from "./head_grid.js"
 * @import { Parts } from "./explorer_part.js"
 * @import { HeadNote, Order } from "./view_options.js"
 * @typedef {[layer: number, head: number, note: HeadNote]} RankedHead
 */

const ROW = 44;
const PICTURE = 38;
const RANK = 40;
const NAME = RANK + PICTURE + 12;
const BAR = NAME + 74;
const BAR_HEIGHT = 12;
const MEASURE = 92;

export class RankingView extends View {
  /** @type {number | null} */
  pointed = null;
  /** @type {RankedHead[]} */
  ranked = [];
  order = "";
  revealed = "";
  size = { width: 0, height: 0 };
  /** @type {CanvasRenderingContext2D | null} */
  context = null;

  /** @param {Parts} parts @param {Thumbnails} thumbnails @param {() => number} roomForHeads */
  constructor(parts, thumbnails, roomForHeads) {
    super(parts);
    this.thumbnails = thumbnails;
    this.roomForHeads = roomForHeads;
    this.caption = make("p", { class: "caption" });
    this.canvas = make("canvas", { class: "ranking", tabindex: "0", role: "application" });
    this.sizer = make("div", { class: "sizer" }, make("div", { class: "stack" }, this.canvas));
    this.frame = make("div", { class: "frame" }, this.sizer);
    this.element = make("div", { class: "pane grid" }, this.caption, this.frame);
    listen(this.canvas, {
      point: (event) => this.point(event && this.placeAt(event)),
      click: (event) => this.open(this.placeAt(event)),
      key: (event) => this.key(event),
    });
    onScroll(this.frame, () => this.paint());
  }

  // Every head of the model in the order that was chosen.
  rank() {
    const { overview, order } = this.state;
    if (this.order === order) return;
    const { value } = ORDERS[order];
    const { heads } = overview;
    this.ranked = overview.notes.map((note, index) => [Math.floor(index / heads), index % heads, note]);
    this.ranked.sort(([, , one], [, , other]) => value(one) - value(other));
    this.order = order;
    this.revealed = "";
  }

  draw() {
    if (!this.thumbnails.levels || !this.element.clientWidth) return;
    this.rank();
    const { caption } = ORDERS[this.state.order];
    const count = this.ranked.length;
    this.caption.textContent = `All ${count} heads of the model, ${caption}`;
    this.canvas.setAttribute("aria-label", `${count} heads, ${caption}. Arrow keys move, Enter opens one.`);
    this.size = { width: this.room, height: Math.min(count * ROW, this.roomForHeads()) };
    this.frame.style.height = `${this.size.height}px`;
    this.sizer.style.height = `${count * ROW}px`;
    this.context = fit(this.canvas, this.size.width, this.size.height);
    this.reveal();
    this.paint();
  }

  // Once for each head that is opened: scrolling away from it is allowed.
  reveal() {
    if (this.state.headName === this.revealed) return;
    this.revealed = this.state.headName;
    const at = this.chosen();
    if (at >= 0) this.bringIntoView(at);
  }

  chosen() {
    return this.ranked.findIndex(([layer, head]) => layer === this.state.layer && head === this.state.head);
  }

  /** @param {number} at */
  bringIntoView(at) {
    this.frame.scrollTop = clamp(this.frame.scrollTop, (at + 1) * ROW - this.size.height, at * ROW);
  }

  paint() {
    const { context, frame, size, ranked } = this;
    if (!context || !ranked.length) return;
    context.clearRect(0, 0, size.width, size.height);
    const first = Math.max(0, Math.floor(frame.scrollTop / ROW));
    const last = Math.min(ranked.length, Math.ceil((frame.scrollTop + size.height) / ROW));
    for (let at = first; at < last; at++) this.paintRow(context, at, at * ROW - frame.scrollTop);
  }

  /** @param {CanvasRenderingContext2D} context @param {number} at @param {number} top */
  paintRow(context, at, top) {
    const { size, state, surface: { colours } } = this;
    const [layer, head, note] = this.ranked[at];
    /** @type {Order} */
    const { most, tell, length } = ORDERS[state.order];
    const isChosen = state.isChosen(layer, head);
    const middle = top + ROW / 2;
    /** @param {string} text @param {number} x @param {CanvasTextAlign} side @param {string} colour */
    const write = (text, x, side, colour, style = "") => {
      context.font = fontOf(this.canvas, style);
      context.textAlign = side;
      context.fillStyle = colour;
      context.fillText(text, x, middle);
    };
    if (isChosen || at === this.pointed) {
      context.fillStyle = colours.panel;
      context.fillRect(0, top, size.width, ROW - 2);
    }
    write(`${at + 1}.`, RANK - 10, "right", colours.faint);
    const pictures = this.thumbnails.pictures({ cell: PICTURE, height: PICTURE }, this.canvas);
    context.drawImage(pictures[layer * state.overview.heads + head], RANK, top + (ROW - 2 - PICTURE) / 2, PICTURE, PICTURE);
    write(headTitle(layer, head), NAME, "left", isChosen ? colours.accent : colours.text, isChosen ? "bold" : "");
    const room = Math.max(0, size.width - BAR - MEASURE);
    const longest = most ?? Math.max(...this.ranked.map(([, , each]) => length(each)), 1e-9);
    context.fillStyle = colours.border;
    context.fillRect(BAR, middle - BAR_HEIGHT / 2, room, BAR_HEIGHT);
    context.fillStyle = colours.accent;
    context.fillRect(BAR, middle - BAR_HEIGHT / 2, (room * length(note)) / longest, BAR_HEIGHT);
    write(tell(note), size.width - 8, "right", colours.text);
  }

  /** @param {MouseEvent} event */
  placeAt(event) {
    const at = Math.floor((event.offsetY + this.frame.scrollTop) / ROW);
    return at < this.ranked.length ? at : null;
  }

  /** @param {number | null} at */
  point(at) {
    if (at === this.pointed) return;
    this.pointed = at;
    this.paint();
    if (at === null) return this.surface.note.hide();
    const [layer, head] = this.ranked[at];
    this.thumbnails.note(this.canvas, layer, head, NAME, (at + 1) * ROW - this.frame.scrollTop - 8);
  }

  /** @param {number | null} at @param {{ keyboard?: boolean }} [options] */
  open(at, options) {
    if (at === null) return;
    const [layer, head] = this.ranked[at];
    this.actions.openHead(layer, head, options);
  }

  /** @param {KeyboardEvent} event */
  key(event) {
    const last = this.ranked.length - 1;
    const at = this.pointed ?? Math.max(this.chosen(), 0);
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
