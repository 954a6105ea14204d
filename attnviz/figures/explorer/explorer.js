// The explorer: one map, one head in view, and the views of it. A host gives it packages and is told what a person chose.
// What stands on the screen is a function of the package and of `state`, nothing else: with another package come other views,
// and what was under way for the views before reaches nobody.

import { ArcsView } from "./arcs.js";
import { Bar, LinksTable, TABS } from "./bar.js";
import { Editing } from "./editing.js";
import { GridView } from "./grid.js";
import { roomHeight } from "./heights.js";
import { chipsName, FIRST_LOOK, readLook, writeLook } from "./look.js";
import { MatrixView } from "./matrix.js";
import { clamp, make, Motion, Note, Palette } from "./paint.js";
import { ORDERS, RankingView } from "./ranking.js";
import { LiveRegion } from "./say.js";
import { headName, HeadStore } from "./store.js";
import { TextView } from "./text.js";
import { THEMES } from "./themes.js";

// From this width on the grid and the matrix stand side by side.
const WIDE = 860;
const LONG_LINE = 160;
// A slider, or a matrix that is moved, is told once it rests.
const REST = 300;
const PROBLEM = "This picture could not be drawn: reload the page to try again.";

export class Explorer {
  // host.pick(change): a person chose; host.want([[layer, head], …]): heads are missing.
  constructor(root, host) {
    Object.assign(this, { root, host, seq: 0, views: Object.keys(TABS), extra: [], fact: "", package: null });
    this.state = { view: "grid", layer: 0, head: 0, query: null, key: null, fullScale: true, theme: "light", ...FIRST_LOOK };
    this.editing = new Editing(this);
    this.id = `explorer-${Math.random().toString(36).slice(2)}`;
    Object.assign(this, { note: new Note(root), motion: new Motion() });
    this.bar = new Bar(this);
    this.live = new LiveRegion();
    this.problem = make("p", { class: "problem", role: "alert", hidden: true }, PROBLEM);
    this.stage = make("div", { class: "stage", id: `${this.id}-stage` });
    this.below = make("div");
    root.replaceChildren(this.bar.element, this.problem, this.stage, this.below, this.live.element, this.note.element);
    this.observer = new ResizeObserver(() => this.resize());
    this.observer.observe(root);
    this.onResize = () => this.resize();
    window.addEventListener("resize", this.onResize);
    this.onMedia = () => {
      this.applyTheme();
      this.draw();
    };
    this.media = matchMedia("(prefers-color-scheme: dark)");
    this.media.addEventListener("change", this.onMedia);
    // Labels are measured: in the page's own font, which may come late.
    this.onFonts = () => {
      if (!this.package) return;
      this.matrix.widths = this.arcs.widths = null;
      this.draw();
    };
    document.fonts.addEventListener("loadingdone", this.onFonts);
  }

  destroy() {
    this.package = null;
    this.observer.disconnect();
    window.removeEventListener("resize", this.onResize);
    this.media.removeEventListener("change", this.onMedia);
    document.fonts.removeEventListener("loadingdone", this.onFonts);
  }

  // Shows another map, or the same one under another view of its tokens: nothing of the views before can still be seen or asked.
  open(overview) {
    const before = this.package;
    if (before) this.state.query = this.state.key = null;
    this.package = { overview, store: new HeadStore(overview, (places) => this.host.want(places)) };
    this.pointedCell = null;
    this.problem.hidden = true;
    this.note.hide();
    this.motion.stop();
    const unfolded = this.links?.element.open;
    Object.assign(this, { grid: new GridView(this), matrix: new MatrixView(this), arcs: new ArcsView(this), text: new TextView(this) });
    this.ranking = new RankingView(this);
    Object.assign(this, { strip: new TextView(this, { strip: true }), links: new LinksTable(this) });
    this.links.element.open = Boolean(unfolded);
    this.panes = [this.grid, this.ranking, this.matrix, this.arcs, this.text];
    this.stage.replaceChildren(...this.panes.map(({ element }) => element), this.strip.element);
    this.below.replaceChildren(this.links.element);
    this.settle();
    this.layOut();
  }

  // Goes on with what was promised, unless another package has come meanwhile; what fails is said in the picture.
  when(promise, then) {
    const asking = this.package;
    const isLate = () => asking !== this.package;
    promise.then((value) => isLate() || then(value)).catch((error) => {
      if (isLate()) return;
      this.problem.hidden = false;
      console.warn(error);
    });
  }

  get overview() {
    return this.package?.overview;
  }

  get store() {
    return this.package?.store;
  }

  // A map is called by its content.
  get mark() {
    return this.overview.name.slice(0, 6);
  }

  // A map between two texts has no diagonal and no distances.
  get orders() {
    if (this.overview.signed) return ["model"];
    return this.overview.notes[0].distance === null ? ["model", "entropy"] : Object.keys(ORDERS);
  }

  get order() {
    return this.orders.includes(this.state.order) ? this.state.order : "model";
  }

  // The heads that the arcs show, each with the number of its colour: those that were chosen for the head in view, else it alone.
  get chips() {
    const { chips, layer, head } = this.state;
    const known = chips?.of === chipsName(layer, head) ? [...chips.on].filter(([each]) => each < this.overview.heads) : [];
    return new Map(known.length ? known : [[head, 0]]);
  }

  // What the host says is to be looked at. What a person has chosen meanwhile is newer than what the host knows.
  update({ seq = 0, layer, head, query = null, key = null, view, look, fullScale, theme, shownViews, extra, fact, follows = false, edits = null }) {
    if (seq >= this.seq) {
      Object.assign(this.state, { layer, head, query, key, view: view ?? this.state.view });
      if (look !== undefined) Object.assign(this.state, readLook(look));
      this.seq = seq;
    }
    Object.assign(this.state, { fullScale, theme });
    Object.assign(this, { views: shownViews ?? this.views, extra: extra ?? this.extra, fact: fact ?? this.fact, follows });
    this.editing.update(edits);
    this.applyTheme();
    if (!this.package) return;
    this.settle();
    this.layOut();
  }

  // A map may have fewer heads than the one before; and where no link was chosen, it is the head's most telling one.
  settle() {
    const { state, overview } = this;
    state.layer = clamp(state.layer, 0, overview.layers - 1);
    if (state.head !== null) state.head = clamp(state.head, 0, overview.heads - 1);
    const isThere = state.query !== null && state.query < overview.queries.length && state.key < overview.keys.length;
    if (!isThere) Object.assign(state, this.tellingCell(state.layer, state.head));
  }

  applyTheme() {
    const { theme } = this.state;
    const name = theme === "auto" ? (this.media.matches ? "dark" : "light") : theme;
    if (this.palette?.name !== name) this.palette = new Palette(THEMES[name]);
    this.palette.colourAll(this.root);
  }

  // The picture's own height is what it makes itself: only its width counts, and the window's height.
  resize() {
    if (this.laidOut === this.room()) return;
    requestAnimationFrame(() => this.layOut());
  }

  room() {
    return `${this.root.clientWidth} ${window.innerHeight} ${roomHeight(this.root)}`;
  }

  // Which panes can be seen, for the view and the width there is.
  layOut() {
    if (!this.package || !this.palette) return;
    const { view } = this.state;
    this.laidOut = this.room();
    const wide = this.root.clientWidth >= WIDE;
    const both = view === "grid" && wide && this.views.includes("matrix");
    this.isBeside = both;
    this.grid.element.hidden = view !== "grid" || this.order !== "model";
    this.ranking.element.hidden = view !== "grid" || this.order === "model";
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
  refresh() {
    this.draw();
    if (!this.views.includes("matrix") || !(this.state.view in TABS)) return;
    const { store, state } = this;
    const { layer, head } = state;
    const isReady = store.ready(layer, head);
    this.when(store.head(layer, head), (matrix) => {
      if (state.layer !== layer || state.head !== head) return;
      if (state.query === null) [state.query, state.key] = matrix.strongest(1)[0] ?? [0, 0];
      if (!isReady) this.draw();
      // The table of a long text takes some frames' time: the picture comes first.
      requestAnimationFrame(() => setTimeout(() => this.links.draw()));
    });
  }

  draw() {
    if (!this.package || !this.palette) return;
    for (const view of this.panes) if (!view.element.hidden) view.draw();
    this.drawStrip();
    this.root.dataset.view = this.state.view;
    // Under a tab whose picture the page draws there is no head at full size, whichever was there before.
    const isDrawn = this.state.view in TABS && this.current();
    this.root.dataset.head = isDrawn ? headName(this.state.layer, this.state.head) : "";
  }

  current() {
    return this.store?.ready(this.state.layer, this.state.head);
  }

  tellingCell(layer, head) {
    const link = head === null ? null : this.overview.notes[layer * this.overview.heads + head].link;
    return link ? { query: link[0], key: link[1] } : { query: null, key: null };
  }

  selected() {
    return { query: this.state.query ?? 0, key: this.state.key ?? 0 };
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
    (this.order === "model" ? this.grid : this.ranking).canvas.focus();
  }

  // Another way to look at the same head.
  look(change) {
    Object.assign(this.state, change);
    this.tellHost({});
    this.layOut();
  }

  lookAtHeads(on) {
    const { layer, head } = this.state;
    const isAlone = on.size === 1 && on.get(head) === 0;
    this.look({ chips: isAlone ? null : { of: chipsName(layer, head), on } });
  }

  tellHost(change) {
    clearTimeout(this.telling);
    this.seq += 1;
    this.host.pick({ seq: this.seq, of: this.overview.name, view: this.state.view, look: writeLook(this.state), ...change });
  }

  // What the host says meanwhile is older already.
  tellLater() {
    clearTimeout(this.telling);
    this.seq += 1;
    this.telling = setTimeout(() => this.package && this.tellHost({}), REST);
  }

  // The matrix is pointed at: the line of text below follows.
  pointAt(cell) {
    this.pointedCell = cell;
    requestAnimationFrame(() => this.drawStrip());
  }

  drawStrip() {
    if (!this.package || this.strip.element.hidden) return;
    clearTimeout(this.resting);
    // The line of a long text takes a frame's time: it waits until the picture stands and the pointer rests.
    if (this.overview.keys.length > LONG_LINE) this.resting = setTimeout(() => this.package && this.strip.draw(), 80);
    else this.strip.draw();
  }
}
