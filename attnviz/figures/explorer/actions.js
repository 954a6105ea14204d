// What a person does in the explorer: each act changes what is shown, has it drawn, and tells the host.

import { ask } from "./chosen_words.js";
import { chipsName, writeOptions } from "./view_options.js";

/**
 * @import { Surface } from "../drawing/surface.js"
 * @import { HeadPlace } from "./head_store.js"
 * @import { Axis } from "./chosen_words.js"
 * @import { ExplorerState } from "./explorer_state.js"
 * @import { ViewOptions } from "./view_options.js"
 * @typedef {{ layer?: number, head?: number | null, query?: number, key?: number }} EditPlace
 * @typedef {{ pick(change: object): void, want(places: HeadPlace[]): void }} Host  told what a person chose, and which heads are missing
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
    Object.assign(this.state, { query, key });
    this.state.words = { ...this.state.words, isAsked: true, isLink: true, queries: [], keys: [] };
    this.#tellWords();
    this.drawing.draw();
  }

  /** A click on a word; `adds`: to those that were chosen. @param {Axis} axis @param {number} word @param {boolean} adds */
  askWord(axis, word, adds) {
    const { state } = this;
    const asked = ask(state.question, state.overview, axis, word, adds);
    state.ask(asked);
    this.#tellWords();
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

  #tellWords() {
    const { query, key, words: { isAsked, isLink, queries, keys } } = this.state;
    this.tell({ query, key, isAsked, isLink, queries, keys });
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
    Object.assign(this.state, { query, key });
    this.tell({ query, key, edit: { layer, head, query, key } });
    this.drawing.draw();
  }

  /** @param {object} change */
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

  /** @param {object} change */
  #relayOut(change) {
    this.surface.note.hide();
    this.tell(change);
    this.drawing.layOut();
  }
}
