// Translations and their alignments on a page of the site; what is chosen in them becomes the page's address.

import { describeAlignment } from "./alignment_wording.js";
import { mountPicture } from "./pane.js";

/**
 * @import { Values } from "./address.js"
 * @import { Sentence } from "./wording.js"
 */

export class AlignmentPanel {
  #name = "";

  /** @param {HTMLElement} place @param {URL} script @param {(values: Values) => void} onChange @param {(story: Sentence[]) => void} onStory */
  constructor(place, script, onChange, onStory) {
    this.onChange = onChange;
    this.onStory = onStory;
    this.mounted = mountPicture(place, "alignment", script);
  }

  /** @param {any} message what attnviz/figures/translate/alignments.py packs @param {Values} values */
  async show(message, values) {
    const { picture: alignments } = await this.mounted;
    if (message.name !== this.#name) alignments.state.seq = 0;
    this.#name = message.name;
    for (const { slot, rows, columns } of message.models) {
      const [query, key] = [rows.indexOf(values[`query${slot}`]), columns.indexOf(values[`key${slot}`])];
      if (query >= 0 && key >= 0) message.cells[slot] = [query, key];
    }
    const slots = message.models.map((/** @type {{ slot: number }} */ each) => each.slot);
    const hero = slots.includes(values.hero) ? values.hero : slots[0];
    const fullScale = values.scale !== "Fit to this head";
    alignments.host.pick = (/** @type {any} */ change) => this.#pick(change, alignments);
    alignments.update({ ...message, hero, fullScale, theme: "auto", seq: alignments.state.seq });
    this.#tell(alignments);
  }

  /** @param {{ hero: number, query?: number, key?: number }} change @param {any} alignments */
  #pick({ hero, query, key }, alignments) {
    /** @type {Values} */
    const values = { hero: hero === 1 ? null : hero };
    if (query !== undefined) Object.assign(values, { [`query${hero}`]: query, [`key${hero}`]: key });
    this.onChange(values);
    this.#tell(alignments);
  }

  /** @param {any} alignments */
  #tell(alignments) {
    this.onStory([describeAlignment(alignments.state.model)]);
  }
}
