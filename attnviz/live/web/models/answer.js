// The answerer: the best spans of a passage of any length, and the attention over the window that holds the best one.

import { encode } from "./bert_tokens.js";
import { ModelError } from "./errors.js";
import { encoderWeights, weightsOf, layersOf } from "./map_weights.js";
import { bestSpans, jointOf, judge, largest, marginals, merged, pairLogits, windowsOf } from "./spans.js";

/**
 * @typedef {import("./bert_tokens.js").Encoded} Encoded
 * @typedef {import("./spans.js").Window} Window
 * @typedef {import("./spans.js").Span} Span
 * @typedef {import("./types.d.ts").Token} Token
 * @typedef {Encoded & { first: number, stop: number }} Pair the tokens of the passage stand at `first` up to `stop`
 */

// Spans that are listed.
const N_BEST = 5;

export class Answerer {
  /** @param {import("./load_model.js").Loaded} loaded */
  constructor({ manifest, passes, tokenizers, vectors }) {
    this.card = manifest.card;
    this.options = manifest.options;
    this.pass = passes.answer;
    this.weigh = passes.weigh;
    this.tokenizer = tokenizers.text;
    this.vectors = /** @type {import("./word_vectors.js").WordVectors} */ (vectors);
  }

  /**
   * @param {import("./types.d.ts").Request} request
   * @returns {Promise<import("./load_model.js").Outcome>}
   */
  async trace({ text, question }) {
    const { name } = this.card;
    const pair = pairOf(encode(this.tokenizer, [questionOf(question, text, this.options), text], Infinity), name);
    const tokens = pair.tokens.slice(pair.first, pair.stop);
    const windows = this.windows(pair, tokens);
    const parts = [];
    for (const window of windows) parts.push(await this.run(pair, window, windows.length === 1));
    const found = this.find(tokens, windows, parts.map(({ start, end }) => ({ start, end })));
    const best = windows.length === 1 ? parts[0] : await this.run(pair, windows[found.best], true);
    const [span] = found.spans;
    const judged = judge(this.options.decoding, span.probability, found.nothing);
    const spans = found.spans.map((each) => ({ ...each, text: textOf(each, text, tokens) }));
    const output = judged.declined ? "" : spans[0].text;
    return { output, extra: { ...found, ...judged, spans, tokens }, maps: await this.maps(pair, windows[found.best], best) };
  }

  /**
   * @param {Pair} pair
   * @param {Token[]} passage
   */
  windows(pair, passage) {
    const { name } = this.card;
    const { window, stride } = this.options.decoding;
    const around = pair.ids.length - passage.length;
    const room = window - around;
    if (!passage.some(({ start, end }) => end > start)) {
      throw new ModelError(`${name} finds nothing to read in this passage: paste a text with words in it.`);
    }
    if (room < Math.min(passage.length, this.options.least_room)) {
      throw new ModelError(
        `The question takes ${around} of the ${window} tokens that ${name} reads at once, ` +
          "which leaves no room for the passage: ask in fewer words.",
      );
    }
    return windowsOf(passage.length, room, Math.min(stride, Math.max(Math.floor(room / 2), 1)));
  }

  /**
   * Run a window of the passage: its logits, and where `all` the weights of every layer.
   * @param {Pair} pair
   * @param {Window} window
   * @param {boolean} all
   */
  async run(pair, window, all) {
    const { ids } = cutTo(pair, window);
    const sides = [ids.slice(0, pair.first), ids.slice(pair.first)];
    const [question, context] = await Promise.all(sides.map((side) => this.vectors.of(side)));
    const { width } = this.vectors.meta;
    const inputs = {
      question: { data: question, dims: [1, sides[0].length, width] },
      context: { data: context, dims: [1, sides[1].length, width] },
    };
    const outputs = await this.pass.run(inputs, all ? undefined : ["start", "end"]);
    /** @param {Float32Array} logits -Infinity for what is no text */
    const legal = (logits) => logits.map((logit, place) => (this.options.special.includes(sides[1][place]) ? -Infinity : logit));
    return { outputs, start: legal(outputs.start.data), end: legal(outputs.end.data) };
  }

  /**
   * Find the best spans of a passage by the logits of its windows.
   * @param {Token[]} tokens
   * @param {Window[]} windows
   * @param {{ start: Float32Array, end: Float32Array }[]} parts
   */
  find(tokens, windows, parts) {
    const { limit, length_penalty: penalty } = this.options.decoding;
    const start = merged(windows, parts.map((part) => part.start));
    const end = merged(windows, parts.map((part) => part.end));
    const pairs = pairLogits({ start, end }, limit, penalty);
    if (!Number.isFinite(largest(pairs))) {
      throw new ModelError(`${this.card.name} finds no word in this passage that could be an answer: paste a text.`);
    }
    const spans = bestSpans(pairs, limit, N_BEST, 0);
    const best = widest(spans[0], windows);
    const joint = jointOf({ start, end }, spans, limit, penalty);
    return { joint, spans, ...marginals(pairs, limit, 0), windows, best };
  }

  /**
   * @param {Pair} pair
   * @param {Window} window
   * @param {{ outputs: Record<string, import("./session.js").Computed> }} run
   * @returns {Promise<import("./types.d.ts").AttentionMap[]>}
   */
  async maps(pair, window, { outputs }) {
    const { tokens } = cutTo(pair, window);
    const { n_layers: layers, n_heads: heads } = this.card;
    const [acrossLayers, acrossHeads] = this.options.cross;
    const [question, context] = [tokens.slice(0, pair.first), tokens.slice(pair.first)];
    const weights = await encoderWeights(this.weigh, outputs, heads);
    const across = weightsOf(layersOf(outputs, "cross"), acrossHeads);
    return [
      { kind: "encoder", queries: tokens, keys: tokens, layers, heads, causal: false, ...weights },
      { kind: "cross", queries: context, keys: question, layers: acrossLayers, heads: acrossHeads, causal: false, ...across },
    ];
  }
}

/**
 * @param {string | null | undefined} question
 * @param {string} passage
 * @param {Record<string, any>} options
 */
function questionOf(question, passage, { most_characters: most }) {
  if (!question || !/[^\s\p{C}\p{Z}]/u.test(question)) {
    throw new ModelError("There is no question yet: type one about the passage.");
  }
  const length = [...passage].length;
  if (length > most) {
    throw new ModelError(
      `This passage has ${length.toLocaleString("en")} characters, and at most ${most.toLocaleString("en")} are read: ` +
        "paste the part that the question is about.",
    );
  }
  return question;
}

/**
 * Find the passage, segment 1, behind the question, segment 0.
 * @param {Encoded} whole
 * @param {string} name
 * @returns {Pair}
 */
function pairOf(whole, name) {
  const typed = whole.tokens.map((token, place) => ({ ...token, place })).filter((token) => !token.special);
  if (!typed.some(({ segment }) => segment === 0)) {
    throw new ModelError(`${name} finds nothing to read in this question: type it in words.`);
  }
  const places = typed.filter(({ segment }) => segment === 1).map(({ place }) => place);
  const [first, stop] = places.length ? [places[0], places[places.length - 1] + 1] : [whole.ids.length, whole.ids.length];
  return { ...whole, first, stop };
}

/**
 * Cut a pair to a window's tokens of the passage.
 * @param {Pair} pair
 * @param {Window} window
 */
function cutTo({ ids, tokens, first, stop }, window) {
  /** @template T @param {T[]} values */
  const cut = (values) => [
    ...values.slice(0, first),
    ...values.slice(first + window.start, first + window.stop),
    ...values.slice(stop),
  ];
  return { ids: cut(ids), tokens: cut(tokens) };
}

/**
 * Choose the window that shows most on either side of a span; the passage's own ends hide nothing.
 * @param {Span} span
 * @param {Window[]} windows
 */
function widest(span, windows) {
  const stop = windows[windows.length - 1].stop;
  const shown = windows.map((window) => {
    const left = span.start - window.start + (window.start === 0 ? stop : 0);
    return Math.min(left, window.stop - 1 - span.end + (window.stop === stop ? stop : 0));
  });
  return shown.indexOf(Math.max(...shown));
}

/**
 * Cut a span out of the text, as it stands there.
 * @param {Span} span
 * @param {string} text
 * @param {Token[]} tokens
 */
function textOf(span, text, tokens) {
  return [...text].slice(tokens[span.start].start, tokens[span.end].end).join("");
}
