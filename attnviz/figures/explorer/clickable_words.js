// The text as words that can be clicked: what some of them give to the others is shading, and a sentence below.

import { around, headButtons, headWords, make, stepAlong } from "../drawing/elements.js";
import { percent } from "../drawing/numbers.js";
import { headName } from "./head_store.js";
import { View } from "./explorer_part.js";
import { wordShares } from "./word_weights.js";
import { headline, names } from "./wording.js";

/**
 * @import { Head } from "./head_store.js"
 * @import { Parts } from "./explorer_part.js"
 * @import { Axis } from "./word_weights.js"
 */

// More words than these are written smaller, in a box that scrolls.
const MANY = 60;

export class WordsView extends View {
  /** @type {Record<Axis, HTMLElement[]>} */
  spans = { queries: [], keys: [] };
  // Whether who looks and who is looked at are the same words.
  isOneLine = false;
  shaded = "";

  /** @param {Parts} parts */
  constructor(parts) {
    super(parts);
    this.lines = make("div", { class: "lines" });
    this.headline = make("p", { class: "headline", role: "status" });
    this.fact = make("p", { class: "where" });
    const unpin = () => this.actions.unpin();
    this.unpin = make("button", { type: "button", class: "unpin", onclick: unpin }, "Show the strongest head for each word");
    const several = () => this.actions.look({ several: !this.state.options.several });
    const title = "Clicks add words, whose weights are summed; so does a click with Shift";
    this.several = make("button", { type: "button", class: "several", title, onclick: several }, "Several words");
    this.element = make("div", { class: "words" }, this.lines, this.headline, make("div", { class: "row" }, this.fact, this.unpin, this.several));
    this.lines.addEventListener("click", (event) => this.pick(around(event, "[data-index]"), event));
    this.lines.addEventListener("keydown", (event) => this.key(event));
  }

  // Made when it is first seen, for a long text has hundreds of words.
  build() {
    const { words, direction, lineNames } = this.state.overview;
    this.isOneLine = words.own.length === words.keys.length && words.own.every((key, query) => key === query);
    const axes = /** @type {Axis[]} */ (this.isOneLine ? ["keys"] : ["keys", "queries"]);
    for (const axis of axes) this.spans[axis] = words[axis].map((word, index) => wordSpan(word, axis, index));
    const lines = axes.map((axis) => {
      const name = lineNames?.[axis] ?? (axis === "keys" ? "Looked at" : "Looking");
      const label = this.isOneLine ? "Words" : lineNames?.[axis] ?? (axis === "keys" ? "Words that are looked at" : "Words that look");
      this.spans[axis][0].tabIndex = 0;
      const line = make("div", { class: "tokens", role: "group", "aria-label": label, dir: direction[axis === "queries" ? 0 : 1] }, ...lastSpecial(this.spans[axis]));
      return this.isOneLine ? line : make("div", { class: "side" }, make("span", { class: "axis" }, name), line);
    });
    this.lines.replaceChildren(...lines);
    this.lines.classList.toggle("many", words.keys.length > MANY);
  }

  draw() {
    const { state } = this;
    const head = state.current;
    if (!this.spans.keys.length) this.build();
    this.several.setAttribute("aria-pressed", String(state.options.several));
    this.unpin.hidden = !state.hasWords || !state.words.isPinned || !state.canRank;
    if (!head || state.query === null || !this.element.isConnected || this.element.hidden) return;
    const { question, overview } = state;
    const { palette } = this.surface;
    const shares = wordShares(head, overview.words, question.queries);
    this.tell(head, shares);
    const mark = [headName(head.layer, head.head), palette.theme.name, state.fullScale, question.queries, question.isLink && question.keys].join(" ");
    if (mark === this.shaded) return;
    this.shaded = mark;
    const end = state.fullScale && !head.signed ? 1 : Math.max(...shares.map(Math.abs), 1e-9);
    this.spans.keys.forEach((each, key) => {
      const isMasked = question.queries.every((query) => this.masked(head, query, key));
      const share = Math.abs(shares[key]) / end;
      const colour = isMasked ? palette.theme.masked : palette.colour(share);
      each.style.background = colour;
      each.style.color = palette.ink(colour);
      each.classList.toggle("masked", isMasked);
      each.title = isMasked ? "cannot be looked at" : percent(shares[key]);
    });
    const own = question.queries.map((query) => (this.isOneLine ? overview.words.own[query] : query));
    this.spans[this.isOneLine ? "keys" : "queries"].forEach((each, word) => {
      this.choose(each, "query", own.includes(word));
      // Tab enters the words at the one that is chosen.
      if (own.length) each.tabIndex = word === own[0] ? 0 : -1;
    });
    this.spans.keys.forEach((each, word) => each.classList.toggle("key", question.isLink && question.keys.includes(word)));
    this.reveal();
  }

  /** @param {HTMLElement} each @param {string} name @param {boolean} isOn */
  choose(each, name, isOn) {
    each.classList.toggle(name, isOn);
    each.setAttribute("aria-pressed", String(isOn));
  }

  /** The sentences below the words. @param {Head} head @param {Float32Array} shares */
  tell(head, shares) {
    const { state } = this;
    const { overview, question } = state;
    this.headline.hidden = head.signed;
    if (!head.signed) this.headline.replaceChildren(...headline(overview, question, shares, (query, key) => this.masked(head, query, key), state.number));
    const count = overview.layers * overview.heads;
    const table = state.canRank ? state.store?.table(question.queries) : null;
    if (table && !table.value) this.later(table.promise, () => this.parts.draw());
    const mean = table?.value && question.keys.length ? this.mean(table.value.mean(question.keys)) : [];
    const shown = headWords(head.layer, head.head);
    const where = count === 1 ? "This model has one head." : `The model has ${count} heads${overview.words.keys.length === 1 ? "" : ", and each looks in its own way"}; this is ${shown}.`;
    this.fact.replaceChildren(state.where && count > 1 ? `In ${state.where}.` : where, ...mean);
  }

  /** What all heads give to the link, on average. @param {number} share */
  mean(share) {
    const { overview, question } = this.state;
    const [who, whom] = [names(overview.words, "queries", question.queries), names(overview.words, "keys", question.keys)];
    return [` Mean of all ${overview.layers * overview.heads} heads from `, ...who, " to ", ...whom, `: ${percent(share)}.`];
  }

  /** @param {Head} head @param {number} query @param {number} key */
  masked(head, query, key) {
    const { words } = this.state.overview;
    return words.queries[query].parts.every((row) => words.keys[key].parts.every((column) => head.masked(row, column)));
  }

  // Scrolls a long text, and nothing around it, so that the word that looks can be seen.
  reveal() {
    const chosen = this.spans[this.isOneLine ? "keys" : "queries"].find((each) => each.classList.contains("query"));
    if (!chosen || !this.lines.classList.contains("many")) return;
    const [inner, outer] = [chosen.getBoundingClientRect(), this.lines.getBoundingClientRect()];
    if (inner.top < outer.top || inner.bottom > outer.bottom) this.lines.scrollTop += inner.top + inner.height / 2 - outer.top - outer.height / 2;
  }

  /** @param {HTMLElement | null} each @param {{ shiftKey: boolean, ctrlKey: boolean, metaKey: boolean }} event */
  pick(each, event) {
    if (!each) return;
    const { axis, index } = this.placeOf(each);
    const query = this.isOneLine ? this.state.overview.words.own.indexOf(index) : index;
    const adds = this.state.options.several || event.shiftKey || event.ctrlKey || event.metaKey;
    this.actions.askWord(axis, this.isOneLine ? query : index, adds);
  }

  /** @param {HTMLElement} each @returns {{ axis: Axis, index: number }} */
  placeOf(each) {
    return { axis: /** @type {Axis} */ (each.dataset.axis), index: Number(each.dataset.index) };
  }

  /** @param {KeyboardEvent} event */
  key(event) {
    const each = around(event, "[data-index]");
    if (!each) return;
    if (event.key === "Enter" || event.key === " ") this.pick(each, event);
    else if (!stepAlong(event, each, this.spans[this.placeOf(each).axis])) return;
    event.preventDefault();
  }
}

/** What the model added itself stands behind the text, on one line. @param {HTMLElement[]} spans */
function lastSpecial(spans) {
  const isSpecial = (/** @type {HTMLElement} */ each) => each.classList.contains("special");
  const special = spans.filter(isSpecial);
  return [...spans.filter((each) => !isSpecial(each)), ...(special.length ? [make("span", { class: "added" }, ...special)] : [])];
}

/** @param {{ text: string, special: boolean }} word @param {Axis} axis @param {number} index */
function wordSpan({ text, special }, axis, index) {
  const kind = special ? "token word special" : "token word";
  return make("span", { class: kind, role: "button", tabindex: "-1", dir: "auto", "data-axis": axis, "data-index": index }, text);
}

// The first heads of the ranking by what is asked, each with a bar as long as its weight.

const SHOWN = 5;

export class HeadsList extends View {
  drawn = "";

  /** @param {Parts} parts */
  constructor(parts) {
    super(parts);
    this.caption = make("p", { class: "caption" });
    this.list = make("ol", { class: "first-heads" });
    this.element = make("div", { class: "pane first" }, this.caption, this.list);
  }

  draw() {
    const { state } = this;
    const { question, overview } = state;
    const table = state.store?.table(question.queries).value;
    if (!table || state.query === null) return;
    const ranked = table.ranked(question.keys).slice(0, SHOWN);
    const mark = JSON.stringify([question.queries, question.keys, state.headName, this.surface.colours.name]);
    if (mark === this.drawn) return;
    this.drawn = mark;
    const { words } = overview;
    const [who, whom] = [names(words, "queries", question.queries), names(words, "keys", question.keys)];
    this.caption.replaceChildren("Which heads link ", ...who, " to ", ...whom, state.rankedBy ? `? By ${state.rankedBy}.` : "?");
    const isChosen = (/** @type {number} */ layer, /** @type {number} */ head) => state.head !== null && state.isChosen(layer, head);
    this.list.replaceChildren(...headButtons(ranked, isChosen, (layer, head) => this.actions.openHead(layer, head)));
  }
}
