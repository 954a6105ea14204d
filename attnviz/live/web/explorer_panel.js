// The explorer on a page of the site: it shows a map of a picture, and what is chosen in it becomes the page's address.

import { counted, grouped } from "../../figures/drawing/numbers.js";
import { tableName } from "../../figures/explorer/word_weights.js";
import { isPinned, asHead } from "./controls.js";
import { mountPicture } from "./fetch_files.js";

/**
 * @import { Change } from "../../figures/explorer/explorer.js"
 * @import { Values } from "./address.js"
 * @import { View } from "./head_view.js"
 * @import { Overview } from "./map_package.js"
 * @import { ModelPicture } from "./run_model.js"
 * @import { SitePage } from "./site.js"
 * @import { WordLink } from "./word_links.js"
 */

/**
 * @typedef {{ kind: string, layer: number, head: number | null, view: View, slot: string, isFull: boolean }} Shown  slot: how names in the address end; isFull: colours run
 *   from 0 to 1
 * @typedef {{ picture: ModelPicture, shown: Shown, overview: Overview }} Open
 */

export class ExplorerPanel {
  /** @type {Open | null} */
  #open = null;
  #turn = 0;

  /** @param {HTMLElement} place @param {URL} script @param {(values: Values) => void} onChange */
  constructor(place, script, onChange) {
    this.onChange = onChange;
    this.mounted = mountPicture(place, "explorer", script);
  }

  /** @param {ModelPicture} picture @param {Shown} shown @param {Values} values @returns {Promise<boolean>} false: nothing is left to show */
  async show(picture, shown, values) {
    const turn = ++this.#turn;
    const [{ picture: explorer }, overview] = await Promise.all([this.mounted, this.#overview(picture, shown)]);
    // Another picture, which was here sooner, has been asked for since.
    if (turn !== this.#turn) return true;
    if (!overview) return false;
    explorer.host.pick = (/** @type {Change} */ change) => this.#pick(change);
    // What is missing may be a table of words, which comes by itself.
    explorer.host.want = (/** @type {any[]} */ places) => void (places.length && this.#fetch(places));
    const isOther = this.#open?.overview !== overview;
    this.#open = { picture, shown, overview };
    if (isOther) explorer.open(overview);
    explorer.update({ ...this.#settings(values), seq: explorer.state.seq });
    if (picture.linked && !explorer.state.store.isComplete) void this.#fetchTable(explorer.state.question.queries);
    return true;
  }

  // The overview that is on the screen already stays.
  /** @param {ModelPicture} picture @param {Shown} shown */
  async #overview(picture, shown) {
    const open = this.#open;
    const isSame = open && open.picture === picture && open.shown.kind === shown.kind && JSON.stringify(open.shown.view) === JSON.stringify(shown.view);
    return isSame ? open.overview : picture.overview(shown.kind, shown.view);
  }

  /** @param {Values} values */
  #settings(values) {
    const { picture: { linked, maps }, shown: { kind, layer, head, slot, isFull }, overview } = /** @type {Open} */ (this.#open);
    const { layers, heads } = overview;
    // Of the text, not of what a view leaves of it.
    const [queries, keys] = (maps.find((map) => map.kind === kind) ?? maps[0]).tokens;
    const tokens = queries === keys ? counted(keys, "token") : `${grouped(queries)} × ${grouped(keys)} tokens`;
    return {
      layer,
      head,
      ...cellShown(overview, values[`query${slot}`] ?? null, values[`key${slot}`] ?? null),
      ...(linked && wordSettings(linked, overview, values)),
      view: values[`view${slot}`] ?? "grid",
      look: values[`look${slot}`] ?? "",
      fullScale: isFull,
      theme: "auto",
      fact: `${tokens} · ${counted(layers * heads, "head")}`,
    };
  }

  /** @param {Change} change */
  #pick(change) {
    if (!this.#open || change.of !== this.#open.overview.name) return;
    const { picture: { linked }, shown: { slot } } = this.#open;
    /** @type {Values} */
    const values = { [`view${slot}`]: change.view === "grid" ? null : change.view, [`look${slot}`]: change.look };
    if (change.unpin) Object.assign(values, { layer: null, head: null, mean: null });
    if (change.layer !== undefined) Object.assign(values, { layer: change.layer, chosenHead: change.head });
    if (change.layer !== undefined && !linked) Object.assign(values, { [`query${slot}`]: null, [`key${slot}`]: null });
    const { query, key, ...further } = change.chosen ?? {};
    if (change.chosen) Object.assign(values, { [`query${slot}`]: query, [`key${slot}`]: key, ...(linked && further) });
    this.onChange(values);
  }

  /** What words give in every head, which an overview that was made here does not have. @param {number[]} words */
  async #fetchTable(words) {
    const open = /** @type {Open} */ (this.#open);
    const { picture: explorer } = await this.mounted;
    const name = tableName(words.map((word) => open.overview.words.queries[word].parts[0]));
    if (explorer.state.store.chunks.has(name)) return;
    const table = await open.picture.linkTable(open.shown.kind, open.shown.view, words).catch(console.warn);
    if (table && this.#open?.overview === open.overview) explorer.state.store.add(new Map([[name, table]]));
  }

  /** @param {any[]} places */
  async #fetch(places) {
    const open = /** @type {Open} */ (this.#open);
    const { picture: explorer } = await this.mounted;
    const isOpen = () => this.#open?.overview === open.overview;
    try {
      const chunks = await open.picture.heads(open.shown.kind, open.shown.view, places);
      if (isOpen()) explorer.state.store.add(chunks);
    } catch (error) {
      if (isOpen()) explorer.fail(error);
    }
  }
}

/** The row and the column of a link of the map; neither, where the picture does not show both. @param {Pick<Overview, "at" | "queries" | "keys">} overview
 * @param {number | null} query @param {number | null} key */
export function cellShown(overview, query, key) {
  const { rows, columns } = positionsOf(overview);
  const [row, column] = [rows.indexOf(query ?? -1), columns.indexOf(key ?? -1)];
  return row < 0 || column < 0 ? { query: null, key: null } : { query: row, key: column };
}

/** The words that are asked about, by rows and columns of the picture. @param {WordLink} linked @param {Overview} overview @param {Values} values */
function wordSettings({ query, key, isAsked, isLink }, overview, values) {
  const { rows, columns } = positionsOf(overview);
  const more = (/** @type {string} */ written, /** @type {number[]} */ all) => (written ?? "").split(".").flatMap((each) => (each && all.includes(Number(each)) ? [all.indexOf(Number(each))] : []));
  const words = { isAsked, isLink, isPinned: isPinned(values), queries: isAsked ? more(values.queries, rows) : [], keys: isLink ? more(values.keys, columns) : [] };
  return { query: rows.indexOf(query), key: columns.indexOf(key), words };
}

/** Where the rows and columns of an overview stand in its map. @param {Pick<Overview, "at" | "queries" | "keys">} overview @returns {{ rows: number[], columns: number[] }} */
function positionsOf({ at, queries, keys }) {
  const [rows, columns] = at ?? [[...queries.keys()], [...keys.keys()]];
  return { rows, columns };
}

// All heads on a page whose main picture is another one: folded, and not drawn, until somebody opens it.

export class ExplorerFold {
  /** @type {ExplorerPanel | null} */
  #explorer = null;

  /** @param {SitePage} sitePage @param {string} slot how names in the address end @param {Values} [byHead] what else a head that is clicked changes */
  constructor(sitePage, slot, byHead = {}) {
    this.sitePage = sitePage;
    this.byHead = byHead;
    this.name = `all${slot}`;
    this.details = /** @type {HTMLDetailsElement} */ (document.getElementById("all"));
    this.place = /** @type {HTMLElement} */ (document.getElementById("picture"));
    this.details.addEventListener("toggle", () => {
      if (this.details.open !== this.#isOpen) void sitePage.change({ [this.name]: this.details.open ? "open" : null });
    });
  }

  get #isOpen() {
    return this.sitePage.values[this.name] === "open";
  }

  /** @param {ModelPicture} picture @param {Shown} shown @param {Values} values */
  async show(picture, shown, values) {
    this.details.open = this.#isOpen;
    if (!this.#isOpen) return;
    this.#explorer ??= new ExplorerPanel(this.place, new URL("explorer.js", this.sitePage.files), (changed) => this.#change(changed));
    this.place.hidden = !(await this.#explorer.show(picture, shown, values));
  }

  /** @param {Values} changed */
  #change({ chosenHead, ...values }) {
    void this.sitePage.change({ ...values, ...(chosenHead === undefined ? {} : { ...asHead(this.sitePage.config.page, chosenHead), ...this.byHead }) });
  }
}
