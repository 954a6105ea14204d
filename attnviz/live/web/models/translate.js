// A translator: the best translation that it finds, or what it is made to write, with the probability of every token.

import { special, wordAt, wordSpans } from "./bert_tokens.js";
import { END, RecurrentDecoder, TransformerDecoder, beamSearch, logProbabilities, START } from "./decoding.js";
import { weightsOf } from "./attention_weights.js";
import { ModelError } from "./model_files.js";
import { isSpace, piecesOf } from "./piece_offsets.js";

// Tokens of what a translator reads and writes, as attnviz.models.translation makes them; offsets count code points.

/**
 * @import { Token, Request } from "./types.d.ts"
 * @import { Piece } from "./piece_offsets.js"
 * @import { Tokenizer } from "@huggingface/tokenizers"
 */

/**
 * Name a piece: there is always a name.
 * @param {Tokenizer} vocabulary
 * @param {number} piece
 */
function nameOf(vocabulary, piece) {
  return vocabulary.id_to_token(piece) ?? `<${piece}>`;
}

/**
 * Make tokens of pieces; a space before a piece is not part of its token. Signs that are drawn as one are one word.
 * @param {Piece[]} pieces
 * @param {string} text
 * @returns {Token[]}
 */
export function tokensOf(pieces, text) {
  const letters = [...text];
  const words = wordSpans(text);
  let before = { start: -1, word: /** @type {number | null} */ (null) };
  return pieces.map(({ piece, start, end: last, word }) => {
    // Of the mark that stands before a text the place is that of the first letter, which is the next piece's.
    const end = piece === "▁" && !letters.slice(start, last).every(isSpace) ? start : last;
    let [first, stop] = [start, end];
    while (first < stop && isSpace(letters[first])) first += 1;
    while (first < stop && isSpace(letters[stop - 1])) stop -= 1;
    const place = wordAt(words, first);
    // To the vocabulary each part of an emoji is a word.
    const isPart = place !== null && place === wordAt(words, before.start) && !/[\p{L}\p{N}]/u.test(letters.slice(...words[place]).join(""));
    const own = token(letters.slice(first, stop).join("") || piece, first, Math.max(first, end), isPart ? before.word : word, piece);
    before = own;
    return own;
  });
}

/**
 * Lay pieces that a model wrote over the text that they spell.
 * @param {Tokenizer} vocabulary
 * @param {number[]} pieces
 * @param {string} text
 * @returns {Token[]}
 */
function writtenTokens(vocabulary, pieces, text) {
  const letters = [...text];
  /** @type {Map<number, number>} */
  const words = new Map();
  for (const { start, end, word } of piecesOf(vocabulary, text)) for (let at = start; at < end; at += 1) words.set(at, word);
  let end = 0;
  return pieces.filter((piece) => piece !== END).map((index) => {
    const piece = nameOf(vocabulary, index);
    const label = piece.replaceAll("▁", " ").trim();
    const start = label ? find(letters, [...label], end) : end;
    end = start + [...label].length;
    return { ...token(label || piece, start, end, words.get(start) ?? null, piece), piece: piece === label ? "" : piece };
  });
}

/**
 * @param {string[]} letters
 * @param {string[]} wanted
 * @param {number} from
 */
function find(letters, wanted, from) {
  for (let at = from; at + wanted.length <= letters.length; at += 1) {
    if (wanted.every((letter, place) => letters[at + place] === letter)) return at;
  }
  return from;
}

/**
 * @param {string} text
 * @param {number} start
 * @param {number} end
 * @param {number | null} word
 * @param {string} piece
 * @returns {Token}
 */
function token(text, start, end, word, piece) {
  return { text, start, end, special: false, segment: 0, word, piece: piece === text ? "" : piece };
}

/**
 * @typedef {{ token: Token, probability: number }} DecodingStep
 * @typedef {{ ids: number[], tokens: Token[], cut: number | null }} Source
 */

export class Translator {
  /** @param {import("./load_model.js").Loaded} loaded */
  constructor({ manifest, passes, tokenizers }) {
    this.card = manifest.card;
    this.options = manifest.options;
    this.passes = passes;
    this.source = tokenizers.source;
    this.target = tokenizers.target;
  }

  /**
   * @param {Request} request
   * @returns {Promise<import("./load_model.js").Outcome>}
   */
  async trace({ text, target, beam = 1 }) {
    const source = this.read(text);
    const decoder = await (this.options.written_rows ? RecurrentDecoder : TransformerDecoder).begin(this.passes, source.ids);
    const own = await this.search(decoder, source, target ? 1 : beam);
    if (!target) {
      const output = this.textOf(own.pieces);
      const { steps, maps } = await this.follow(decoder, source, own.pieces, writtenTokens(this.target, own.pieces, output));
      return { output, maps, cuts: [source.cut], extra: { own: null, logProbability: own.logProbability, steps } };
    }
    const pieces = this.forced(target);
    const { steps, maps } = await this.follow(decoder, source, pieces, tokensOf(piecesOf(this.target, target), target));
    return { output: target, maps, cuts: [source.cut], extra: { own, logProbability: total(steps), steps } };
  }

  /**
   * Tokenize a text, cut to what the model reads.
   * @param {string} text
   * @returns {Source}
   */
  read(text) {
    const pieces = piecesOf(this.source, text);
    if (!pieces.length) throw new ModelError(`${this.card.name} finds nothing to read in this text: type a word.`);
    const kept = pieces.slice(0, this.card.max_tokens);
    const tokens = tokensOf(kept, text);
    const cut = kept.length < pieces.length ? tokens[tokens.length - 1].end : null;
    return { ids: kept.map(({ id }) => id), tokens, cut };
  }

  /** @param {string} target */
  forced(target) {
    const ids = piecesOf(this.target, target).map(({ id }) => id);
    const most = this.card.max_tokens - 1;
    if (!ids.length || ids.length > most) {
      throw new ModelError(`${this.card.name} writes at most ${most} tokens, and this target has ${ids.length}: type less.`);
    }
    return [...ids, END];
  }

  /**
   * Find the best translation.
   * @param {RecurrentDecoder | TransformerDecoder} decoder
   * @param {Source} source
   * @param {number} width of the beam
   */
  async search(decoder, source, width) {
    const longest = Math.min(this.card.max_tokens - 1, 3 * source.ids.length + 10);
    const [{ tokens, logProbability }] = await beamSearch(decoder, { width, longest, never: this.options.unwritable });
    return { pieces: tokens, logProbability };
  }

  /**
   * Trace exactly these pieces, and tell how likely each was.
   * @param {RecurrentDecoder | TransformerDecoder} decoder
   * @param {Source} source
   * @param {number[]} pieces
   * @param {Token[]} written
   */
  async follow(decoder, source, pieces, written) {
    const { scores, weights } = await decoder.follow([START, ...pieces.slice(0, -1)]);
    // An end mark is a row too, unless the limit came before it.
    const rows = pieces[pieces.length - 1] === END ? [...written, special("</s>", 0)] : written;
    const own = this.options.written_rows ? rows : [special("<s>", 0), ...rows.slice(0, -1)];
    const steps = this.steps(scores, rows, pieces);
    const axes = { encoder: [source.tokens, source.tokens], decoder: [own, own], cross: [own, source.tokens] };
    const { n_layers: layers, n_heads: heads } = this.card;
    const maps = this.options.kinds.map((/** @type {import("./types.d.ts").Kind} */ kind) => {
      const [queries, keys] = axes[kind];
      return { kind, queries, keys, layers, heads, causal: kind === "decoder", ...weightsOf(weights[kind], heads) };
    });
    return { steps, maps };
  }

  /**
   * @param {Float32Array} scores
   * @param {Token[]} rows
   * @param {number[]} pieces
   * @returns {DecodingStep[]}
   */
  steps(scores, rows, pieces) {
    const rowsOfScores = logProbabilities(scores, pieces.length);
    return rows.map((token, place) => ({ token, probability: Math.exp(rowsOfScores[place][pieces[place]]) }));
  }

  /** @param {number[]} pieces */
  textOf(pieces) {
    const ids = pieces.filter((piece) => piece !== END);
    if (!ids.length) return "";
    return this.target.decode(ids, { skip_special_tokens: true, clean_up_tokenization_spaces: false }).trim();
  }
}

/** @param {DecodingStep[]} steps */
function total(steps) {
  return steps.reduce((sum, { probability }) => sum + Math.log(probability), 0);
}
