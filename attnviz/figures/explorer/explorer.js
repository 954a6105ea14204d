// The explorer: one map, one head in view, and the views of it. A host gives it packages and is told what a person chose.

const TABS = { grid: "Grid", matrix: "Matrix", arcs: "Arcs", text: "Text" };
// From this width on the grid and the matrix stand side by side.
const WIDE = 860;
const STRONGEST = 10;
const LONG_LINE = 160;

class Explorer {
  // host.pick(change): a person chose; host.want(layer, head): a head is missing.
  constructor(root, host) {
    Object.assign(this, { root, host, seq: 0, pointedCell: null, labelWidths: null });
    this.state = { view: "grid", layer: 0, head: 0, query: null, key: null, order: "model", kind: "cells", fullScale: true, theme: "light" };
    this.id = `explorer-${Math.random().toString(36).slice(2)}`;
    this.note = new Note(root);
    this.grid = new GridView(this);
    this.matrix = new MatrixView(this);
    this.arcs = new ArcsView(this);
    this.strip = new TextView(this, { strip: true });
    this.text = new TextView(this);
    this.bar = new Bar(this);
    this.links = new LinksTable(this);
    this.live = make("p", { class: "live", "aria-live": "polite" });
    this.stage = make("div", { class: "stage", id: `${this.id}-stage` });
    this.stage.append(this.grid.element, this.matrix.element, this.arcs.element, this.text.element);
    root.replaceChildren(this.bar.element, this.stage, this.strip.element, this.links.element, this.live, this.note.element);
    this.observer = new ResizeObserver(() => this.resize());
    this.observer.observe(root);
    this.onMedia = () => {
      this.applyTheme();
      this.draw();
    };
    this.media = matchMedia("(prefers-color-scheme: dark)");
    this.media.addEventListener("change", this.onMedia);
  }

  destroy() {
    this.observer.disconnect();
    this.media.removeEventListener("change", this.onMedia);
  }

  // Shows another map, or the same one under another view of its tokens.
  async open(overview) {
    const before = this.overview;
    this.overview = overview;
    this.store = new HeadStore(overview, (layer, head) => this.host.want(layer, head));
    this.labelWidths = null;
    this.pointedCell = null;
    this.state.layer = clamp(this.state.layer, 0, overview.layers - 1);
    if (this.state.head !== null) this.state.head = clamp(this.state.head, 0, overview.heads - 1);
    if (before) this.state.query = this.state.key = null;
    if (overview.notes[0].distance === null && ["diagonal", "distance"].includes(this.state.order)) this.state.order = "model";
    for (const view of [this.matrix, this.arcs, this.strip, this.text]) view.open();
    this.bar.open();
    await this.grid.open();
    this.layOut();
  }

  // What the host says is to be looked at. What a person has chosen meanwhile is newer than what the host knows.
  update({ seq = 0, layer, head, query, key, view, fullScale, theme, ...rest }) {
    if (seq >= this.seq) {
      Object.assign(this.state, { layer, head, query, key, view: view ?? this.state.view });
      this.seq = seq;
    }
    Object.assign(this.state, { fullScale, theme });
    Object.assign(this, rest);
    this.applyTheme();
    if (this.overview) this.layOut();
  }

  applyTheme() {
    const { theme } = this.state;
    const name = theme === "auto" ? (this.media.matches ? "dark" : "light") : theme;
    if (this.palette?.name !== name) this.palette = new Palette(THEMES[name]);
    for (const part of ["background", "panel", "text", "faint", "border", "accent", "masked"]) {
      this.root.style.setProperty(`--${part}`, this.palette[part]);
    }
    this.root.style.colorScheme = name;
  }

  get views() {
    return this.shownViews ?? Object.keys(TABS);
  }

  // Only the width counts: the height is what the picture itself makes it.
  resize() {
    if (!this.overview || this.width === this.root.clientWidth) return;
    requestAnimationFrame(() => this.layOut());
  }

  // Which panes can be seen, for the view and the width there is.
  layOut() {
    const { view } = this.state;
    this.width = this.root.clientWidth;
    const wide = this.width >= WIDE;
    const both = view === "grid" && wide && this.views.includes("matrix");
    this.grid.element.hidden = view !== "grid";
    this.matrix.element.hidden = !(view === "matrix" || both);
    this.arcs.element.hidden = view !== "arcs";
    this.text.element.hidden = view !== "text";
    this.strip.element.hidden = !this.views.includes("text") || !["grid", "matrix"].includes(view);
    this.links.element.hidden = !this.views.includes("matrix") || !(view in TABS);
    this.stage.hidden = !(view in TABS);
    this.root.classList.toggle("both", both);
    this.bar.draw();
    this.refresh();
  }

  // Draws what there is, and again when the head in view has come.
  async refresh() {
    this.draw();
    if (!this.views.includes("matrix") || !(this.state.view in TABS)) return;
    const { store, state } = this;
    const { layer, head } = state;
    if (state.query === null) Object.assign(state, this.tellingCell(layer, head));
    const ready = store.ready(layer, head);
    const found = await store.head(layer, head);
    if (store !== this.store || state.layer !== layer || state.head !== head) return;
    if (state.query === null) [state.query, state.key] = found.strongest(1)[0] ?? [0, 0];
    if (!ready) this.draw();
    // The table of a long text takes some frames' time: the picture comes first.
    requestAnimationFrame(() => setTimeout(() => this.links.draw()));
  }

  draw() {
    if (!this.overview || !this.palette) return;
    for (const view of [this.grid, this.matrix, this.arcs, this.text]) {
      if (!view.element.hidden) view.draw();
    }
    this.drawStrip();
    this.root.dataset.view = this.state.view;
    this.root.dataset.head = this.current() ? headName(this.state.layer, this.state.head) : "";
  }

  current() {
    return this.store.ready(this.state.layer, this.state.head);
  }

  tellingCell(layer, head) {
    const link = head === null ? null : this.overview.notes[layer * this.overview.heads + head].link;
    return link ? { query: link[0], key: link[1] } : { query: null, key: null };
  }

  selected() {
    return { query: this.state.query ?? 0, key: this.state.key ?? 0 };
  }

  matrixHeight() {
    return this.state.view === "grid" ? 520 : clamp(window.innerHeight * 0.75, 440, 900);
  }

  openHead(layer, head, { keyboard = false } = {}) {
    Object.assign(this.state, { layer, head }, this.tellingCell(layer, head));
    if (this.state.view === "grid" && this.matrix.element.hidden && this.views.includes("matrix")) this.state.view = "matrix";
    this.note.hide();
    this.tellHost({ layer, head });
    this.layOut();
    if (keyboard && !this.matrix.element.hidden) this.matrix.canvas.focus();
  }

  selectCell(query, key) {
    Object.assign(this.state, { query, key });
    this.tellHost({ query, key });
    this.draw();
  }

  show(view) {
    if (view === this.state.view) return;
    this.state.view = view;
    this.note.hide();
    this.tellHost({});
    this.layOut();
  }

  // Escape: from a head back to all of them.
  back() {
    if (!this.views.includes("grid")) return;
    this.show("grid");
    this.grid.canvas.focus();
  }

  tellHost(change) {
    this.seq += 1;
    this.host.pick({ seq: this.seq, view: this.state.view, ...change });
  }

  // The matrix is pointed at: the line of text below follows.
  pointAt(cell) {
    this.pointedCell = cell;
    requestAnimationFrame(() => this.drawStrip());
  }

  drawStrip() {
    if (this.strip.element.hidden) return;
    clearTimeout(this.resting);
    // The line of a long text takes a frame's time: it waits until the picture stands and the pointer rests.
    if (this.overview.keys.length > LONG_LINE) this.resting = setTimeout(() => this.strip.draw(), 80);
    else this.strip.draw();
  }

  tellCell(head, query, key) {
    const { queries, keys } = this.overview;
    const name = ([text, , piece]) => (piece ? [make("strong", {}, word(text)), " (", word(piece), ")"] : [make("strong", {}, word(text))]);
    const masked = head.masked(query, key);
    const value = masked ? "masked: it cannot look there" : ["weight ", make("strong", {}, head.tell(query, key))];
    return [[...name(queries[query]), " → ", ...name(keys[key])], value];
  }

  sayCell(head, query, key) {
    const { queries, keys } = this.overview;
    this.say(`${queries[query][0]} to ${keys[key][0]}, ${head.tell(query, key)}`);
  }

  // For a screen reader; only what one rests on.
  say(text) {
    clearTimeout(this.saying);
    this.saying = setTimeout(() => (this.live.textContent = text), 150);
  }

  // From one set of numbers to another, at once where a person asked for less motion.
  animate(from, goal, step) {
    const start = { ...from };
    cancelAnimationFrame(this.animation);
    if (matchMedia("(prefers-reduced-motion: reduce)").matches) return step(goal);
    const began = performance.now();
    const frame = (now) => {
      const share = clamp((now - began) / 160, 0, 1);
      const eased = share * (2 - share);
      step(Object.fromEntries(Object.keys(goal).map((name) => [name, start[name] + (goal[name] - start[name]) * eased])));
      if (share < 1) this.animation = requestAnimationFrame(frame);
    };
    this.animation = requestAnimationFrame(frame);
  }
}
