// The explorer: one map, one head in view, and the views of it. A host gives it packages and is told what a person chose.
// With another package come other views, and what was under way for the views before reaches nobody.

import { make } from "../drawing/elements.js";
import { Surface } from "../drawing/surface.js";
import { Actions } from "./actions.js";
import { ArcsView } from "./arcs.js";
import { HeadGrid } from "./head_grid.js";
import { HeadsList } from "./heads_list.js";
import { columnHeight } from "./heights.js";
import { StrongestLinks } from "./strongest_links.js";
import { MatrixView } from "./matrix_view.js";
import { RankingView } from "./ranking.js";
import { ExplorerState, TABS } from "./explorer_state.js";
import { Tabs } from "./tabs.js";
import { TextView } from "./shaded_tokens.js";
import { Thumbnails } from "./thumbnails.js";
import { WordsView } from "./clickable_words.js";

/**
 * @import { Host } from "./actions.js"
 * @import { Overview } from "./head_store.js"
 * @import { Settings } from "./explorer_state.js"
 * @import { Parts } from "./view.js"
 */

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

  /** Shows another map: nothing of the views before can still be seen or asked. @param {Overview} overview */
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
    this.layOut();
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
    promise.then((value) => isLate() || then(value)).catch((error) => {
      if (isLate()) return;
      this.problem.hidden = false;
      console.warn(error);
    });
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
      if (state.query === null) [state.query, state.key] = matrix.strongest(1)[0] ?? [0, 0];
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
