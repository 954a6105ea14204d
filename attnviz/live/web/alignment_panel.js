// Translations and their alignments on a page of the site; what is chosen in them becomes the page's address.

import { askedCell } from "./alignment_cell.js";
import { describeAlignment } from "./alignment_wording.js";
import { mountPicture } from "./mount_picture.js";

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
    for (const model of message.models) {
      const cell = askedCell(drawnOf(model, message.chunks), firstRowOf(message, model.slot), { query: values[`query${model.slot}`] ?? null, key: values[`key${model.slot}`] ?? null });
      if (cell) message.cells[model.slot] = cell;
    }
    const slots = message.models.map((/** @type {{ slot: number }} */ each) => each.slot);
    const hero = slots.includes(values.hero) ? values.hero : slots[0];
    const fullScale = values.scale !== "Fit to this head";
    alignments.host.pick = (/** @type {any} */ change) => this.#pick(change, message);
    alignments.update({ ...message, hero, fullScale, theme: "auto", seq: alignments.state.seq });
    const { [hero]: likely = null } = message.likely ?? {};
    this.onStory([describeAlignment(alignments.state.model), ...(likely ? [likely] : [])]);
  }

  /** @param {{ hero: number, query?: number, key?: number, isLink?: boolean, layer?: number, head?: number | null, unpin?: boolean }} change @param {any} message */
  #pick({ hero, query, key, isLink, layer, head, unpin }, message) {
    /** @type {Values} */
    const values = { hero: hero === 1 ? null : hero };
    if (query !== undefined) Object.assign(values, { [`query${hero}`]: query + firstRowOf(message, hero), [`key${hero}`]: isLink ? key : null });
    if (layer !== undefined) Object.assign(values, { layer, head: head ?? null, all_heads: head === null || null });
    if (unpin) Object.assign(values, { layer: null, head: null, all_heads: null });
    this.onChange(values);
  }
}

/** The number that the address has for the first row. @param {any} message @param {number} slot @returns {number} */
const firstRowOf = ({ firstRows = {} }, slot) => firstRows[slot] ?? 0;

/** @param {any} model @param {Map<string, Uint8Array>} chunks */
function drawnOf({ slot, queries, keys, rows, columns }, chunks) {
  const words = (/** @type {[text: string, special: number][]} */ tokens) => tokens.map(([text, special]) => ({ text, special: Boolean(special) }));
  const weights = new Float32Array(/** @type {Uint8Array<ArrayBuffer>} */ (chunks.get(String(slot))).slice().buffer);
  return { queries: words(queries), keys: words(keys), rows, columns, weights };
}
