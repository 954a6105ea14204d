// Translations and alignments of up to four models: a table of what they wrote, one of them large as a matrix and as two columns of
// words, the others small beside it. A word that is pointed at lights up in all of them, without asking Python.

import { clamp } from "../drawing/canvas.js";
import { make } from "../drawing/elements.js";
import { Legend } from "../drawing/matrix.js";
import { Surface } from "../drawing/surface.js";
import { endOf } from "../explorer/colour_limit.js";
import { AlignmentActions } from "./actions.js";
import { Choices } from "./token_choices.js";
import { LargeMatrix } from "./large_matrix.js";
import { SmallMatrices } from "./small_matrices.js";
import { SentenceWords } from "./sentence_words.js";
import { AlignmentState } from "./alignment_state.js";
import { TranslationsTable } from "./translations_table.js";
import { WordPair } from "./word_pair.js";

/**
 * @import { Host } from "./actions.js"
 * @import { Message } from "./alignment_state.js"
 */

// From this width on the matrix and the words stand side by side, and the small ones beside them.
const WIDE = 760;
const [GAP, SMALL_COLUMN, PAIR] = [24, 186, 300];

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
    const { high } = large.measure(isWide ? whole - beside - GAP - PAIR : whole, most, least);
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
    const name = models.length > 1 ? [make("strong", {}, make("bdi", {}, said.name)), said.head ? ` ${said.head}: ` : ": "] : [];
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
