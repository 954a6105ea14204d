// The answerer: the best spans of a passage of any length, and the attention over the window that holds the best one.

import { encode, wordSpans } from "./bert_tokens.js";
import { encoderWeights, weightsOf, layersOf } from "./attention_weights.js";
import { ModelError } from "./model_files.js";

// From start and end logits to answers, as in attnviz.models.span_decoding: spans found jointly, over passages of any length.

/**
 * @typedef {{ start: number, stop: number }} Window tokens of a passage that are read in one pass, the last one excluded
 * @typedef {{ start: number, end: number, probability: number }} Span both ends included
 * @typedef {{ start: ArrayLike<number>, end: ArrayLike<number> }} Logits
 */

/**
 * Cut windows of `size` tokens, each `stride` after the one before; the last ends with the passage, and is as long as any.
 * @param {number} nTokens
 * @param {number} size
 * @param {number} stride
 * @returns {Window[]}
 */
export function windowsOf(nTokens, size, stride) {
  const last = Math.max(0, nTokens - size);
  const starts = [];
  for (let start = 0; start < last; start += stride) starts.push(start);
  return [...starts, last].map((start) => ({ start, stop: Math.min(nTokens, start + size) }));
}

/**
 * Take one value for every token of a passage: from the first window where the token has most to either side.
 * @param {Window[]} windows
 * @param {ArrayLike<number>[]} values
 */
export function merged(windows, values) {
  const nTokens = Math.max(...windows.map(({ stop }) => stop));
  const best = new Float64Array(nTokens).fill(-Infinity);
  const most = new Float64Array(nTokens).fill(-1);
  windows.forEach(({ start, stop }, number) => {
    for (let place = start; place < stop; place += 1) {
      // At the passage's own ends there is nothing more to see: such an end counts as if it were far away.
      const left = place - start + (start === 0 ? nTokens : 0);
      const right = stop - 1 - place + (stop === nTokens ? nTokens : 0);
      if (Math.min(left, right) <= most[place]) continue;
      most[place] = Math.min(left, right);
      best[place] = values[number][place - start];
    }
  });
  return best;
}

// Starts, and ends, that are drawn of start × end: more could not be read.
const DRAWN = 16;

/**
 * List p(start, end) of the likeliest starts and ends, in the order of the passage.
 * @param {Logits} logits
 * @param {Span[]} spans the best
 * @param {number} limit
 * @param {number} lengthPenalty
 */
export function jointOf({ start, end }, spans, limit, lengthPenalty) {
  const [best] = spans;
  const [rows, columns] = [likeliest(start, spans.map((span) => span.start)), likeliest(end, spans.map((span) => span.end))];
  const masked = rows.flatMap((row) => columns.map((column) => column < row || column > row + limit));
  // One span's probability is known, and with it that of all others: they differ by their logits alone.
  const above = rows.flatMap((row) => columns.map((column) => {
    return start[row] - start[best.start] + end[column] - end[best.end] - lengthPenalty * (column - row - (best.end - best.start));
  }));
  const weights = above.map((logit, at) => (masked[at] ? 0 : Math.exp(logit) * best.probability));
  const ranks = spans.map((span) => /** @type {[number, number]} */ ([rows.indexOf(span.start), columns.indexOf(span.end)]));
  return { starts: rows, ends: columns, weights, masked, ranks };
}

/**
 * @param {ArrayLike<number>} logits
 * @param {number[]} own places that are among them
 */
function likeliest(logits, own) {
  const places = [...new Set(own)];
  const ranked = Array.from(logits, (_, place) => place).filter((place) => !places.includes(place));
  ranked.sort((one, other) => logits[other] - logits[one] || one - other);
  return [...places, ...ranked.slice(0, Math.max(DRAWN - places.length, 0))].sort((one, other) => one - other);
}

/**
 * Compute the logit of every span: at its start, and by how many tokens follow; -Infinity where there is none.
 * @param {Logits} logits
 * @param {number} limit tokens of an answer after its first, at most
 * @param {number} lengthPenalty what each of these takes from a span's logit
 */
export function pairLogits({ start, end }, limit, lengthPenalty) {
  const pairs = new Float64Array(start.length * (limit + 1)).fill(-Infinity);
  for (let first = 0; first < start.length; first += 1) {
    for (let length = 0; length <= limit && first + length < end.length; length += 1) {
      pairs[first * (limit + 1) + length] = start[first] + end[first + length] - lengthPenalty * length;
    }
  }
  return pairs;
}

/**
 * Find the `n` best spans without overlap, best first; of two equal ones the first counts, and of these the shorter.
 * @param {Float64Array} pairs as of `pairLogits`
 * @param {number} limit
 * @param {number} n
 * @param {number} nothing the logit of no answer
 * @returns {Span[]}
 */
export function bestSpans(pairs, limit, n, nothing) {
  const left = pairs.slice();
  const top = Math.max(largest(pairs), nothing);
  const total = pairs.reduce((sum, pair) => sum + Math.exp(pair - top), Math.exp(nothing - top));
  /** @type {Span[]} */
  const spans = [];
  while (spans.length < n) {
    const best = left.indexOf(largest(left));
    if (best < 0 || left[best] === -Infinity) break;
    const [start, length] = [Math.floor(best / (limit + 1)), best % (limit + 1)];
    spans.push({ start, end: start + length, probability: Math.exp(left[best] - top) / total });
    // No other span may share a token with this one.
    for (let first = Math.max(0, start - limit); first <= start + length; first += 1) {
      const row = first * (limit + 1);
      left.fill(-Infinity, row + Math.max(0, start - first), row + limit + 1);
    }
  }
  return spans;
}

/**
 * Compute p(start), p(end) and p(no answer) of one softmax over all spans and no answer.
 * @param {Float64Array} pairs as of `pairLogits`
 * @param {number} limit
 * @param {number} nothing the logit of no answer
 */
export function marginals(pairs, limit, nothing) {
  const top = Math.max(largest(pairs), nothing);
  const nTokens = pairs.length / (limit + 1);
  const [start, end] = [new Float64Array(nTokens), new Float64Array(nTokens)];
  const none = Math.exp(nothing - top);
  let total = none;
  pairs.forEach((pair, place) => {
    const weight = Math.exp(pair - top);
    if (!weight) return;
    const first = Math.floor(place / (limit + 1));
    start[first] += weight;
    end[first + (place % (limit + 1))] += weight;
    total += weight;
  });
  return { start: start.map((each) => each / total), end: end.map((each) => each / total), nothing: none / total };
}

/** @param {Float64Array} values too many for the arguments of Math.max */
export function largest(values) {
  return values.reduce((most, value) => Math.max(most, value), -Infinity);
}

/**
 * Whether a model declines, above which p(no answer), and else how many of the answers this sure are right, where that was measured.
 * @param {{ slope: number, slope_nothing: number, intercept: number, declines_above: number | null, calibrated: boolean }} decoding
 * @param {number} probability of the best span
 * @param {number} nothing
 */
export function judge(decoding, probability, nothing) {
  const limit = decoding.declines_above;
  const declined = nothing > (limit ?? probability);
  const sure = Math.min(confidence(decoding, probability, nothing), 1 - nothing);
  return { declined, limit, confidence: declined || !decoding.calibrated ? null : sure };
}

/**
 * Estimate how often a best span is an accepted answer, as attnviz.models.span_decoding does.
 * @param {{ slope: number, slope_nothing: number, intercept: number }} decoding
 * @param {number} probability
 * @param {number} nothing
 */
function confidence(decoding, probability, nothing) {
  const among = logOdds(probability / Math.max(1 - nothing, 1e-12));
  const odds = decoding.slope * among + decoding.slope_nothing * logOdds(nothing) + decoding.intercept;
  return 1 / (1 + Math.exp(-odds));
}

/** @param {number} share */
function logOdds(share) {
  const clipped = Math.min(Math.max(share, 1e-6), 1 - 1e-6);
  return Math.log(clipped) - Math.log1p(-clipped);
}

/**
 * Say whether nothing speaks against English, as attnviz.text.words does: how many answers are right was measured on English passages.
 * @param {string} text
 * @param {import("./types.d.ts").SmallWords} small words of languages
 */
export function seemsEnglish(text, { english, others, foreign, articles }) {
  const letters = text.match(/\p{L}/gu) ?? [];
  if (letters.length && letters.filter((letter) => /\p{Script=Latin}/u.test(letter)).length < letters.length / 2) return false;
  const characters = [...text];
  const written = wordSpans(text).map(([start, end]) => characters.slice(start, end).join(""));
  const words = written.map((word) => word.toLowerCase());
  const countOf = (/** @type {string[]} */ known) => words.filter((word) => known.includes(word)).length;
  const [own, other] = [countOf(english), Math.max(...others.map(countOf))];
  const isArticle = (/** @type {number} */ place) => articles.includes(words[place]) && !isUpper(written[place]) && /^\p{Ll}/u.test(written[place + 1] ?? "");
  if (!own && (countOf(foreign) > 0 || words.some((_, place) => isArticle(place)))) return false;
  return other < 2 || other <= own;
}

/** @param {string} word */
const isUpper = (word) => word !== word.toLowerCase() && word === word.toUpperCase();

/**
 * @import { Encoded } from "./bert_tokens.js"
 * @import { Token } from "./types.d.ts"
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
    this.vectors = /** @type {import("./model_files.js").WordVectors} */ (vectors);
  }

  /**
   * @param {import("./types.d.ts").Request} request
   * @returns {Promise<import("./load_model.js").Outcome>}
   */
  async trace({ text, question, isEnglish }) {
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
    const confidence = isEnglish ? judged.confidence : null;
    return { output, extra: { ...found, ...judged, confidence, spans, tokens }, maps: await this.maps(pair, windows[found.best], best) };
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
   * @param {{ outputs: Record<string, import("./onnx_graph.js").Computed> }} run
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
