// What a page shows of a text that a model read here; site_picture.js gives the same of a picture that came with the site.

import { alignmentsOf } from "./alignments.js";

/**
 * @import { AnswerHead, AnswerQuestion } from "./answer_words.js"
 * @import { Values } from "./address.js"
 * @import { Background } from "./worker_client.js"
 * @import { View } from "./head_view.js"
 * @import { WordLink, WordQuestion } from "./word_links.js"
 * @import { Sentence } from "./wording.js"
 * @typedef {Record<string, any>} Overview
 * @typedef {[layer: number, head: number | null]} HeadPlace
 * @typedef {{ kind: string, shape: [layers: number, heads: number], file: string, layers?: string[], first: HeadPlace }} MapOfSite
 * @typedef {{ name: string, models: string[], label: string, notice: string, prompt: Record<string, string>, output: string, shown: string,
 *   story: Sentence[], maps: MapOfSite[], answer?: any, passage?: any, joint?: any, read?: any, rows?: any[], seen?: AnswerHead,
 *   shapes?: [layers: number, heads: number][], link?: any, tokens?: any, computation?: any, at?: any, checked?: any }} Said
 * @typedef {{ kind: string, layer: number, head: number | null, view: View }} HeadShown
 * @typedef {HeadShown & { query: number | null, key: number | null }} Place
 */

// What a model made of a text here: the worker has all of it.
export class ModelPicture {
  /** @param {Said} said @param {string} key @param {Background} background */
  constructor(said, key, background) {
    this.said = said;
    this.maps = said.maps;
    /** @type {WordLink | null} The link between words that is looked at, where the page asks for one. */
    this.linked = null;
    /** @type {any} The alignments that are drawn. */
    this.aligned = null;
    /** @type {AnswerHead | null} The head in which question and passage are looked at. */
    this.seen = null;
    /** @type {(() => Promise<void>) | null} Fetches what other texts may need of the model. */
    this.keep = null;
    this.left = 0;
    /** @param {string} work @param {object} asked */
    this.ask = (work, asked) => background.ask(work, { key, ...asked });
  }

  /** @param {string} kind @param {View} view @returns {Promise<Overview | null>} */
  overview(kind, view) {
    return this.ask("overview", { kind, view });
  }

  /** @param {string} kind @param {View} view @param {HeadPlace[]} places @returns {Promise<Map<string, Uint8Array<ArrayBuffer>>>} */
  heads(kind, view, places) {
    return this.ask("heads", { kind, view, places });
  }

  /** @param {Place} place @returns {Promise<{ sentences: Sentence[], hidden: string }>} */
  story({ query, key, ...place }) {
    return this.ask("story", { ...place, query, at: key });
  }

  /** The link between words that is looked at. @param {string} kind @param {View} view @param {WordQuestion} question @returns {Promise<WordLink | null>} */
  link(kind, view, question) {
    return this.ask("link", { kind, view, question });
  }

  /** Question and passage in one head. @param {AnswerQuestion} asked @returns {Promise<AnswerHead>} */
  answerHead(asked) {
    const { answer, passage: { units, spans: [[first, last]] } } = this.said;
    return this.ask("answer", { answer: { text: answer.text, place: [units[first][0], units[last][1]], units }, asked });
  }

  /** Question and passage in one head as a matrix, around the answer. @param {AnswerHead} seen @param {View} view */
  answerMatrix(seen, view) {
    const { passage: { units, spans: [[first, last]] } } = this.said;
    return this.ask("matrix", { place: [units[first][0], units[last][1]], seen, view });
  }

  /** What every selector keeps. @param {object} amount @param {number} layer @param {number | null} head @returns {Promise<any[]>} */
  selectors(amount, layer, head) {
    const { prompt: { text }, read } = this.said;
    return this.ask("selectors", { text, read, amount, layer, head });
  }

  /** What words give in every head. @param {string} kind @param {View} view @param {number[]} words @returns {Promise<Uint8Array<ArrayBuffer>>} */
  linkTable(kind, view, words) {
    return this.ask("table", { kind, view, words });
  }

  /** What the alignments draw. @param {Values} values @returns {Promise<any>} */
  alignments(values) {
    return alignmentsOf(this, values);
  }

  /** @param {HeadShown} place */
  table(place) {
    return this.ask("weights", place);
  }
}
