// The heads of a layer as chips: which of them the arcs show, and in which colour.

import { make } from "../drawing/elements.js";
import { headTitle } from "./head_names.js";
import { View } from "./view.js";

/** @import { Parts } from "./view.js" */

export class HeadChips extends View {
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
