// The heads of a layer as chips: which of them the arcs show, and in which colour.

import { make } from "./paint.js";
import { headTitle } from "./store.js";

export class HeadChips {
  constructor(explorer) {
    Object.assign(this, { explorer, layer: null });
    this.chips = make("div", { class: "chips", role: "group", "aria-label": "Heads that are drawn" });
    this.element = make("div", { class: "row start" }, this.chips);
  }

  draw() {
    const { overview, state } = this.explorer;
    const names = [...Array(overview.heads).keys(), ...(overview.heads > 1 ? [null] : [])];
    if (this.layer !== state.layer) {
      this.layer = state.layer;
      this.chips.replaceChildren(...names.map((head) => this.chip(head)));
    }
    this.element.hidden = names.length < 2;
    this.colourChips();
  }

  chip(head) {
    const name = headTitle(this.explorer.state.layer, head);
    const label = head === null ? "Mean" : String(head);
    const title = `${name}: click to add or take away, double-click to see it alone`;
    const button = make("button", { type: "button", title, "aria-label": name }, label);
    button.head = head;
    button.addEventListener("click", () => this.toggle(head));
    button.addEventListener("dblclick", () => this.explorer.lookAtHeads(new Map([[head, 0]])));
    return button;
  }

  toggle(head) {
    const on = new Map(this.explorer.chips);
    if (on.has(head) && on.size > 1) on.delete(head);
    else if (!on.has(head)) on.set(head, this.freeColour());
    this.explorer.lookAtHeads(on);
  }

  // A head keeps its colour while it is on; with more heads than colours they go round.
  freeColour() {
    const used = new Set(this.explorer.chips.values());
    const count = this.explorer.palette.heads.length;
    for (let colour = 0; colour < count; colour++) if (!used.has(colour)) return colour;
    return this.explorer.chips.size % count;
  }

  colour(head) {
    const { palette, chips } = this.explorer;
    return chips.size === 1 ? palette.accent : palette.heads[(chips.get(head) ?? 0) % palette.heads.length];
  }

  colourChips() {
    for (const button of this.chips.children) {
      const on = this.explorer.chips.has(button.head);
      const colour = on ? this.colour(button.head) : "";
      button.setAttribute("aria-pressed", on);
      button.style.background = button.style.borderColor = colour;
      button.style.color = on ? this.explorer.palette.ink(colour) : "";
    }
  }
}
