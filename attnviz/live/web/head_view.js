// From a map to what is drawn of it, as attnviz/analysis/head_view.py has it: words or tokens, special tokens shown or hidden.
// Sums are of float32 numbers and rounded as NumPy rounds them, so that the numbers are the same.

/**
 * @import { HeadNote } from "../../figures/explorer/view_options.js"
 * @typedef {{ text: string, start: number, end: number, special?: boolean, segment?: number, word?: number | null,
 *   piece?: string }} Token
 * @typedef {{ words?: boolean, hideSpecial?: boolean, between?: string }} View
 * @typedef {{ query: number, key: number, weight: number }} StrongLink
 * @typedef {{ kind: string, queries: Token[], keys: Token[], layers: number, heads: number, causal: boolean, links?: (StrongLink | null)[],
 *   drawn?: { thumbs: Uint8Array<ArrayBuffer>, notes: HeadNote[] },
 *   weights(layer: number, head: number, into?: Float32Array): Float32Array, row?(layer: number, head: number, query: number, keys: number): Float32Array, release?(): void }} AttentionMap
 *   links: of each head its strongest, where its exact weights are known no more; drawn: its small pictures and numbers, made of those
 * @typedef {{ weights: Float32Array, queries: Token[], keys: Token[], rows: number[], columns: number[],
 *   own: (number | null)[], hidden: number, causal: boolean, visible(query: number, key: number): boolean, link?: StrongLink | null }} HeadMatrix
 * @typedef {{ tokens: Token[], parts: number[][] }} Axis
 */


/** The weights of one head, or with null the mean over the heads of its layer.
 * @param {AttentionMap} map @param {number} layer @param {number | null} head @param {Float32Array} [into] an array that may be written over */
function headWeights(map, layer, head, into) {
  if (head !== null) return map.weights(layer, head, into);
  const mean = Float32Array.from(map.weights(layer, 0));
  for (let other = 1; other < map.heads; other++) {
    const weights = map.weights(layer, other);
    for (let cell = 0; cell < mean.length; cell++) mean[cell] += weights[cell];
  }
  return mean.map((sum) => sum / map.heads);
}

/** What one query gives, in one head or with null in the mean over the heads of a layer.
 * @param {AttentionMap} map @param {number} layer @param {number | null} head @param {number} query */
export function rowWeights(map, layer, head, query) {
  const width = map.keys.length;
  if (head !== null && map.row) return map.row(layer, head, query, width);
  return headWeights(map, layer, head).subarray(query * width, (query + 1) * width);
}

/** Whether a query may look at a key of the map: in a causal one not at later ones. @param {AttentionMap} map */
function visibleIn({ causal, queries, keys }) {
  const shift = keys.length - queries.length;
  /** @param {number} query @param {number} key */
  return (query, key) => !causal || key <= query + shift;
}

// A view prepared for one map, to look at many of its heads.
export class Lens {
  /** @param {AttentionMap} map @param {View} view */
  constructor(map, view) {
    this.map = map;
    this.rows = axisOf(map.queries, view, "queries");
    this.columns = axisOf(map.keys, view, "keys");
    this.isEmpty = !this.rows.tokens.length || !this.columns.tokens.length;
    const columnOf = new Map(this.columns.parts.map(([first], index) => [first, index]));
    const shift = shiftOf(map);
    this.own = this.rows.parts.map(([first]) => (shift === null ? null : (columnOf.get(first + shift) ?? null)));
    this.isWhole = this.rows.tokens.length === map.queries.length && this.columns.tokens.length === map.keys.length;
    this.visible = this.#visible();
  }

  /** @param {number} layer @param {number | null} head @param {Float32Array} [into] an array that may be written over @returns {HeadMatrix} */
  matrix(layer, head, into) {
    const { map, rows, columns } = this;
    const weights = headWeights(map, layer, head, into);
    const byQuery = this.isWhole ? weights : meanOfRows(weights, map.keys.length, rows);
    const shown = this.isWhole ? weights : sumOfColumns(byQuery, map.keys.length, columns);
    return {
      weights: shown,
      queries: rows.tokens,
      keys: columns.tokens,
      rows: rows.parts.map(([first]) => first),
      columns: columns.parts.map(([first]) => first),
      own: this.own,
      hidden: columns.parts.flat().length < map.keys.length ? hiddenShare(byQuery, shown) : 0,
      causal: map.causal && this.isWhole,
      visible: this.visible,
      ...(map.links && this.isWhole && head !== null && { link: map.links[layer * map.heads + head] }),
    };
  }

  // A word can be looked at where one of its tokens can.
  #visible() {
    const { map, rows, columns } = this;
    const inMap = visibleIn(map);
    if (!map.causal) return () => true;
    /** @param {number} query @param {number} key */
    return (query, key) => rows.parts[query].some((row) => columns.parts[key].some((column) => inMap(row, column)));
  }
}

/** @param {Float32Array} weights @param {number} width @param {Axis} axis */
function meanOfRows(weights, width, { parts }) {
  const isMerged = parts.some((part) => part.length > 1);
  const mean = new Float32Array(parts.length * width);
  for (const [row, part] of parts.entries()) {
    for (let key = 0; key < width; key++) {
      const total = sumAt(weights, part, (from) => from * width + key);
      mean[row * width + key] = isMerged ? total / part.length : total;
    }
  }
  return mean;
}

/** @param {Float32Array} rows @param {number} width @param {Axis} axis */
function sumOfColumns(rows, width, { parts }) {
  const height = rows.length / width;
  const sums = new Float32Array(height * parts.length);
  for (let row = 0; row < height; row++) {
    for (const [column, part] of parts.entries()) sums[row * parts.length + column] = sumAt(rows, part, (from) => row * width + from);
  }
  return sums;
}

/** The first number and the sum of the others: so NumPy adds. @param {Float32Array} cells @param {number[]} part @param {(from: number) => number} at */
function sumAt(cells, part, at) {
  if (part.length === 1) return cells[at(part[0])];
  let others = 0;
  for (let place = 1; place < part.length; place++) others = Math.fround(others + cells[at(part[place])]);
  return Math.fround(cells[at(part[0])] + others);
}

/** @param {Float32Array} byQuery @param {Float32Array} shown */
function hiddenShare(byQuery, shown) {
  const [whole, seen] = [byQuery, shown].map((cells) => Math.fround(cells.reduce((sum, weight) => sum + weight, 0)));
  return whole > 0 ? Math.max(1 - seen / whole, 0) : 0;
}

/** @param {Token[]} tokens @param {View} view @param {"queries" | "keys"} axis @returns {Axis} */
function axisOf(tokens, { words = false, hideSpecial = false, between = "all" }, axis) {
  const groups = words ? wordGroups(tokens) : tokens.map((_, index) => [index]);
  const wanted = between === "all" ? null : ["first", "second"].indexOf(between.split("-")[axis === "queries" ? 0 : 1]);
  const kept = groups.filter(([first]) => {
    const { special, segment = 0 } = tokens[first];
    return !(hideSpecial && special) && (wanted === null || segment === wanted);
  });
  return { tokens: kept.map((group) => joined(group.map((index) => tokens[index]))), parts: kept };
}

/** Neighbouring tokens of one word; a token of no word stands alone. @param {Token[]} tokens @returns {number[][]} */
export function wordGroups(tokens) {
  /** @type {number[][]} */
  const groups = [];
  for (const [index, { word = null, segment = 0 }] of tokens.entries()) {
    const before = tokens[index - 1];
    const isSame = before && word !== null && word === (before.word ?? null) && segment === (before.segment ?? 0);
    isSame ? groups[groups.length - 1].push(index) : groups.push([index]);
  }
  return groups;
}

/** One token that stands for several; characters that several of them cover are written once. @param {Token[]} tokens @returns {Token} */
function joined(tokens) {
  if (tokens.length === 1) return tokens[0];
  const written = tokens.filter(({ start, end }) => end > start);
  const parts = written.length ? written : tokens;
  let [text, end] = ["", parts[0].start];
  for (const token of parts) {
    // Offsets count characters, as Python does: an emoji is one.
    text += Array.from(token.text).slice(Math.max(end - token.start, 0)).join("");
    end = Math.max(end, token.end);
  }
  return { ...parts[0], text, end, piece: "" };
}

/** How many keys stand before the one that is the first query; null between two texts. @param {AttentionMap} map */
function shiftOf({ kind, queries, keys }) {
  if (kind === "cross") return null;
  const shifts = [0, keys.length - queries.length];
  const isSame = (/** @type {Token} */ one, /** @type {Token | undefined} */ other) =>
    other !== undefined && one.text === other.text && one.start === other.start && one.end === other.end;
  return shifts.find((shift) => queries.every((token, index) => isSame(token, keys[index + shift]))) ?? null;
}
