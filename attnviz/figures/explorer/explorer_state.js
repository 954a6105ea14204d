// What the explorer shows: a map, one head of it, and how that is drawn. What stands on the screen is a function of this and of the
// room there is, of nothing else.

import { clamp } from "../drawing/canvas.js";
import { headName, HeadStore } from "./head_store.js";
import { ORDERS, chipsName, FIRST_OPTIONS, readOptions } from "./view_options.js";
import { wordShares, elsewhere, isWord, wordOf } from "./word_weights.js";

/**
 * @import { HeadEdits } from "../drawing/matrix_marks.js"
 * @import { Head, HeadPlace, Overview } from "./head_store.js"
 * @import { ViewOptions, Zoom } from "./view_options.js"
 * @import { Question, WordWeights } from "./word_weights.js"
 * @typedef {{ on: boolean, heads: [layer: number, head: number][], columns: [layer: number | null, key: number][],
 *   cells: [layer: number, head: number, query: number, key: number, what: string][] }} Edits  what is edited, and whether clicks edit
 * @typedef {{ layer: number, head: number | null, query?: number | null, key?: number | null, view?: string, look?: string,
 *   fullScale: boolean, theme: string, seq?: number, shownViews?: string[], extra?: string[], fact?: string,
 *   edits?: Partial<Edits> | null, number?: "weight" | "norm share" | "mixing share", words?: Partial<Words> | null, isPlain?: boolean,
 *   hiddenRows?: number[] }} Settings  what a host says is to be looked at; edits null: it cannot be edited; words null: a click on
 *   a word is a click on its strongest link; hiddenRows: those that a lesson shows when its question is answered
 * @typedef {{ query: number | null, key: number | null, queries: string | null, keys: string | null }} Chosen  null: no person chose it
 * @typedef {{ isAsked: boolean, isLink: boolean, isPinned: boolean, queries: number[], keys: number[] }} Words  whether a person
 *   chose the word that looks, the word it looks at, the head; and further words of both sides, by their first rows and columns
 */

export const TABS = { grid: "Grid", matrix: "Matrix", arcs: "Arcs", text: "Text" };
/** @type {Edits} */
const NO_EDITS = { on: false, heads: [], cells: [], columns: [] };

/** @type {Words} */
const NO_WORDS = { isAsked: true, isLink: true, isPinned: true, queries: [], keys: [] };

export class ExplorerState {
  /** @type {Overview} */
  overview = /** @type {any} */ (null);
  /** @type {HeadStore | null} */
  store = null;
  view = "grid";
  layer = 0;
  /** @type {number | null} */
  head = 0;
  /** @type {number | null} */
  query = null;
  /** @type {number | null} */
  key = null;
  fullScale = true;
  theme = "light";
  /** @type {ViewOptions} */
  options = { ...FIRST_OPTIONS };
  // Counts what a person chose: what the host says of an earlier choice is older already.
  seq = 0;
  views = Object.keys(TABS);
  /** @type {string[]} Tabs whose picture the page draws. */
  extra = [];
  fact = "";
  /** @type {string | null} Which head is shown, where the words say it otherwise. */
  where = null;
  edits = NO_EDITS;
  /** @type {Words} */
  words = NO_WORDS;
  // Whether the host knows of words: then the head follows them until a person chooses one.
  hasWords = false;
  /** @type {"weight" | "norm share" | "mixing share"} */
  number = "weight";
  canEdit = false;
  // Whether there is nothing but the words and the heads, as on Home.
  isPlain = false;
  /** @type {number[]} */
  hiddenRows = [];
  // Whether the grid and the matrix stand side by side.
  isBeside = false;
  /** Shows another map, or the same one under another view of its tokens. @param {Overview} overview @param {(places: HeadPlace[]) => void} ask */
  open(overview, ask) {
    if (this.store) this.query = this.key = null;
    this.overview = overview;
    this.store = new HeadStore(overview, ask);
    this.settle();
  }

  /** Takes what the host says is to be looked at. What a person has chosen meanwhile is newer. @param {Settings} settings */
  update({ seq = 0, layer, head, query = null, key = null, view, look, fullScale, theme, shownViews, extra, fact, edits = null, words = null, number = "weight", isPlain = false, hiddenRows = [] }) {
    if (seq >= this.seq) {
      Object.assign(this, { layer, head, query, key, view: view ?? this.view, seq, words: { ...NO_WORDS, ...words } });
      if (look !== undefined) this.options = readOptions(look);
    }
    Object.assign(this, { number, isPlain, hiddenRows, hasWords: words !== null });
    Object.assign(this, { fullScale, theme, canEdit: edits !== null, edits: { ...NO_EDITS, ...edits } });
    Object.assign(this, { views: shownViews ?? this.views, extra: extra ?? this.extra, fact: fact ?? this.fact });
    if (this.store) this.settle();
  }

  // A map may have fewer heads than the one before; and where no link was chosen, it is the head's most telling one.
  settle() {
    const { overview } = this;
    this.layer = clamp(this.layer, 0, overview.layers - 1);
    if (this.head !== null) this.head = clamp(this.head, 0, overview.heads - 1);
    const isThere = this.query !== null && this.query < overview.queries.length && Number(this.key) < overview.keys.length;
    if (!isThere) this.openHead(this.layer, this.head);
  }

  /** @param {number} layer @param {number | null} head */
  openHead(layer, head) {
    const link = head === null ? null : this.overview.notes[layer * this.overview.heads + head].link;
    const [query, key] = link ?? [null, null];
    Object.assign(this, { layer, head, query, key });
  }

  /** The cell of a head to look at first: its strongest link between two words, else what the first typed token looks at hardest;
   * as attnviz/analysis/head_ranking.py chooses it.
   * @param {Head} head @returns {[query: number, key: number]} */
  firstCell(head) {
    const { overview, overview: { words } } = this;
    const [rows, columns] = /** @type {const} */ (["queries", "keys"]).map((axis) => overview[axis].map((_, at) => wordOf(overview, axis, at)));
    // The apostrophe of a word is none itself.
    const [looking, lookedAt] = [overview.queries, overview.keys].map((axis) => axis.map(([text, special]) => isWord({ text, special: Boolean(special) })));
    const isLink = (/** @type {number} */ query, /** @type {number} */ key) =>
      looking[query] && lookedAt[key] && words.own[rows[query]] !== columns[key];
    const [link] = head.strongest(1, isLink);
    if (link) return [link[0], link[1]];
    return head.strongestOf("queries", Math.max(overview.queries.findIndex(([, special]) => !special), 0)) ?? [0, 0];
  }

  /** What is asked, by words, each once: an address can name several tokens of one. @returns {Question} */
  get question() {
    const { overview, words, selected: { query, key } } = this;
    const once = (/** @type {"queries" | "keys"} */ axis, /** @type {number} */ first) => [...new Set([first, ...words[axis]].map((place) => wordOf(overview, axis, place)))];
    return { queries: once("queries", query), keys: once("keys", key), isLink: words.isLink, isAsked: words.isAsked };
  }

  /** The cell or the words that are chosen, as an address has them: by their positions in the map. @returns {Chosen} */
  get chosen() {
    const { isAsked, isLink, queries, keys } = this.hasWords ? this.words : NO_WORDS;
    const { query, key } = this.selected;
    const [rows, columns] = this.overview.at ?? [null, null];
    const position = (/** @type {number} */ place, /** @type {number[] | null} */ all) => all?.[place] ?? place;
    const joined = (/** @type {number[]} */ places, /** @type {number[] | null} */ all) => places.map((each) => position(each, all)).join(".") || null;
    const hasKey = isAsked && isLink;
    return {
      query: isAsked ? position(query, rows) : null,
      key: hasKey ? position(key, columns) : null,
      queries: isAsked ? joined(queries, rows) : null,
      keys: hasKey ? joined(keys, columns) : null,
    };
  }

  /** Takes what a person asks; what was not chosen follows from the head in view. @param {Question} question */
  ask({ queries, keys, isLink, isAsked }) {
    const { words } = this.overview;
    const [first, ...rest] = queries;
    this.query = words.queries[first].parts[0];
    const key = isLink ? keys[0] : this.strongestWord(first);
    this.key = key === null ? 0 : words.keys[key].parts[0];
    const further = { queries: rest.map((word) => words.queries[word].parts[0]), keys: isLink ? keys.slice(1).map((word) => words.keys[word].parts[0]) : [] };
    this.words = { ...this.words, isAsked, isLink, ...further };
  }

  /** The word that a word looks at hardest in the head in view, besides itself. @param {number} query */
  strongestWord(query) {
    const { overview, current } = this;
    if (!current) return null;
    const shares = wordShares(current, overview.words, [query]);
    const others = [...shares.keys()].filter((key) => key !== overview.words.own[query] && isWord(overview.words.keys[key]));
    return others.length ? others.reduce((best, key) => (shares[key] > shares[best] ? key : best)) : null;
  }

  /** The head that the words lead to, where no person chose one. @param {WordWeights} table */
  follow(table) {
    if (!this.hasWords || this.words.isPinned) return;
    const { queries, keys, isLink } = this.question;
    if (isLink || queries.length > 1) {
      const [{ layer, head }] = table.ranked(keys);
      Object.assign(this, { layer, head });
    } else if (elsewhere(this.overview, queries[0]).length) {
      const { layer, head, key } = table.hardest(elsewhere(this.overview, queries[0]));
      Object.assign(this, { layer, head, key: this.overview.words.keys[key].parts[0] });
    }
  }

  // Whether heads can be ranked by what is asked.
  get canRank() {
    const { layers, heads, signed } = this.overview;
    return layers * heads > 1 && !signed && (this.hasWords || Boolean(this.store?.isComplete));
  }

  // Which row of a word heads are ranked by: here it has one.
  get rankedBy() {
    return "";
  }

  // The head in view, once it is unpacked.
  get current() {
    return this.store?.ready(this.layer, this.head) ?? null;
  }

  get selected() {
    return { query: this.query ?? 0, key: this.key ?? 0 };
  }

  // A map is called by its content.
  get mark() {
    return this.overview.name.slice(0, 6);
  }

  // What of the options a map can be drawn with: one between two texts has no diagonal and no distances.
  get orders() {
    const { signed, notes } = this.overview;
    const all = /** @type {(keyof typeof ORDERS)[]} */ (Object.keys(ORDERS));
    return all.filter((name) => name === "model" || (!signed && notes[0][name] !== null));
  }

  get order() {
    return this.orders.includes(this.options.order) ? this.options.order : "model";
  }

  get shadesHeads() {
    return this.options.kind === "link" && this.canRank;
  }

  get drawsArcs() {
    return this.options.kind === "arcs" && !this.overview.signed;
  }

  /** @returns {Zoom} */
  get zoom() {
    const { zoom } = this.options;
    return zoom?.of === this.mark ? zoom : { of: this.mark, zoom: 1, x: 0, y: 0 };
  }

  // The heads that the arcs show, each with the number of its colour: those that were chosen for the head in view, else it alone.
  get colouredHeads() {
    const { options: { chips }, layer, head } = this;
    const known = chips?.of === chipsName(layer, head) ? [...chips.on].filter(([each]) => Number(each) < this.overview.heads) : [];
    return new Map(known.length ? known : [[head, 0]]);
  }


  /** @param {number} layer @param {number | null} head */
  isChosen(layer, head) {
    return layer === this.layer && (this.head === null || head === this.head);
  }

  /** @param {number} layer @param {number | null} head */
  isOff(layer, head) {
    return this.edits.heads.some(([ofLayer, ofHead]) => ofLayer === layer && ofHead === head);
  }

  /** What is edited in the head in view, or with the mean in any of the layer. @returns {HeadEdits} */
  get headEdits() {
    const { layer, head, edits } = this;
    return {
      off: this.isOff(layer, head),
      columns: edits.columns.filter(([of]) => of === null || of === layer).map(([, key]) => key),
      cells: edits.cells.filter(([of, own]) => of === layer && (head === null || own === head)).map(([, , ...cell]) => cell),
    };
  }

  // What the head in view is called in its attributes.
  get headName() {
    return headName(this.layer, this.head);
  }
}
