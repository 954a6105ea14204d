// Translations and alignments of up to four models: a table of what they wrote, one of them large as a matrix and as two columns of
// words, the others small beside it. A word that is pointed at lights up in all of them, without asking Python.

import { clamp } from "../drawing/canvas.js";
import { endOf } from "../drawing/palette.js";
import { make } from "../drawing/elements.js";
import { Legend } from "../drawing/matrix_marks.js";
import { Surface } from "../drawing/surface.js";
import { AlignmentState, headCaption } from "./alignment_state.js";
import { LargeMatrix, SmallMatrices } from "./matrices.js";
import { Choices, SentenceWords, TranslationsTable, WordPair } from "./sentence_words.js";

/** @import { Message } from "./alignment_state.js" */

// What a person does in the alignments: each act changes what is shown, has it drawn, and tells Python.

/**
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

  /** Goes on from another token. @param {number} step @param {number} place @param {boolean} isByKeyboard */
  steer(step, place, isByKeyboard) {
    this.state.isOpen = false;
    this.drawing.drawChoices();
    if (isByKeyboard) this.drawing.focus("word");
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

// From this width on the matrix and the words stand side by side, and the small ones beside them.
const WIDE = 760;
const [GAP, SMALL_COLUMN, PAIR, MOST_PAIR] = [24, 186, 300, 360];

export class Alignments {
  /** @param {HTMLElement} root @param {Host} host */
  constructor(root, host) {
    Object.assign(root, { alignment: this });
    this.host = host;
    this.state = new AlignmentState();
    this.surface = new Surface(root, () => this.layOut());
    const { state, surface } = this;
    const parts = { state, surface, actions: new AlignmentActions(state, host, surface, this) };
    this.table = new TranslationsTable(parts);
    this.words = new SentenceWords(parts);
    this.large = new LargeMatrix(parts);
    this.pair = new WordPair(parts);
    this.small = new SmallMatrices(parts);
    this.choices = new Choices(parts, this.pair);
    this.caption = make("p", { class: "caption" });
    this.legend = new Legend();
    this.picture = make("div", { class: "picture" }, this.large.element, this.pair.element, this.small.element);
    const head = make("div", { class: "row picture-row" }, this.caption, this.legend.element);
    const top = make("div", { class: "top" }, this.words.element, this.words.heads);
    root.replaceChildren(this.table.element, top, head, this.picture, this.choices.element, surface.live.element, surface.note.element);
  }

  /** @param {Message} message */
  update(message) {
    if (this.state.update(message)) {
      this.surface.root.classList.remove("pointing");
      this.surface.note.hide();
    }
    this.surface.setTheme(message.theme);
    this.layOut();
  }

  layOut() {
    const { surface, large, state: { models } } = this;
    const { root, palette, presentedHeight: given } = surface;
    const whole = root.clientWidth;
    if (!palette || !whole) return;
    surface.noteRoom();
    const isWide = whole >= WIDE;
    root.classList.toggle("wide", isWide);
    root.toggleAttribute("data-presenting", given > 0);
    this.table.draw();
    this.words.draw();
    this.drawHead();
    const beside = isWide && models.length > 1 && !given ? SMALL_COLUMN + GAP : 0;
    // Where more models stand in the table, less of the window is left. A longer sentence takes no more of it, so nothing jumps.
    const isCrowded = models.length > 2;
    const most = given || clamp(window.innerHeight * (isCrowded ? 0.48 : 0.5), 380, 620);
    const least = given ? 0 : isCrowded ? 20 : 28;
    const pair = Math.min(this.pair.widthOf(large.canvas), MOST_PAIR);
    this.picture.style.setProperty("--pair", `${pair}px`);
    const { high } = large.measure(isWide ? whole - beside - GAP - Math.max(pair, PAIR) : whole, most, least);
    large.draw();
    const height = given || (isWide ? Math.max(high, most) : most);
    this.picture.style.minHeight = isWide ? `${height}px` : "";
    this.pair.draw(height);
    this.small.draw(isWide ? SMALL_COLUMN : whole / 3 - GAP, isWide ? height : Infinity);
    this.choices.draw();
    root.dataset.hero = String(this.state.model.slot);
  }

  drawHead() {
    const { models, model: { said }, highest, end } = this.state;
    const head = headCaption(said);
    const name = models.length > 1 ? [make("strong", {}, make("bdi", {}, said.name)), `${head && ` ${head}`}: `] : [];
    this.caption.replaceChildren(make("span", {}, ...name, `${name.length ? "each" : "Each"} row is one word of the translation, and where it looks`));
    this.legend.draw(this.surface.palette, endOf(highest, end));
  }

  drawPointed() {
    for (const each of [this.table, this.large, this.pair, this.small]) each.drawPointed();
  }

  drawChoices() {
    this.choices.draw();
  }

  /** @param {"word" | "choices"} name */
  focus(name) {
    if (name === "choices") this.choices.focus();
    else this.pair.wordAt(this.state.chosen.query).focus({ preventScroll: true });
  }
}
