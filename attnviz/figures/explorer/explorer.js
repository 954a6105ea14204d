// The explorer: one map, one head in view, and the views of it. A host gives it packages and is told what a person chose.
// With another package come other views, and what was under way for the views before reaches nobody.

import { isBrowsers, make, word } from "../drawing/elements.js";
import { Surface } from "../drawing/surface.js";
import { ArcsView } from "./arcs.js";
import { HeadsList, WordsView } from "./clickable_words.js";
import { TABS, ExplorerState } from "./explorer_state.js";
import { HeadGrid, Thumbnails } from "./head_grid.js";
import { headTitle } from "./head_store.js";
import { columnHeight, MatrixView } from "./matrix_view.js";
import { RankingView } from "./ranking.js";
import { TextView } from "./shaded_tokens.js";
import { View } from "./explorer_part.js";
import { chipsName, writeOptions, ORDERS, KINDS } from "./view_options.js";
import { ask, numberedName } from "./word_weights.js";

/**
 * @import { Chosen, Settings } from "./explorer_state.js"
 * @import { Head, HeadPlace, Overview } from "./head_store.js"
 * @import { Parts } from "./explorer_part.js"
 * @import { ViewOptions } from "./view_options.js"
 * @import { Axis } from "./word_weights.js"
 */

// What a person does in the explorer: each act changes what is shown, has it drawn, and tells the host.

/**
 * @typedef {{ layer?: number, head?: number | null, query?: number, key?: number }} EditPlace
 * @typedef {{ seq: number, of: string, view: string, look: string, layer?: number, head?: number | null, unpin?: boolean, chosen?: Chosen,
 *   editing?: boolean, edit?: EditPlace }} Change  of the address: of the map that is named, what has changed in it; and what is to be edited
 * @typedef {{ pick(change: Change): void, want(places: HeadPlace[]): void }} Host  told what a person chose, and which heads are missing
 * @typedef {{ draw(): void, layOut(): void, focus(name: "matrix" | "heads"): void }} Drawing
 */

// A slider, or a matrix that is moved, is told once it rests.
const REST = 300;

export class Actions {
  /** @type {number | undefined} */
  #telling;

  /** @param {ExplorerState} state @param {Host} host @param {Surface} surface @param {Drawing} drawing */
  constructor(state, host, surface, drawing) {
    this.state = state;
    this.host = host;
    this.surface = surface;
    this.drawing = drawing;
  }

  /** @param {number} layer @param {number | null} head */
  openHead(layer, head, { keyboard = false } = {}) {
    const { state } = this;
    if (state.hasWords) Object.assign(state, { layer, head, words: { ...state.words, isPinned: true } });
    else state.openHead(layer, head);
    if (state.view === "grid" && !state.isBeside && state.views.includes("matrix") && !state.isPlain) state.view = "matrix";
    this.#relayOut({ layer, head });
    if (keyboard) this.drawing.focus("matrix");
  }

  /** @param {number} query @param {number} key */
  selectCell(query, key) {
    this.#choose(query, key);
    this.tell({ chosen: this.state.chosen });
    this.drawing.draw();
  }

  /** @param {number} query @param {number} key */
  #choose(query, key) {
    const { state } = this;
    Object.assign(state, { query, key, words: { ...state.words, isAsked: true, isLink: true, queries: [], keys: [] } });
  }

  /** A click on a word; `adds`: to those that were chosen. @param {Axis} axis @param {number} word @param {boolean} adds */
  askWord(axis, word, adds) {
    const { state } = this;
    const asked = ask(state.question, state.overview, axis, word, adds);
    state.ask(asked);
    this.tell({ chosen: state.chosen });
    // The numbers of all heads are here already, or come from the host with its answer.
    const { value } = state.store?.table(asked.queries) ?? {};
    if (value) state.follow(value);
    this.drawing.layOut();
  }

  // Back to the head that the words lead to.
  unpin() {
    this.state.words = { ...this.state.words, isPinned: false };
    this.tell({ unpin: true });
  }

  /** @param {string} view */
  show(view) {
    if (view === this.state.view) return;
    this.state.view = view;
    this.#relayOut({});
  }

  // Escape: from a head back to all of them.
  back() {
    if (!this.state.views.includes("grid")) return;
    this.show("grid");
    this.drawing.focus("heads");
  }

  /** Another way to look at the same head. @param {Partial<ViewOptions>} change */
  look(change) {
    Object.assign(this.state.options, change);
    this.tell({});
    this.drawing.layOut();
  }

  /** The heads that the arcs show, each with the number of its colour. @param {Map<number | null, number>} on */
  lookAtHeads(on) {
    const { layer, head } = this.state;
    const isAlone = on.size === 1 && on.get(head) === 0;
    this.look({ chips: isAlone ? null : { of: chipsName(layer, head), on } });
  }

  turnEditing() {
    this.tell({ editing: !this.state.edits.on });
  }

  /** Edits a head, with `head` null all of its layer; with only a key, a word. @param {EditPlace} edit */
  edit(edit) {
    this.tell({ edit });
  }

  /** @param {number} query @param {number} key */
  editLink(query, key) {
    const { layer, head } = this.state;
    this.#choose(query, key);
    this.tell({ chosen: this.state.chosen, edit: { layer, head, query, key } });
    this.drawing.draw();
  }

  /** @param {Partial<Change>} change */
  tell(change) {
    const { state } = this;
    clearTimeout(this.#telling);
    state.seq += 1;
    this.host.pick({ seq: state.seq, of: state.overview.name, view: state.view, look: writeOptions(state.options), ...change });
  }

  // What the host says meanwhile is older already.
  tellLater() {
    clearTimeout(this.#telling);
    this.state.seq += 1;
    this.#telling = setTimeout(() => this.surface.hasLeft || this.tell({}), REST);
  }

  /** @param {Partial<Change>} change */
  #relayOut(change) {
    this.surface.note.hide();
    this.tell(change);
    this.drawing.layOut();
  }
}

// The strongest links as a table: what a screen reader reads instead of the picture, and what anybody can copy.

const STRONGEST = 10;

class StrongestLinks extends View {
  /** @type {Head | null} */
  head = null;

  /** @param {Parts} parts */
  constructor(parts) {
    super(parts);
    this.summary = make("summary", {}, "Strongest links, as a table");
    this.body = make("tbody");
    const columns = ["Who looks", "At whom", "Weight"].map((name) => make("th", { scope: "col" }, name));
    this.caption = make("caption");
    const table = make("table", {}, this.caption, make("thead", {}, make("tr", {}, ...columns)), this.body);
    this.element = make("details", { class: "links" }, this.summary, table);
  }

  draw() {
    const { current: head, overview: { queries, keys } } = this.state;
    if (!head || this.head === head) return;
    this.head = head;
    const title = `${head.signed ? "Largest changes in" : "Strongest links of"} ${headTitle(head.layer, head.head)}`;
    this.summary.textContent = `${title}, as a table`;
    this.caption.textContent = title;
    const [looking, seen] = [queries, keys].map((tokens) => tokens.map(([text]) => ({ text })));
    const rows = head.strongest(STRONGEST).map(([query, key, weight]) => {
      const cells = [numberedName(looking, query), numberedName(seen, key)].map((name) => make("td", {}, word(name)));
      return make("tr", {}, ...cells, make("td", { class: "number" }, head.write(weight)));
    });
    this.body.replaceChildren(...rows);
  }
}

// Around the picture: the tabs, the order of the heads, how they are drawn, and whether clicks edit.

class Tabs extends View {
  drawn = "";

  /** @param {Parts} parts @param {HTMLElement} stage @param {string} id */
  constructor(parts, stage, id) {
    super(parts);
    this.stage = stage;
    this.id = id;
    this.tabs = make("div", { class: "tabs", role: "tablist", "aria-label": "View", onkeydown: (/** @type {KeyboardEvent} */ event) => this.key(event) });
    const order = () => this.actions.look({ order: /** @type {keyof typeof ORDERS} */ (this.order.value) });
    this.order = make("select", { onchange: order });
    this.ordered = make("label", { class: "order" }, "Heads ", this.order);
    const kind = () => this.actions.look({ kind: /** @type {keyof typeof KINDS} */ (this.kind.value) });
    this.kind = make("select", { "aria-label": "Heads drawn", onchange: kind });
    this.kind.append(...Object.entries(KINDS).map(([value, text]) => make("option", { value }, text)));
    this.kinds = make("span", { class: "order" }, this.kind);
    this.fact = make("span", { class: "fact" });
    const title = "Switch heads off, cut links, hide words, and see what the model says then";
    this.edit = make("button", { type: "button", class: "edit", title, onclick: () => this.actions.turnEditing() }, "Edit");
    this.element = make("div", { class: "bar", hidden: true }, this.tabs, this.ordered, this.kinds, this.fact, this.edit);
  }

  draw() {
    const { state } = this;
    this.drawTabs([...state.views.map((view) => [view, TABS[/** @type {keyof typeof TABS} */ (view)]]), ...state.extra.map((name) => [name, name])]);
    const isGrid = state.view === "grid";
    this.ordered.hidden = !isGrid || state.overview.heads === 1 || state.orders.length < 2;
    // Other maps know other orders.
    if (this.order.options.length !== state.orders.length) {
      this.order.replaceChildren(...state.orders.map((name) => make("option", { value: name }, ORDERS[name].label)));
    }
    this.order.value = state.order;
    this.kinds.hidden = !isGrid || this.tabs.hidden || Boolean(state.overview.signed);
    this.kind.value = state.options.kind;
    this.edit.hidden = !state.canEdit;
    this.edit.setAttribute("aria-pressed", String(state.edits.on));
    this.fact.textContent = state.fact;
    this.element.hidden = state.isPlain || this.tabs.hidden && this.ordered.hidden && !this.fact.textContent && this.edit.hidden;
  }

  /** @param {string[][]} names each view with what stands on its tab */
  drawTabs(names) {
    const wanted = names.join();
    if (this.drawn !== wanted) {
      this.drawn = wanted;
      this.tabs.replaceChildren(...names.map(([view, text]) => this.tab(view, text)));
    }
    this.tabs.hidden = names.length < 2;
    for (const tab of /** @type {Iterable<HTMLElement>} */ (this.tabs.children)) {
      const isChosen = tab.dataset.view === this.state.view;
      tab.setAttribute("aria-selected", String(isChosen));
      tab.tabIndex = isChosen ? 0 : -1;
      if (isChosen && names.length > 1) {
        this.stage.setAttribute("role", "tabpanel");
        this.stage.setAttribute("aria-labelledby", tab.id);
      }
    }
  }

  /** @param {string} view @param {string} text */
  tab(view, text) {
    const attributes = { type: "button", role: "tab", id: `${this.id}-${view}`, "data-view": view };
    const controls = view in TABS ? { "aria-controls": this.stage.id } : {};
    return make("button", { ...attributes, ...controls, onclick: () => this.actions.show(view) }, text);
  }

  /** @param {KeyboardEvent} event */
  key(event) {
    const step = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
    if (!step || isBrowsers(event)) return;
    event.preventDefault();
    const tabs = /** @type {HTMLElement[]} */ ([...this.tabs.children]);
    const next = tabs[(tabs.indexOf(/** @type {HTMLElement} */ (event.target)) + step + tabs.length) % tabs.length];
    next.focus();
    this.actions.show(String(next.dataset.view));
  }
}

// From this width on the grid and the matrix stand side by side.
const WIDE = 860;
const PROBLEM = "This picture could not be drawn: reload the page to try again.";

export class Explorer {
  /** @type {ReturnType<typeof views> | null} The views of the map that is open. */
  views = null;
  /** @param {HTMLElement} root @param {Host} host */
  constructor(root, host) {
    Object.assign(root, { explorer: this });
    this.host = host;
    this.state = new ExplorerState();
    this.surface = new Surface(root, () => this.layOut());
    this.actions = new Actions(this.state, host, this.surface, this);
    const { note, live } = this.surface;
    this.problem = make("p", { class: "problem", role: "alert", hidden: true }, PROBLEM);
    const id = `explorer-${Math.random().toString(36).slice(2)}`;
    this.stage = make("div", { class: "stage", id: `${id}-stage` });
    this.below = make("div");
    this.tabs = new Tabs(this.#parts, this.stage, id);
    this.above = make("div");
    root.replaceChildren(this.above, this.tabs.element, this.problem, this.stage, this.below, live.element, note.element);
  }

  /** @returns {Parts} */
  get #parts() {
    return { state: this.state, actions: this.actions, surface: this.surface, draw: () => this.draw(),
      later: (promise, then) => this.#later(promise, then) };
  }

  /** Takes another map: nothing of the views before can still be seen or asked. What is shown of it comes next, as settings; until
   * then nothing is drawn. @param {Overview} overview */
  open(overview) {
    this.state.open(overview, (places) => this.host.want(places));
    this.problem.hidden = true;
    this.surface.note.hide();
    this.views?.matrix.motion.stop();
    const isUnfolded = this.views?.links.element.open ?? false;
    this.views = views(this.#parts);
    const { panes, words, links } = this.views;
    links.element.open = isUnfolded;
    this.above.replaceChildren(words.element);
    this.stage.replaceChildren(...panes.map(({ element }) => element));
    this.below.replaceChildren(links.element);
  }

  /** @param {Settings} settings */
  update(settings) {
    this.state.update(settings);
    this.surface.root.classList.toggle("editing", this.state.edits.on);
    this.surface.setTheme(this.state.theme);
    this.layOut();
  }

  /**
   * Goes on with what was promised, unless another package has come meanwhile; what fails is said in the picture.
   * @template Value
   * @param {Promise<Value>} promise @param {(value: Value) => void} then
   */
  #later(promise, then) {
    const { store } = this.state;
    const isLate = () => store !== this.state.store || this.surface.hasLeft;
    promise.then((value) => isLate() || then(value)).catch((error) => isLate() || this.fail(error));
  }

  /** Says in the picture that something of it is missing. @param {unknown} error */
  fail(error) {
    this.problem.hidden = false;
    console.warn(error);
  }

  // Which panes can be seen, for the view and the width there is.
  layOut() {
    const { state, surface, stage } = this;
    if (!this.views || !surface.palette || surface.hasLeft) return;
    surface.noteRoom();
    const { grid, ranking, first, matrix, arcs, text, words, links } = this.views;
    const { view } = state;
    // A picture of heads alone, or of a matrix alone, is no sentence.
    words.element.hidden = state.views.length < 2;
    const hasMatrix = state.views.includes("matrix");
    state.isBeside = view === "grid" && surface.root.clientWidth >= WIDE && hasMatrix;
    grid.element.hidden = view !== "grid" || state.order !== "model";
    ranking.element.hidden = view !== "grid" || state.order === "model";
    matrix.element.hidden = !(view === "matrix" || state.isBeside);
    arcs.element.hidden = view !== "arcs";
    text.element.hidden = view !== "text";
    first.element.hidden = view !== "grid" || state.order !== "model" || !state.canRank;
    links.element.hidden = !hasMatrix || !(view in TABS);
    stage.hidden = !(view in TABS);
    surface.root.classList.toggle("both", state.isBeside);
    this.tabs.draw();
    this.draw();
    // The words are shaded under a tab whose picture the page draws, too.
    if (hasMatrix) this.#drawHead(links);
  }

  /** Draws again when the head in view has come. @param {StrongestLinks} links */
  #drawHead(links) {
    const { state } = this;
    const { layer, head, store } = state;
    if (!store) return;
    const isReady = store.ready(layer, head);
    this.#later(store.head(layer, head), (matrix) => {
      if (state.layer !== layer || state.head !== head) return;
      if (state.query === null) [state.query, state.key] = state.firstCell(matrix);
      if (!isReady) this.draw();
      // The table of a long text takes some frames' time: the picture comes first.
      requestAnimationFrame(() => setTimeout(() => links.draw()));
    });
  }

  draw() {
    if (!this.views || !this.surface.palette || this.surface.hasLeft) return;
    for (const view of this.views.panes) if (!view.element.hidden) view.draw();
    this.views.words.draw();
    const { root } = this.surface;
    root.dataset.view = this.state.view;
    // Under a tab whose picture the page draws there is no head at full size, whichever was there before.
    root.dataset.head = this.state.view in TABS && this.state.current ? this.state.headName : "";
  }

  /** @param {"matrix" | "heads"} name */
  focus(name) {
    if (!this.views) return;
    const { matrix, grid, ranking } = this.views;
    if (name === "heads") (this.state.order === "model" ? grid : ranking).canvas.focus();
    else if (!matrix.element.hidden) matrix.canvas.focus();
  }
}

/** Makes the views of a map. @param {Parts} parts */
function views(parts) {
  const { state, surface } = parts;
  const thumbnails = new Thumbnails(parts);
  const matrix = new MatrixView(parts, thumbnails);
  const roomForHeads = () => columnHeight(state.isBeside ? matrix.measure() : null, surface.presentedHeight, window.innerHeight);
  const grid = new HeadGrid(parts, thumbnails, roomForHeads);
  const ranking = new RankingView(parts, thumbnails, roomForHeads);
  const [arcs, text] = [new ArcsView(parts), new TextView(parts)];
  const [words, first, links] = [new WordsView(parts), new HeadsList(parts), new StrongestLinks(parts)];
  return { grid, ranking, first, matrix, arcs, text, words, links, panes: [first, grid, ranking, matrix, arcs, text] };
}
