// The large model's text and translation as the explorer's words: lines to click, the headline, and the heads that were asked for.

import { make } from "../drawing/elements.js";
import { HeadsList } from "../explorer/heads_list.js";
import { WordsView } from "../explorer/clickable_words.js";
import { AlignmentPart } from "./view.js";

/**
 * @import { Model } from "./model_translation.js"
 * @import { Parts } from "./view.js"
 * @import { AlignmentState } from "./alignment_state.js"
 */

const LINE_NAMES = { queries: "Translation", keys: "Text" };

export class SentenceWords extends AlignmentPart {
  /** @type {WordsView | null} */
  words = null;
  /** @type {HeadsList | null} */
  list = null;

  /** @param {Parts} parts */
  constructor(parts) {
    super(parts);
    this.element = make("div");
    this.heads = make("div", { class: "ranked" });
  }

  draw() {
    const { state } = this;
    if (this.changes(state.drawn)) this.open();
    this.words?.draw();
    this.heads.hidden = !state.rankedHeads;
    this.list?.draw();
  }

  // Another model: other words.
  open() {
    const { state, actions, surface } = this;
    const shown = {
      /** @param {"queries" | "keys"} axis @param {number} word */
      askWord: (axis, word) => (axis === "queries" ? actions.select(word, null) : actions.select(state.chosen.query, word)),
      /** @param {number} layer @param {number | null} head */
      openHead: (layer, head) => actions.openHead(layer, head),
      unpin: () => actions.unpin(),
    };
    const parts = /** @type {any} */ ({ state: new WordsState(state), actions: shown, surface, later() {}, draw() {} });
    this.words = new WordsView(parts);
    this.words.several.hidden = true;
    this.list = new HeadsList(parts);
    this.element.replaceChildren(this.words.element);
    this.heads.replaceChildren(this.list.element);
  }
}

// One alignment as the explorer's state of a map: what its words are drawn from.
export class WordsState {
  hasWords = true;
  options = { several: false };

  /** @param {AlignmentState} alignments */
  constructor(alignments) {
    this.alignments = alignments;
    this.overview = overviewOf(alignments.model);
  }

  get current() {
    const { model } = this.alignments;
    const [layer, head] = model.said.place ?? [0, 0];
    return { layer, head, signed: false, weight: model.weight.bind(model), masked: model.masked.bind(model) };
  }

  get head() {
    return this.current.head;
  }

  get where() {
    const { said } = this.alignments.model;
    return said.where || said.head || "the model's only head";
  }

  get headName() {
    return `${this.current.layer}:${this.current.head}`;
  }

  get query() {
    return this.alignments.chosen.query;
  }

  // What a written word looks at most is no link that somebody asked for.
  get question() {
    const { query, key } = this.alignments.chosen;
    return { queries: [query], keys: [key], isLink: key !== this.alignments.model.strongestOf(query), isAsked: true };
  }

  get words() {
    return { isPinned: this.alignments.isPinned };
  }

  get number() {
    return this.alignments.model.said.number;
  }

  get fullScale() {
    return this.alignments.isFullScale;
  }

  get canRank() {
    return Boolean(this.alignments.rankedHeads);
  }

  // The heads as Python has ranked them.
  get store() {
    const ranked = this.alignments.rankedHeads;
    return { table: () => ({ value: ranked && { mean: () => ranked.mean, ranked: () => ranked.first } }) };
  }

  // Of a word that has two rows, which one the heads are ranked by.
  get rankedBy() {
    const [step, isOther] = this.alignments.rankedHeads?.step?.split(", ") ?? [];
    if (!step) return "";
    return isOther ? `the row that ${step} it, while the picture has the one that ${step === "writes" ? "reads" : "writes"} it` : `the row that ${step} it`;
  }

  /** @param {number} layer @param {number} head */
  isChosen(layer, head) {
    return this.current.layer === layer && this.current.head === head;
  }
}

/** @param {Model} model */
function overviewOf({ said, queries, keys }) {
  const words = (/** @type {[string, number, ...any]} */ [text, special], /** @type {number} */ index) => ({ text, special: Boolean(special), parts: [index] });
  return {
    words: { queries: queries.map(words), keys: keys.map(words), own: queries.map(() => null) },
    direction: said.directions, lineNames: LINE_NAMES, layers: said.shape?.[0] ?? 1, heads: said.shape?.[1] ?? 1,
  };
}
