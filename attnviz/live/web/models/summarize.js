// The summarizer: the words and sentences of a text that receive most attention in the layers that were trained to choose.

import { checked, encode } from "./bert_tokens.js";
import { inputsOf } from "./encode.js";
import { encoderWeights } from "./attention_weights.js";
import { ModelError } from "./model_files.js";
import { sentenceAt, sentencesOf } from "./sentences.js";
import { choose, extract, unitsOf } from "./summary_selection.js";

export class Summarizer {
  /** @param {import("./load_model.js").Loaded} loaded */
  constructor({ manifest, passes, tokenizers, vectors, segmenter }) {
    this.card = manifest.card;
    this.pass = passes.summarize;
    this.weigh = passes.weigh;
    this.tokenizer = tokenizers.text;
    this.vectors = /** @type {import("./model_files.js").WordVectors} */ (vectors);
    if (!segmenter) throw new Error("the summarizer needs runtime.segmenter");
    this.segmenter = segmenter;
  }

  /**
   * @param {import("./types.d.ts").Request} request
   * @returns {Promise<import("./load_model.js").Outcome>}
   */
  async trace({ text, words = 10, sentences: wanted = 1, share = false }) {
    const read = checked(encode(this.tokenizer, [text], this.card.max_tokens));
    const sentences = sentencesOf(this.segmenter, text);
    const numbers = this.numbers(read.tokens, sentences);
    const inputs = { ...(await inputsOf(read, this.vectors)), sentences: { data: numbers, dims: [1, numbers.length] } };
    const { n_layers: layers, n_heads: heads } = this.card;
    const weights = await encoderWeights(this.weigh, await this.pass.run(inputs), heads);
    const map = { kind: /** @type {const} */ ("encoder"), queries: read.tokens, keys: read.tokens, layers, heads, causal: false, ...weights };
    const units = unitsOf(text, read.tokens, sentences);
    if (!units.some(({ candidate }) => candidate)) {
      throw new ModelError("There is no word in this text that could be kept: type a sentence.");
    }
    const selects = /** @type {[number, number]} */ (this.card.selects);
    const extra = choose(map, units, sentences, { words, wanted, share, selects });
    return { output: extract(text, sentences, extra.keptSentences), extra, maps: [map], cuts: read.cuts };
  }

  /**
   * Number each token by its sentence; a special token counts to the one before it, [CLS] to the first.
   * @param {import("./types.d.ts").Token[]} tokens
   * @param {import("./sentences.js").Spans} sentences
   */
  numbers(tokens, sentences) {
    let last = 0;
    return Int32Array.from(tokens, ({ special, start }) => {
      if (!special) last = sentenceAt(sentences, start);
      return last;
    });
  }
}
