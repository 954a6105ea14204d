// A language model that writes: a text and what it wrote behind it, what could come next behind each token, and the weights of its heads.

import { cutOf, placed, wordAt, wordSpans } from "./bert_tokens.js";
import { bytePieces, placedPieces, spelled } from "./byte_tokens.js";
import { causalWeights, layersOf } from "./attention_weights.js";
import { ModelError, restoreBlocks } from "./model_files.js";
import { isSpace } from "./piece_offsets.js";
import { draw, samplingProbabilities } from "./sampling.js";

/**
 * @import { Sampling } from "./sampling.js"
 * @import { Computed } from "./onnx_graph.js"
 * @import { Stored } from "./model_files.js"
 * @import { Request, Token } from "./types.d.ts"
 * @typedef {{ ids: number[], tokens: Token[], text: string, typed: number, cut: number | null }} Read  typed: of the tokens so many
 * @typedef {{ candidates: number[], scores: number[], rest: number[], given: number }} Following  what could come behind a token, and ln p of what does
 */

// Tokens of one pass: of a long text all at once would not fit into memory.
const AT_ONCE = 64;

export class Writer {
  /** @type {number[]} The tokens that were read last, and what was computed of them: by layer the keys and values, and a row of queries a token. */
  #ids = [];
  /** @type {{ key: Computed[], value: Computed[] }} */
  #known = { key: [], value: [] };
  /** @type {Float32Array[][]} */
  #queries = [];
  /** @type {Float32Array[]} States on top, by token. */
  #states = [];
  /** @type {Following[]} Of the last token nothing: what follows it may change. */
  #following = [];

  /** @param {import("./load_model.js").Loaded} loaded */
  constructor({ manifest, passes, tokenizers, rows }) {
    this.card = manifest.card;
    this.options = manifest.options;
    this.tokenizer = tokenizers.text;
    this.rows = /** @type {Stored} */ (rows);
    this.layers = Object.keys(passes).filter((name) => name.startsWith("layers.")).map((name) => passes[name]);
    this.next = passes.next;
    this.likeliest = passes.likeliest;
    this.clear();
  }

  clear() {
    const { card: { n_layers: layers }, options: { key_heads: heads, head_dim: dim } } = this;
    const empty = () => Array.from({ length: layers }, () => ({ data: new Float32Array(0), dims: [1, heads, 0, dim] }));
    this.#known = { key: empty(), value: empty() };
    this.#queries = Array.from({ length: layers }, () => []);
    [this.#ids, this.#states, this.#following] = [[], [], []];
  }

  /**
   * @param {Request} request
   * @returns {Promise<import("./load_model.js").Outcome>}
   */
  async trace({ text, written = "" }) {
    const read = this.read(text, written);
    await this.extend(read.ids);
    await this.follow();
    const { card: { n_layers: layers, n_heads: heads }, options: { key_heads: keyHeads } } = this;
    const weights = causalWeights({ queries: this.#queries.map((rows) => [...rows]), keys: this.#known.key.map(({ data }) => data), heads, keyHeads });
    const map = { kind: /** @type {const} */ ("decoder"), queries: read.tokens, keys: read.tokens, layers, heads, causal: true, ...weights };
    return { maps: [map], output: [...read.text].slice([...text].length).join(""), extra: { writing: this.writing(read) }, cuts: [read.cut] };
  }

  /**
   * Write on: the names of the pieces that come behind a text.
   * @param {Request} request
   * @param {(text: string, count: number) => void} onToken called with what is written so far
   * @param {() => boolean} isStopped
   */
  async write({ text, written = "", sampling, tokens = 20 }, onToken, isStopped) {
    const { ids } = this.read(text, written);
    const way = /** @type {Sampling} */ (sampling);
    const begun = written ? written.split(" ").length : 0;
    /** @type {string[]} */
    const names = [];
    while (names.length < tokens && ids.length < this.options.most_tokens && !isStopped()) {
      await this.extend(ids);
      const { logits: { data } } = await this.next.run(this.statesOf(ids.length - 1, ids.length));
      const id = draw(way.temperature ? samplingProbabilities(data, way) : data, way, begun + names.length);
      names.push(this.nameOf(id));
      ids.push(id);
      onToken(spelled(names.filter((name) => !this.isMark(name))), names.length);
      if (this.options.ends.includes(id)) break;
      // What else the page asks for, such as to stop, comes in between.
      await new Promise((resolve) => setTimeout(resolve));
    }
    return names;
  }

  /**
   * Cut a text into tokens, and lay what was written behind it.
   * @param {string} text
   * @param {string} written names of pieces
   * @returns {Read}
   */
  read(text, written) {
    const most = this.options.most_tokens;
    const all = bytePieces(this.tokenizer, text);
    const pieces = all.slice(0, most);
    if (!pieces.length) throw new ModelError("There is nothing to read in this text: type a word.");
    const own = placed(pieces, text, 0, pieces.length === all.length);
    const cut = pieces.length < all.length ? cutOf(own, 0, text) : null;
    const names = (written ? written.split(" ") : []).slice(0, most - pieces.length);
    const behind = names.map((piece) => ({ piece, id: this.idOf(piece), special: this.isMark(piece) }));
    const spelt = spelled(behind.filter(({ special }) => !special).map(({ piece }) => piece));
    const shift = [...text].length;
    const whole = text + spelt;
    const words = wordSpans(whole);
    const laid = laidBehind(placed(placedPieces(behind), spelt, 0, true), behind, spelt, shift);
    const tokens = [...own, ...laid].map((token) => (token.special ? token : { ...token, word: wordAt(words, token.start) }));
    return { ids: [...pieces, ...behind].map(({ id }) => id), tokens, text: whole, typed: own.length, cut };
  }

  /**
   * Read tokens; what is known of the first ones is kept.
   * @param {number[]} ids
   */
  async extend(ids) {
    const same = ids.findIndex((id, place) => id !== this.#ids[place]);
    this.forgetFrom(same < 0 ? Math.min(ids.length, this.#ids.length) : same);
    while (this.#ids.length < ids.length) {
      const some = ids.slice(this.#ids.length, this.#ids.length + AT_ONCE);
      let states = /** @type {import("./onnx_graph.js").Given} */ ({ data: this.vectorsOf(some), dims: [1, some.length, this.width] });
      let layer = 0;
      for (const pass of this.layers) {
        const count = pass.session.inputNames.filter((name) => name.startsWith("past_key.")).length;
        /** @type {Record<string, import("./onnx_graph.js").Given>} */
        const inputs = { states };
        for (let at = 0; at < count; at += 1) {
          for (const kind of /** @type {const} */ (["key", "value"])) {
            const { data, dims } = this.#known[kind][layer + at];
            inputs[`past_${kind}.${at}`] = { data, dims: [...dims] };
          }
        }
        const outputs = await pass.run(inputs);
        layersOf(outputs, "query").forEach((data, at) => this.#queries[layer + at].push(...rowsOf(data, some.length)));
        for (let at = 0; at < count; at += 1) {
          for (const kind of /** @type {const} */ (["key", "value"])) this.#known[kind][layer + at] = outputs[`next_${kind}.${at}`];
        }
        states = { data: outputs.next_states.data, dims: [...outputs.next_states.dims] };
        layer += count;
      }
      this.#states.push(...rowsOf(/** @type {Float32Array} */ (states.data), some.length));
      this.#ids.push(...some);
    }
  }

  /** @param {number} count of tokens that stay */
  forgetFrom(count) {
    this.#following.length = Math.min(this.#following.length, Math.max(count - 1, 0));
    if (count >= this.#ids.length) return;
    this.#ids.length = count;
    this.#states.length = count;
    for (const rows of this.#queries) rows.length = count;
    for (const kind of /** @type {const} */ (["key", "value"])) this.#known[kind] = this.#known[kind].map((each) => firstKeys(each, count));
  }

  /** Compute what could come behind each token. */
  async follow() {
    const ids = this.#ids;
    while (this.#following.length < ids.length) {
      const [first, last] = [this.#following.length, Math.min(this.#following.length + AT_ONCE, ids.length)];
      const { logits } = await this.next.run(this.statesOf(first, last));
      const following = Int32Array.from({ length: last - first }, (_, place) => ids[first + place + 1] ?? 0);
      const outputs = await this.likeliest.run({ logits: { data: logits.data, dims: [...logits.dims] }, following: { data: following, dims: [following.length] } });
      const [candidates, scores, rest] = ["candidates", "scores", "rest"].map((name) => rowsOf(outputs[name].data, following.length));
      following.forEach((_, place) => this.#following.push({ candidates: [...candidates[place]], scores: [...scores[place]], rest: [...rest[place]], given: outputs.given.data[place] }));
    }
  }

  /**
   * What the page draws, but for labels: of each candidate its piece, its text, whether that goes on with the word before, and ln p.
   * @param {Read} read
   */
  writing({ tokens, text, typed, ids }) {
    const letters = [...text];
    let end = 0;
    const shown = tokens.map(({ special, start, end: stop, text: name }, place) => {
      const gap = special ? "" : letters.slice(end, start).join("");
      const isPart = !special && start < stop && stop <= end;
      if (!special) end = Math.max(end, stop);
      return [gap, isPart ? null : name, place ? Math.exp(this.#following[place - 1].given) : 1];
    });
    const next = this.#following.map(({ candidates, scores }, place) => {
      const before = place + 1 < tokens.length ? letters.slice(0, tokens[place + 1].start).join("") : text;
      return candidates.map((id, rank) => {
        const piece = this.nameOf(id);
        const own = this.isMark(piece) ? piece : spelled([piece]);
        return [piece, own, isJoined(before, own), scores[rank]];
      });
    });
    const pieces = ids.map((id) => this.nameOf(id));
    return { start: typed, pieces, starts: tokens.map(({ start }) => start), tokens: shown, next, rest: this.#following.map(({ rest }) => rest) };
  }

  /**
   * @param {number} first
   * @param {number} last
   */
  statesOf(first, last) {
    const data = new Float32Array((last - first) * this.width);
    this.#states.slice(first, last).forEach((row, place) => data.set(row, place * this.width));
    return { states: { data, dims: [last - first, this.width] } };
  }

  get width() {
    return this.options.dim;
  }

  /** @param {number[]} ids */
  vectorsOf(ids) {
    const { data, shape: [, size], blocks } = this.rows;
    const vectors = new Float32Array(ids.length * this.width);
    ids.forEach((id, place) => restoreBlocks(data.subarray(id * size, (id + 1) * size), /** @type {"q8_0"} */ (blocks), vectors.subarray(place * this.width)));
    return vectors;
  }

  /** @param {string} name */
  isMark(name) {
    return this.options.marks.includes(name);
  }

  /** @param {number} id */
  nameOf(id) {
    return this.tokenizer.id_to_token(id) ?? `<${id}>`;
  }

  /** @param {string} name */
  idOf(name) {
    const id = this.tokenizer.token_to_id(name);
    if (id === undefined) throw new ModelError(`${this.card.name} has no piece “${name}” to go on from: this is another model's text.`);
    return id;
  }
}

/**
 * Lay what was written behind so many letters that were typed; spaces that are a token of their own stand behind the token before, and are shown.
 * @param {Token[]} tokens
 * @param {{ piece: string, special: boolean }[]} written
 * @param {string} spelt
 * @param {number} shift
 * @returns {Token[]}
 */
function laidBehind(tokens, written, spelt, shift) {
  const letters = [...spelt];
  let reached = 0;
  return tokens.map((token, place) => {
    const { piece, special } = written[place];
    if (special) return { ...token, text: piece, start: shift, end: shift, special, word: null, piece: "" };
    const own = spelled([piece]);
    const isBlank = own !== "" && [...own].every(isSpace);
    const end = reached + [...own].length;
    const isThere = isBlank && letters.slice(reached, end).join("") === own;
    const placed = { ...token, ...(isBlank && { text: own, piece: "" }), ...(isThere && { start: reached, end }) };
    reached = Math.max(reached, placed.end);
    return { ...placed, start: placed.start + shift, end: placed.end + shift };
  });
}

/**
 * Whether a text goes on with the last word of another one.
 * @param {string} before
 * @param {string} text
 */
function isJoined(before, text) {
  const [last, first] = [[...before].at(-1) ?? "", [...text][0] ?? ""];
  return [last, first].every((letter) => /[\p{L}\p{N}]/u.test(letter)) && wordSpans(last + first).length === 1;
}

/**
 * @template {Float32Array | Int32Array} Numbers
 * @param {Numbers} data
 * @param {number} count
 * @returns {Numbers[]}
 */
function rowsOf(data, count) {
  const size = data.length / count;
  return Array.from({ length: count }, (_, row) => /** @type {Numbers} */ (data.subarray(row * size, (row + 1) * size)));
}

/**
 * Keep the keys, or values, of the first tokens.
 * @param {Computed} all
 * @param {number} count
 * @returns {Computed}
 */
function firstKeys({ data, dims: [one, heads, keys, dim] }, count) {
  const kept = new Float32Array(heads * count * dim);
  for (let head = 0; head < heads; head += 1) kept.set(data.subarray(head * keys * dim, (head * keys + count) * dim), head * count * dim);
  return { data: kept, dims: [one, heads, count, dim] };
}
