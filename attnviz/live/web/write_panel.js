// The page Write of the site: the text, what could come next behind any of its tokens, and the ways to write on.

import { make } from "../../figures/drawing/elements.js";
import { decimals, percent } from "../../figures/drawing/numbers.js";
import { reshaped } from "./models/sampling.js";

/**
 * @import { Values } from "./address.js"
 * @import { Sampling } from "./models/sampling.js"
 * @import { ModelPicture } from "./run_model.js"
 * @import { SitePage } from "./site.js"
 * @import { Sentence } from "./wording.js"
 */

/**
 * @typedef {[piece: string, text: string, label: string, score: number]} NextToken  score: ln p
 * @typedef {{ start: number, pieces: string[], starts: number[], tokens: [gap: string, name: string, share: number][], next: NextToken[][], rest: number[][] }} Writing
 *   start: of what the model wrote; next and rest: of every token what is likeliest behind it, and the mass of all others at each temperature
 * @typedef {(drawn: object, pick: (place: number) => void) => void} Draw
 */

// Candidates that are drawn.
const DRAWN = 8;
const BY_CHANCE = "By chance";
/** @type {Record<string, { label: string, unasked: number, least: number, most: number, step: number }>} */
const NUMBERS = {
  more: { label: "Tokens", unasked: 20, least: 1, most: 200, step: 1 },
  temperature: { label: "Temperature", unasked: 1, least: 0.1, most: 2, step: 0.1 },
  top_p: { label: "Top-p", unasked: 1, least: 0.05, most: 1, step: 0.05 },
  top_k: { label: "Top-k (0: all)", unasked: 0, least: 0, most: 50, step: 1 },
  seed: { label: "Seed", unasked: 1, least: 0, most: 9999, step: 1 },
};
// Nothing is looked at but what comes next.
const NOWHERE = { query: null, key: null, queries: null, keys: null, layer: null, head: null, mean: null };

/** How the next token is chosen; null: the likeliest. @param {Values} values @returns {Sampling | null} */
export function samplingOf(values) {
  if (values.choose !== BY_CHANCE) return null;
  const [temperature, top_k, top_p, seed] = ["temperature", "top_k", "top_p", "seed"].map((name) => values[name] ?? NUMBERS[name].unasked);
  return { temperature, top_k, top_p, seed };
}

/** Where a token is foretold, and the last place before it where the same one stands; behind the last token, the likeliest one.
 * @param {Writing} writing @param {number} place @returns {[query: number, key: number | null]} */
export function copiedLink({ pieces, next }, place) {
  const piece = place < pieces.length ? pieces[place] : next[pieces.length - 1][0][0];
  const earlier = pieces.lastIndexOf(piece, place - 1);
  return [place - 1, earlier < 0 ? null : earlier];
}

// What an address says of a link.
const LINK = ["query", "key", "queries", "keys"];

/** What is looked at where nobody asked for a word of the text: the link from the last token to where the next one stands already. A picture that
 * came with the site knows it, where no head is chosen and its tokens are shown. @param {ModelPicture} picture @param {Values} values @param {boolean} isPinned @returns {Values} */
export function unaskedLink({ said: { writing, link } }, values, isPinned) {
  const count = writing.pieces.length;
  if ((values.query ?? count) < count) return values;
  const others = Object.fromEntries(Object.entries(values).filter(([name]) => !LINK.includes(name)));
  if (link && !isPinned && !values.words && !values.hide_special) return others;
  const [query, key] = copiedLink(writing, count);
  return { ...others, query, key };
}

/** The place that is looked at: behind the token that was clicked, else behind the last one. @param {Writing} writing @param {Values} values */
export const placeOf = ({ pieces }, { query = null }) => (query === null || query >= pieces.length ? pieces.length : query + 1);

/** What the model expects at a place, and how likely what stands there was; as attnviz/analysis/next_and_why.py says it, which a test compares.
 * @param {Writing} writing @param {number} place @returns {Sentence[]} */
export function describePlace({ pieces, tokens, next }, place) {
  const isNext = place === pieces.length;
  const candidates = next[place - 1];
  const names = candidates.slice(0, 2).map(([, , label, score]) => /** @type {Sentence} */ ([[label, 2], [` (${rough(Math.exp(score))})`, 0]]));
  /** @type {Sentence} */
  const expected = [[isNext ? "Next comes " : "Here the model expects ", 0], ...names[0], ...(names.length > 1 ? /** @type {Sentence} */ ([[", or else ", 0], ...names[1]]) : [])];
  if (isNext) return [expected];
  const rank = candidates.findIndex(([piece]) => piece === pieces[place]);
  const share = tokens[place][2];
  // A letter of several tokens stands with the first of them.
  const [, name = ""] = tokens.slice(0, place + 1).findLast(([, each]) => each) ?? [];
  const before = rank < 0 ? "" : rank === 0 ? ", the likeliest of all" : `, ${rank} ${rank === 1 ? "was" : "were"} likelier`;
  return [expected, [[name, 2], [` had ${rough(share)}${before}`, 0]]];
}

/** A probability in percent, as exactly as one says it. @param {number} share */
function rough(share) {
  if (share < 0.001) return "less than 0.1\u00a0%";
  return share >= 0.01 && share < 0.995 ? `${decimals(100 * share, 0)}\u00a0%` : percent(share);
}

/** @param {SitePage} sitePage @param {{ drawText: Draw, drawBars: Draw, choices: HTMLElement, tell(sentences: Sentence[]): void,
 *   write(): void }} places */
function writePanel(sitePage, { drawText, drawBars, choices, tell, write }) {
  return (/** @type {ModelPicture} */ picture, /** @type {Values} */ values) => {
    /** @type {Writing} */
    const writing = picture.said.writing;
    const { pieces, tokens, start, next, rest } = writing;
    const place = placeOf(writing, values);
    tell(describePlace(writing, place));
    const upcoming = next[pieces.length - 1][0][2];
    drawText({ kind: "text", skipped: 0, tokens, start, chosen: place, upcoming }, (picked) => {
      const [query, key] = picked < pieces.length ? copiedLink(writing, picked) : [null, null];
      void sitePage.change({ ...NOWHERE, query, key });
    });
    const candidates = next[place - 1];
    const shares = reshaped(candidates.map(([, , , score]) => score), rest[place - 1], samplingOf(values));
    const rows = candidates.map(([, text, label], rank) => [label, text, shares[rank]]).slice(0, DRAWN).filter(([, , share]) => share);
    const stands = place < pieces.length ? candidates.slice(0, rows.length).findIndex(([piece]) => piece === pieces[place]) : -1;
    const others = Math.max(0, 1 - rows.reduce((sum, [, , share]) => sum + Number(share), 0));
    const bars = { rows, stands, rest: others, isNext: place === pieces.length, isClickable: true };
    drawBars({ kind: "bars", first: place, places: [bars], chosen: place }, (picked) => take(sitePage, picture, place, candidates[picked]));
    drawChoices(sitePage, values, choices, write);
  };

  /** Puts a token where another one stood, or behind the last; what stood behind goes. @param {SitePage} page @param {ModelPicture} picture @param {number} place @param {NextToken} token */
  function take({ values }, { said: { writing, prompt } }, place, [piece, text]) {
    const { start, pieces, starts } = writing;
    if (place >= start) return void sitePage.go({ ...values, ...NOWHERE, text: prompt.text, written: [...pieces.slice(start, place), piece].join(" ") });
    const before = Array.from(prompt.text).slice(0, starts[place]).join("");
    void sitePage.go({ ...values, ...NOWHERE, text: before.trimEnd() + text, written: null });
  }
}

/** What is asked beside the bars stays while somebody moves it. @param {SitePage} sitePage @param {Values} values @param {HTMLElement} choices @param {() => void} write */
function drawChoices(sitePage, values, choices, write) {
  const isByChance = values.choose === BY_CHANCE;
  const shown = JSON.stringify([isByChance, Boolean(values.written)]);
  if (choices.dataset.shown !== shown) fillChoices(sitePage, choices, write);
  choices.dataset.shown = shown;
  for (const input of choices.querySelectorAll("input")) {
    const value = values[input.name] ?? NUMBERS[input.name].unasked;
    if (input !== document.activeElement) input.value = String(value);
    if (input.type === "range") /** @type {Element} */ (input.previousElementSibling).textContent = `${NUMBERS[input.name].label} ${value}`;
  }
}

/** @param {SitePage} sitePage @param {HTMLElement} choices @param {() => void} write */
function fillChoices(sitePage, choices, write) {
  const { values } = sitePage;
  const focused = /** @type {HTMLElement | null} */ (document.activeElement)?.dataset?.name;
  const ways = ["Likeliest", BY_CHANCE].map((name) => {
    const onclick = () => void sitePage.change({ choose: name === BY_CHANCE ? name : null });
    return make("button", { type: "button", "data-name": name, "aria-pressed": String((values.choose ?? "Likeliest") === name), onclick }, name);
  });
  const back = make("button", { type: "button", onclick: () => void sitePage.go({ ...sitePage.values, ...NOWHERE, written: null }) }, "Back to the text");
  choices.replaceChildren(
    make("div", { class: "row" }, make("button", { type: "button", class: "main", "data-name": "write", onclick: write }, "Write on"), numberBox(sitePage, "more"), ...(values.written ? [back] : [])),
    make("div", { class: "row", role: "group", "aria-label": "Choose the next word" }, make("span", {}, "Choose the next word"), ...ways),
    make("div", { class: "row" }, ...(values.choose === BY_CHANCE ? ["temperature", "top_p", "top_k", "seed"].map((name) => numberBox(sitePage, name)) : [])),
  );
  if (focused) /** @type {HTMLElement | null} */ (choices.querySelector(`[data-name="${focused}"]`))?.focus({ preventScroll: true });
}

/** @param {SitePage} sitePage @param {string} name */
function numberBox(sitePage, name) {
  const { label, unasked, least, most, step } = NUMBERS[name];
  const isSlider = step < 1;
  const input = make("input", { type: isSlider ? "range" : "number", min: isSlider ? 0 : least, max: most, step, name });
  input.addEventListener(isSlider ? "input" : "change", () => {
    // Emptied, or no number: the last one stays.
    input.value ||= String(sitePage.values[name] ?? unasked);
    const wanted = Number((Math.round(Number(input.value) / step) * step).toFixed(2));
    const value = Math.min(Math.max(wanted, least), most);
    void sitePage.change({ [name]: value === unasked ? null : value });
  });
  return make("label", {}, make("span", {}, label), input);
}

export default { writePanel, unaskedLink };
