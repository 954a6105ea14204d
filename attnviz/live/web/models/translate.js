// A translator: the best translations that it finds, or what it is made to write, with the probability of every token.

import { RecurrentDecoder, TransformerDecoder } from "./decoders.js";
import { beamSearch, END, logProbabilities, resume, START, topOf } from "./decoding.js";
import { ModelError } from "./errors.js";
import { weightsOf } from "./map_weights.js";
import { piecesOf } from "./pieces.js";
import { ended, nameOf, special, tokensOf, writtenTokens } from "./translation_tokens.js";

/**
 * @typedef {import("./types.d.ts").Token} Token
 * @typedef {import("./types.d.ts").Request} Request
 * @typedef {{ text: string, pieces: number[], logProbability: number }} Translation
 * @typedef {{ token: Token, probability: number, alternatives: [string, number][] }} DecodingStep
 * @typedef {{ ids: number[], tokens: Token[], cut: number | null }} Source
 */

// Alternatives that are listed of each token.
const N_ALTERNATIVES = 5;

export class Translator {
  /** @param {import("./model.js").Loaded} loaded */
  constructor({ manifest, passes, tokenizers }) {
    this.card = manifest.card;
    this.options = manifest.options;
    this.passes = passes;
    this.source = tokenizers.source;
    this.target = tokenizers.target;
  }

  /**
   * @param {Request} request
   * @returns {Promise<import("./model.js").Outcome>}
   */
  async trace({ text, target, beam = 1, lengthPenalty = 1, candidate = 0, begins = [] }) {
    const source = this.read(text);
    const decoder = await (this.options.written_rows ? RecurrentDecoder : TransformerDecoder).begin(this.passes, source.ids);
    if (target) {
      const pieces = this.forced(target);
      const tokens = tokensOf(piecesOf(this.target, target), target);
      const followed = await this.follow(decoder, source, pieces, target, tokens);
      const [own] = (await this.search(decoder, source, { width: 1, lengthPenalty }, [])).candidates;
      return this.outcome(followed, { own, logProbability: total(followed.steps), candidates: [], chosen: 0, pieces: [] });
    }
    const prefix = this.piecesOf(begins);
    if (prefix.includes(END)) {
      const followed = await this.write(decoder, source, prefix);
      const candidates = [{ text: followed.output, pieces: prefix, logProbability: total(followed.steps) }];
      return this.outcome(followed, { logProbability: candidates[0].logProbability, candidates, chosen: 0, pieces: this.names(prefix) });
    }
    const { candidates, tree } = await this.search(decoder, source, { width: beam, lengthPenalty }, prefix);
    const chosen = Math.max(0, Math.min(candidate, candidates.length - 1));
    const { pieces, logProbability } = candidates[chosen];
    const followed = await this.write(decoder, source, pieces);
    return this.outcome(followed, { logProbability, candidates, chosen, pieces: this.names(pieces), tree });
  }

  /**
   * @param {{ output: string, steps: DecodingStep[], maps: import("./types.d.ts").AttentionMap[], cut: number | null }} followed
   * @param {Record<string, unknown>} draft
   */
  outcome({ output, steps, maps, cut }, draft) {
    const closed = this.names(this.options.unwritable);
    return { output, maps, cuts: [cut], extra: { own: null, tree: null, ...draft, steps, closed } };
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
   * Find the translations that begin with a prefix, best first, and the tree that the search walked after it.
   * @param {RecurrentDecoder | TransformerDecoder} decoder
   * @param {Source} source
   * @param {{ width: number, lengthPenalty: number }} beam
   * @param {number[]} prefix
   */
  async search(decoder, source, beam, prefix) {
    const most = Math.min(this.card.max_tokens - 1, 3 * source.ids.length + 10);
    const begun = await resume(restricted(decoder, this.options.unwritable), prefix);
    const { tips, nodes } = await beamSearch(begun.decoder, { ...beam, longest: Math.max(1, most - prefix.length) });
    const candidates = tips.map(({ tokens, logProbability }) => {
      const pieces = [...prefix, ...tokens];
      return { text: this.textOf(pieces), pieces, logProbability: begun.given + logProbability };
    });
    const branches = nodes.map(({ token, parent, logProbability, kept }) => {
      return { name: nameOf(this.target, token), parent, probability: Math.exp(logProbability), kept };
    });
    return { candidates, tree: { branches, leaves: tips.map(({ node }) => node) } };
  }

  /**
   * @param {RecurrentDecoder | TransformerDecoder} decoder
   * @param {Source} source
   * @param {number[]} pieces
   */
  write(decoder, source, pieces) {
    const output = this.textOf(pieces);
    return this.follow(decoder, source, pieces, output, writtenTokens(this.target, pieces, output));
  }

  /**
   * Trace exactly these pieces, and tell how likely each was.
   * @param {RecurrentDecoder | TransformerDecoder} decoder
   * @param {Source} source
   * @param {number[]} pieces
   * @param {string} output
   * @param {Token[]} written
   */
  async follow(decoder, source, pieces, output, written) {
    const { scores, weights } = await decoder.follow([START, ...pieces.slice(0, -1)]);
    // An end mark is a row too, unless the limit came before it.
    const rows = pieces[pieces.length - 1] === END ? [...written, ended()] : written;
    const own = this.options.written_rows ? rows : [special("<s>"), ...rows.slice(0, -1)];
    const steps = this.steps(scores, rows, pieces);
    const axes = { encoder: [source.tokens, source.tokens], decoder: [own, own], cross: [own, source.tokens] };
    const { n_layers: layers, n_heads: heads } = this.card;
    const maps = this.options.kinds.map((/** @type {import("./types.d.ts").Kind} */ kind) => {
      const [queries, keys] = axes[kind];
      return { kind, queries, keys, layers, heads, causal: kind === "decoder", ...weightsOf(weights[kind], heads) };
    });
    return { output, steps, maps, cut: source.cut };
  }

  /**
   * @param {Float32Array} scores
   * @param {Token[]} rows
   * @param {number[]} pieces
   * @returns {DecodingStep[]}
   */
  steps(scores, rows, pieces) {
    const probabilities = logProbabilities(scores, pieces.length).map((row) => row.map(Math.exp));
    return rows.map((token, place) => {
      const own = probabilities[place];
      const best = topOf(own, N_ALTERNATIVES);
      const alternatives = best.map((piece) => /** @type {[string, number]} */ ([nameOf(this.target, piece), own[piece]]));
      return { token, probability: own[pieces[place]], alternatives };
    });
  }

  /** @param {number[]} pieces */
  textOf(pieces) {
    const ids = pieces.filter((piece) => piece !== END);
    if (!ids.length) return "";
    return this.target.decode(ids, { skip_special_tokens: true, clean_up_tokenization_spaces: false }).trim();
  }

  /** @param {number[]} pieces */
  names(pieces) {
    return pieces.map((piece) => nameOf(this.target, piece));
  }

  /** @param {string[]} names */
  piecesOf(names) {
    return names.map((name) => {
      const piece = this.target.token_to_id(name);
      if (piece === undefined || this.options.unwritable.includes(piece)) {
        throw new ModelError(`${this.card.name} has no piece '${name}' to go on from: choose one of its alternatives.`);
      }
      return piece;
    });
  }
}

/**
 * A decoder that never writes some tokens.
 * @param {import("./decoding.js").Decoder} decoder
 * @param {number[]} never
 * @returns {import("./decoding.js").Decoder}
 */
function restricted(decoder, never) {
  return {
    async next(tokens) {
      const { scores, after } = await decoder.next(tokens);
      const vocabulary = scores.length / tokens.length;
      for (let row = 0; row < tokens.length; row += 1) for (const token of never) scores[row * vocabulary + token] = -Infinity;
      return { scores, after: restricted(after, never) };
    },
    select: (rows) => restricted(decoder.select(rows), never),
  };
}

/** @param {DecodingStep[]} steps */
function total(steps) {
  return steps.reduce((sum, { probability }) => sum + Math.log(probability), 0);
}
