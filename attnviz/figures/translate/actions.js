// What a person does in the alignments: each act changes what is shown, has it drawn, and tells Python.

/**
 * @import { Surface } from "../drawing/surface.js"
 * @import { AlignmentState } from "./alignment_state.js"
 * @typedef {{ pick(change: object): void }} Host
 * @typedef {{ layOut(): void, drawPointed(): void, drawChoices(): void, focus(name: "word" | "choices"): void }} Drawing
 */

export class AlignmentActions {
  /** @param {AlignmentState} state @param {Host} host @param {Surface} surface @param {Drawing} drawing */
  constructor(state, host, surface, drawing) {
    this.state = state;
    this.host = host;
    this.surface = surface;
    this.drawing = drawing;
  }

  /** @param {AlignmentState["pointed"]} place */
  pointAt(place) {
    if (!place && !this.state.pointed) return;
    this.state.pointed = place;
    this.surface.root.classList.toggle("pointing", Boolean(place));
    this.drawing.drawPointed();
  }

  /** @param {number} query @param {number | null} key null: what the word looks at most, in whichever head */
  select(query, key, isOpen = false) {
    const { state } = this;
    const at = key ?? state.model.strongestOf(query);
    state.cells[state.model.slot] = [query, at];
    state.isOpen = isOpen;
    this.tell({ query: state.model.said.rows[query], key: state.model.said.columns[at], isLink: key !== null });
    this.drawing.layOut();
  }

  /** A written word: its strongest link, and what could stand in its place; once more closes that again. @param {number} query */
  selectWord(query) {
    const { state } = this;
    if (state.isOpen && query === state.chosen.query) return this.closeChoices();
    this.select(query, null, state.model.said.choices[query].length > 0);
    if (state.isOpen) this.drawing.focus("choices");
  }

  /** @param {number} layer @param {number | null} head */
  openHead(layer, head) {
    this.tell({ layer, head });
  }

  // The head follows what is asked again.
  unpin() {
    this.tell({ unpin: true });
  }

  closeChoices({ focus = false } = {}) {
    this.state.isOpen = false;
    this.drawing.drawChoices();
    if (focus) this.drawing.focus("word");
    this.tell({});
  }

  /** Goes on from another token. @param {number} step @param {number} place */
  steer(step, place) {
    this.state.isOpen = false;
    this.drawing.drawChoices();
    this.tell({ steer: [step, place] });
  }

  /** @param {number} slot */
  show(slot) {
    if (slot === this.state.hero) return;
    Object.assign(this.state, { hero: slot, isOpen: false });
    this.pointAt(null);
    this.surface.note.hide();
    this.tell({});
    this.drawing.layOut();
  }

  /** @param {object} change */
  tell(change) {
    const { state } = this;
    state.seq += 1;
    this.host.pick({ seq: state.seq, of: state.name, hero: state.model.slot, open: state.isOpen, ...change });
  }
}
