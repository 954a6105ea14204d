// A picture that came with the site: what is seen first is in its files, and the worker reads them for anything else.

import { readPackage } from "../../figures/drawing/package.js";
import { ModelPicture } from "./model_picture.js";
import { fetchFile } from "./runtime.js";

/**
 * @import { AnswerQuestion } from "./answer_words.js"
 * @import { Background } from "./worker_client.js"
 * @import { View } from "./head_view.js"
 * @import { HeadPlace, HeadShown, Overview, Place, Said } from "./model_picture.js"
 * @import { WordQuestion } from "./word_links.js"
 * @import { Sentence } from "./wording.js"
 */

export class SitePicture extends ModelPicture {
  #isOpen = false;
  /** @type {Promise<any> | null} */
  #aligned = null;

  /** @param {Said} said @param {URL} base @param {Background} background */
  constructor(said, base, background) {
    super(said, said.name, background);
    this.base = base;
    const ask = this.ask;
    /** @param {string} work @param {object} asked */
    this.ask = async (work, asked) => {
      if (!this.#isOpen) await ask("open", { base: base.href, maps: this.maps });
      this.#isOpen = true;
      return ask(work, asked);
    };
  }

  /** @param {string} kind @param {View} view @returns {Promise<Overview | null>} */
  async overview(kind, view) {
    return isFirst(view) ? readPackage(await this.#fetch(this.#map(kind).file)) : super.overview(kind, view);
  }

  /** @param {string} kind @param {View} view @param {HeadPlace[]} places @returns {Promise<Map<string, Uint8Array<ArrayBuffer>>>} */
  async heads(kind, view, places) {
    if (!isFirst(view)) return super.heads(kind, view, places);
    const { layers = [] } = this.#map(kind);
    const files = [...new Set(places.map(([layer]) => layers[layer]))];
    const parts = await Promise.all(files.map(async (file) => readPackage(await this.#fetch(file))));
    return new Map(parts.flatMap(({ chunks }) => [...chunks]));
  }

  /** @param {string} kind @param {View} view @param {WordQuestion} question */
  async link(kind, view, question) {
    const isUnasked = !question.place && question.query === null;
    return isUnasked && isFirst(view) && this.said.link ? this.said.link : super.link(kind, view, question);
  }

  /** @param {Place} place @returns {Promise<{ sentences: Sentence[], hidden: string }>} */
  async story(place) {
    const { link, shown } = this.said;
    const isSaid = link && place.kind === shown && ["layer", "head", "query", "key"].every((name) => Reflect.get(place, name) === link[name]);
    return isSaid && isFirst(place.view) ? { sentences: this.said.story, hidden: "" } : super.story(place);
  }

  /** @param {AnswerQuestion} asked */
  async answerHead(asked) {
    const { side, layer, head, isMean, word, view: { words, hideSpecial } } = asked;
    const isUnasked = [side, layer, head, isMean, word].every((each) => each === null) && words && !hideSpecial;
    return isUnasked && this.said.seen ? this.said.seen : super.answerHead(asked);
  }

  async alignments() {
    this.#aligned ??= this.#fetch(`${this.said.name}.align`).then(readPackage);
    const message = await this.#aligned;
    return { ...message, cells: { ...message.cells }, models: message.models.map((/** @type {object} */ each) => ({ ...each })) };
  }

  /** @param {string} kind */
  #map(kind) {
    return this.maps.find((map) => map.kind === kind) ?? this.maps[0];
  }

  /** @param {string} file */
  async #fetch(file) {
    return (await fetchFile(new URL(file, this.base))).arrayBuffer();
  }
}

/** @param {View} view */
const isFirst = ({ words, hideSpecial, between = "all" }) => !words && !hideSpecial && between === "all";
