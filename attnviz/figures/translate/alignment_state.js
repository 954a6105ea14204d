// What the alignments show: the models, which of them is large, the chosen cell of each, and what is pointed at.

import { Model } from "./model_translation.js";

/**
 * @import { Place } from "../drawing/matrix.js"
 * @import { Bytes } from "../drawing/package.js"
 * @import { Ranked } from "../explorer/word_weights.js"
 * @import { Description } from "./model_translation.js"
 * @typedef {{ name: string, models: Description[], chunks: Map<string, Bytes>, seq: number, hero: number,
 *   cells: Record<number, [query: number, key: number]>, ranked?: Record<number, RankedLink>, open: boolean, theme: string,
 *   fullScale: boolean, least: number, isPinned?: boolean }} Message
 * @typedef {{ cell: [query: number, key: number], mean: number, first: Ranked[], step?: string }} RankedLink  of a model with several heads: what
 *   the first of them, and on average all, give to a link; step: which of the two rows of a word is ranked, and whether it is the drawn one
 */

export class AlignmentState {
  // Of the package, by its content.
  name = "";
  /** @type {Model[]} */
  models = [];
  // The slot of the model that is large.
  hero = 0;
  /** @type {Message["cells"]} */
  cells = {};
  /** @type {Record<number, RankedLink>} */
  ranked = {};
  // Whether what could stand in place of the chosen word is shown.
  isOpen = false;
  // Whether a person chose the head; else it follows what is asked.
  isPinned = false;
  // Counts what a person chose: what Python says of an earlier choice is older already.
  seq = 0;
  // Whether colours run to a weight of 1, where they could end, and where they do.
  isFullScale = true;
  end = 1;
  highest = 1;
  // The weight from which on a link is drawn.
  least = 0;
  /** @type {(Place & { model: Model }) | null} */
  pointed = null;

  /** Takes what Python says is to be looked at; true where it is of other models. @param {Message} message */
  update({ name, models, chunks, seq, hero, cells, ranked = {}, open, fullScale, least, isPinned = false }) {
    const isOther = name !== this.name;
    if (isOther) {
      this.models = models.map((each) => new Model(each, /** @type {Bytes} */ (chunks.get(String(each.slot)))));
      Object.assign(this, { name, cells, ranked, pointed: null });
    }
    if (seq >= this.seq) Object.assign(this, { seq, hero, cells, ranked, isOpen: open });
    Object.assign(this, { least, isPinned });
    this.isFullScale = fullScale;
    this.end = fullScale ? 1 : Math.max(...this.models.map(({ highest }) => highest), 1e-9);
    this.highest = Math.min(this.end, Math.max(...this.models.map(({ limit }) => limit)));
    return isOther;
  }

  get model() {
    return this.models.find(({ slot }) => slot === this.hero) ?? this.models[0];
  }

  // The row and the column that are chosen in the large picture.
  get chosen() {
    const [query, key] = this.cells[this.model.slot];
    return { query, key };
  }

  // What the heads of the large model are ranked by; nothing while that of the link is on its way.
  get rankedHeads() {
    const { query, key } = this.chosen;
    const link = this.ranked[this.model.slot];
    return link && link.cell[0] === query && link.cell[1] === key ? link : null;
  }

  get choices() {
    return this.model.said.choices[this.chosen.query];
  }

  // What the parts of the large picture are drawn from: another name is another picture.
  get drawn() {
    return `${this.name} ${this.model.slot}`;
  }

  /** The words of a model that are lit: those that are pointed at, wherever, else the chosen ones. @param {Model} model */
  litIn(model) {
    return this.pointed ? model.find(this.pointed.model, this.pointed) : model.find(this.model, this.chosen);
  }
}
