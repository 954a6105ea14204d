// The heads of a layer as chips: which of them the arcs show, and in which colour.

class HeadChips {
  constructor(explorer, changed) {
    Object.assign(this, { explorer, changed, on: new Map(), shown: null });
    this.chips = make("div", { class: "chips", role: "group", "aria-label": "Heads that are drawn" });
    this.element = make("div", { class: "row start" }, this.chips);
  }

  open() {
    this.shown = null;
  }

  // The head in view comes alone; others are added to it.
  draw() {
    const { overview, state } = this.explorer;
    const shown = headName(state.layer, state.head);
    if (this.shown !== shown) {
      this.shown = shown;
      this.on = new Map([[state.head, 0]]);
    }
    const names = [...Array(overview.heads).keys(), ...(overview.heads > 1 ? [null] : [])];
    if (this.chips.childElementCount !== names.length || this.layer !== state.layer) {
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
    button.addEventListener("dblclick", () => this.alone(head));
    return button;
  }

  toggle(head) {
    if (this.on.has(head) && this.on.size > 1) this.on.delete(head);
    else if (!this.on.has(head)) this.on.set(head, this.freeColour());
    this.colourChips();
    this.changed();
  }

  alone(head) {
    this.on = new Map([[head, 0]]);
    this.colourChips();
    this.changed();
  }

  // A head keeps its colour while it is on; with more heads than colours they go round.
  freeColour() {
    const used = new Set(this.on.values());
    const count = this.explorer.palette.heads.length;
    for (let colour = 0; colour < count; colour++) if (!used.has(colour)) return colour;
    return this.on.size % count;
  }

  colour(head) {
    const { palette } = this.explorer;
    return this.on.size === 1 ? palette.accent : palette.heads[this.on.get(head) ?? 0];
  }

  colourChips() {
    for (const button of this.chips.children) {
      const on = this.on.has(button.head);
      const colour = on ? this.colour(button.head) : "";
      button.setAttribute("aria-pressed", on);
      button.style.background = button.style.borderColor = colour;
      button.style.color = on ? this.explorer.palette.ink(colour) : "";
    }
  }
}
