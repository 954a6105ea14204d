// What stands beside the picture: layer, head and how it is drawn. Each control writes the address, and the picture follows.

import { make } from "../../figures/drawing/elements.js";
import { placeOnCompute } from "./address.js";
import { drawnOf, heroOf } from "./alignments.js";
import { optionsOf } from "./run_model.js";

/**
 * @import { DrawnAlignment } from "./alignments.js"
 * @import { AnswerHead } from "./answer_words.js"
 * @import { Table } from "./downloads.js"
 * @import { Token } from "./head_view.js"
 * @import { HeadShown, ModelPicture } from "./run_model.js"
 * @import { SitePage } from "./site.js"
 */

/** @param {SitePage} sitePage @param {ModelPicture} picture */
export function drawControls(sitePage, picture) {
  const { controls } = sitePage.parts;
  const focused = /** @type {HTMLElement | null} */ (document.activeElement)?.dataset?.name;
  fillControls(sitePage, picture);
  for (const [name, about] of Object.entries(sitePage.config.about)) controls.querySelector(`[data-name="${name}"]`)?.setAttribute("title", about);
  if (focused) /** @type {HTMLElement | null} */ (controls.querySelector(`[data-name="${focused}"]`))?.focus();
}

/** @param {SitePage} sitePage @param {ModelPicture} picture */
function fillControls(sitePage, picture) {
  const { parts: { controls }, config: { page }, values } = sitePage;
  if (page === "translate") return controls.replaceChildren(...translators(sitePage, picture), ...headOfTranslators(sitePage, picture), scale(sitePage));
  if (page === "compute") return controls.replaceChildren(...weights(sitePage, picture));
  const shown = shownOn(page, picture, values);
  const map = picture.maps.find(({ kind }) => kind === shown.kind) ?? picture.maps[0];
  const [layers, heads] = map.shape;
  // Behind a mean stands the head that is shown without it.
  const head = shown.head ?? Math.min(values.head ?? map.first[1] ?? 0, heads - 1);
  const parts = [
    page === "answer" && picture.seen && sides(sitePage, picture, picture.seen.side),
    page !== "answer" && picture.maps.length > 1 && choice("Attention", picture.maps.map(({ kind }) => kind), shown.kind, (kind) => sitePage.change(asKind(kind))),
    stepper("Layer", layers, shown.layer, (layer) => sitePage.change({ layer, ...asHead(page, shown.head), ...noCell(page) })),
    stepper("Head", heads, head, (chosen) => sitePage.change({ layer: shown.layer, ...asHead(page, chosen), ...noCell(page) })),
    toggle("Mean over heads", shown.head === null, (on) => sitePage.change({ layer: shown.layer, ...asHead(page, on ? null : head), head, ...noCell(page) })),
    asksByWords(page) && toggle("Merge subwords to words", Boolean(values.words), (words) => sitePage.change({ words, ...noCell(page) })),
    !asksByWords(page) && toggle("Merge subwords to words", values.whole_words ?? true, (on) => sitePage.change({ whole_words: on ? null : false, ...noCell(page) })),
    page !== "summarize" && toggle("Hide special tokens", Boolean(values.hide_special), (on) => sitePage.change({ hide_special: on, ...noCell(page) })),
    ...(page === "summarize" ? amounts(sitePage) : []),
    scale(sitePage),
  ];
  controls.replaceChildren(...parts.filter((part) => part instanceof Node));
}

const SIDES = { cross: "Across: passage → question", passage: "Encoder: passage → question", question: "Encoder: question → passage" };

/** From which side question and passage are looked at. @param {SitePage} sitePage @param {ModelPicture} picture @param {keyof typeof SIDES} side */
function sides(sitePage, picture, side) {
  const names = Object.values(SIDES).slice(picture.maps.some(({ kind }) => kind === "cross") ? 0 : 1);
  const change = (/** @type {string} */ chosen) => sitePage.change({ side: Object.entries(SIDES).find(([, name]) => name === chosen)?.[0], ...noCell("answer") });
  return choice("Attention", names, SIDES[side], change);
}

const SOURCES = { worked: "An example", model: "A model" };

/** Where the numbers are from, and of a model which weight. @param {SitePage} sitePage @param {ModelPicture} picture */
function weights(sitePage, picture) {
  const { source = "worked" } = sitePage.values;
  const [worked, model] = Object.values(SOURCES);
  const from = choice("Numbers from", [worked, model], source === "model" ? model : worked, (chosen) => sitePage.go(chosen === model ? { source: "model" } : {}));
  if (source === "worked") return [from];
  const { layer, head, query, key, words } = placeOnCompute(sitePage.config, picture, sitePage.values);
  const { tokens, maps: [{ shape: [layers, heads] }] } = picture.said;
  const names = tokens.map((/** @type {string} */ text, /** @type {number} */ at) => `${at} · ${text}`);
  const change = (/** @type {object} */ changed) => sitePage.change({ ...changed, at: null });
  return [
    from,
    stepper("Layer", layers, layer, (chosen) => change({ layer: chosen })),
    stepper("Head", heads, head, (chosen) => change({ head: chosen })),
    choice("Query: the token that looks", names, names[query], (chosen) => change({ query: names.indexOf(chosen) })),
    choice("Key: the token it looks at", names, names[key], (chosen) => change({ key: names.indexOf(chosen) })),
    toggle("Merge subwords to words", words, (on) => change({ words: on })),
  ];
}

/** How much is kept. @param {SitePage} sitePage */
function amounts(sitePage) {
  const { words, sentences, share } = optionsOf(sitePage.config, sitePage.values);
  const unit = choice("Words to keep", ["Count", "Share"], share ? "Share" : "Count", (chosen) => sitePage.change({ unit: chosen === "Count" ? null : chosen }));
  const name = share ? "How many percent of the words" : "How many words";
  const count = stepper(name, 101, Number(words), (kept) => sitePage.change({ [share ? "share_kept" : "words_kept"]: kept }), 1);
  return [unit, count, stepper("Sentences to keep", 7, Number(sentences), (kept) => sitePage.change({ sentences_kept: kept }), 1)];
}

/** Which translators stand side by side, and how they decode. @param {SitePage} sitePage @param {ModelPicture} picture */
function translators(sitePage, picture) {
  const { values, config: { models } } = sitePage;
  const shown = picture.said.models;
  const [into, beam] = [values.into ?? "French", values.decoding === "Beam"];
  const own = models.filter((name) => name.endsWith("-en-de") === (into === "German"));
  const boxes = own.map((name) => toggle(name, shown.includes(name), (on) => {
    const chosen = own.filter((each) => (each === name ? on : shown.includes(each)));
    return sitePage.change({ models: chosen.length ? chosen : [name], hero: null });
  }));
  const german = models.some((name) => name.endsWith("-en-de"));
  const languages = german && choice("Into", ["French", "German"], into, (chosen) => sitePage.change({ into: chosen === "French" ? null : chosen, models: null, hero: null }));
  const decoding = own.length && choice("Decoding", ["Greedy", "Beam"], beam ? "Beam" : "Greedy", (chosen) => sitePage.change({ decoding: chosen === "Beam" ? chosen : null }));
  return [languages, decoding, ...boxes].filter((part) => part instanceof Node);
}

/** Which head of the translators is drawn, where one of them has several, and how. @param {SitePage} sitePage @param {ModelPicture} picture */
function headOfTranslators(sitePage, { said: { shapes = [] }, aligned }) {
  const [layers, heads] = [0, 1].map((size) => Math.max(1, ...shapes.map((shape) => shape[size])));
  const change = (/** @type {object} */ changed) => sitePage.change(changed);
  const { values } = sitePage;
  const words = toggle("Merge subwords to words", values.whole_words ?? true, (on) => change({ whole_words: on ? null : false }));
  const special = toggle("Hide special tokens", Boolean(values.hide_special), (on) => change({ hide_special: on }));
  const own = aligned?.models.find((/** @type {any} */ { head }) => head);
  if (layers * heads === 1 || !own) return [words, special];
  const [layer, head] = own.place;
  return [
    stepper("Layer", layers, layer, (chosen) => change({ layer: chosen, head, all_heads: head === null })),
    stepper("Head", heads, head ?? 0, (chosen) => change({ layer, head: chosen, all_heads: false })),
    toggle("Mean over heads", head === null, (on) => change({ layer, head: head ?? 0, all_heads: on })),
    words, special,
  ];
}

/** Which head of which map the address names, else the picture's own. @param {string} page @param {ModelPicture} picture @param {Record<string, any>} values */
export function shownOn(page, picture, values) {
  const { linked, seen } = picture;
  if (page === "answer" && seen) return shownInAnswer(seen, values);
  const wanted = values.attention ?? picture.said.shown;
  const map = picture.maps.find(({ kind }) => kind === wanted) ?? picture.maps[0];
  const [slot, isFull] = ["", scaleOf(page, values) === SCALES[0]];
  const words = page === "summarize" ? (values.whole_words ?? true) : Boolean(values.words);
  const view = { words, hideSpecial: Boolean(values.hide_special) };
  if (linked && !isPinned(values)) return { kind: map.kind, layer: linked.layer, head: linked.head, view, slot, isFull };
  const [layer, head] = map.first;
  const isMean = asksByWords(page) ? Boolean(values.mean) : (values.all_heads ?? true);
  const [layers, heads] = map.shape;
  return { kind: map.kind, layer: Math.min(values.layer ?? layer, layers - 1), head: isMean ? null : Math.min(values.head ?? head ?? 0, heads - 1), view, slot, isFull };
}

/** The head that is drawn, of which model, and whether all others of that model are here, too: of several translators those of the first are.
 * @param {SitePage} sitePage @param {ModelPicture} picture
 * @returns {{ model: string, shown: HeadShown, table: () => Promise<Table>, hasAllHeads: boolean }} */
export function shownHead({ config: { page }, values }, picture) {
  const { said: { models }, aligned } = picture;
  if (page !== "translate" || !aligned) {
    const shown = shownOn(page, picture, values);
    return { model: models[0], shown, table: () => picture.table(shown), hasAllHeads: true };
  }
  const hero = heroOf(values, models.length);
  const model = aligned.models[hero - 1];
  const [layer, head] = model.place;
  const view = { words: values.whole_words ?? true, hideSpecial: Boolean(values.hide_special) };
  return { model: model.name, shown: { kind: "cross", layer, head, view }, table: async () => alignmentTable(drawnOf(model, aligned.chunks)), hasAllHeads: hero === 1 };
}

/** @param {DrawnAlignment} drawn @returns {Table} */
function alignmentTable({ queries, keys, weights }) {
  const masked = Array.from(weights, Number.isNaN);
  return { queries: /** @type {Token[]} */ (queries), keys: /** @type {Token[]} */ (keys), weights: Float32Array.from(weights, (weight) => weight || 0), masked };
}

/** The block of a map that the side is of. @param {AnswerHead} seen @param {Record<string, any>} values */
function shownInAnswer({ side, kind, layer, head }, { whole_words: words = true, hide_special: hideSpecial = false, scale }) {
  const between = { cross: "all", passage: "second-first", question: "first-second" }[side];
  return { kind, layer, head, view: { words, hideSpecial, between }, slot: "1", isFull: scale !== SCALES[1] };
}

/** Whether a person chose the head; else it follows from the words. @param {Record<string, any>} values */
export const isPinned = ({ layer, head, mean }) => (layer ?? null) !== null || (head ?? null) !== null || Boolean(mean);

/** Whether the words that are clicked choose the head. @param {string} page */
const asksByWords = (page) => page === "encode" || page === "write";

/** How a head, or with null the mean of a layer's, stands in the address of a page. @param {string} page @param {number | null} head */
export const asHead = (page, head) => (asksByWords(page) ? { head: head ?? 0, mean: head === null } : { head: head ?? 0, all_heads: head === null });
/** @param {string} kind */
const asKind = (kind) => ({ attention: kind, layer: null, head: null, query: null, key: null });
/** @param {string} page */
const noCell = (page) => (asksByWords(page) ? {} : page === "answer" ? { query1: null, key1: null } : { query: null, key: null });

const SCALES = ["0 to 1", "Fit to this head"];
/** The scale of colours that the address has, else that of the app's page. @param {string} page @param {Record<string, any>} values @returns {string} */
const scaleOf = (page, { scale }) => scale ?? SCALES[page === "summarize" ? 1 : 0];

/** @param {SitePage} sitePage */
const scale = (sitePage) => choice("Colour scale", SCALES, scaleOf(sitePage.config.page, sitePage.values), (chosen) => sitePage.change({ scale: chosen === scaleOf(sitePage.config.page, {}) ? null : chosen }));

/** @param {string} name @param {string[]} options @param {string} chosen @param {(value: string) => void} onChange */
function choice(name, options, chosen, onChange) {
  const select = make("select", { "data-name": name }, ...options.map((option) => make("option", { selected: option === chosen }, option)));
  select.addEventListener("change", () => onChange(select.value));
  return make("label", { class: "choice" }, name, select);
}

/** @param {string} name @param {number} count @param {number} value @param {(value: number) => void} onChange @param {number} [least] */
function stepper(name, count, value, onChange, least = 0) {
  const input = make("input", { type: "number", min: String(least), max: String(count - 1), value: String(Math.min(value, count - 1)), "data-name": name });
  input.addEventListener("change", () => {
    // Emptied, or no number: the last one stays.
    if (input.value === "") input.value = input.defaultValue;
    else onChange(Math.min(Math.max(Math.round(Number(input.value)), least), count - 1));
  });
  return make("label", { class: "stepper" }, name, input);
}

/** @param {string} name @param {boolean} on @param {(on: boolean) => void} onChange */
function toggle(name, on, onChange) {
  const input = make("input", { type: "checkbox", checked: on, "data-name": name });
  input.addEventListener("change", () => onChange(input.checked));
  return make("label", { class: "toggle" }, input, name);
}
