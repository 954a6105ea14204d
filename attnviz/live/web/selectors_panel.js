// The page Summarize: what the chosen selector keeps of a text, and a table of what each of them would keep.

import { drawPassage } from "../../figures/answer_spans.js";
import { make } from "../../figures/drawing/elements.js";
import { shownOn } from "./controls.js";
import { ExplorerFold } from "./explorer_panel.js";
import { optionsOf } from "./run_model.js";
import { tell } from "./wording.js";

/**
 * @import { Values } from "./address.js"
 * @import { ModelPicture } from "./run_model.js"
 * @import { Panel, SitePage } from "./site.js"
 * @typedef {{ key: string, name: string, sentences: string, words: string }} Row
 */

/** @param {SitePage} sitePage @param {(picture: ModelPicture, said?: any) => void} drawAnswer @returns {Panel} */
export function selectionPanel(sitePage, drawAnswer) {
  const fold = new ExplorerFold(sitePage, "");
  const place = (/** @type {string} */ id) => /** @type {HTMLElement} */ (document.getElementById(id));
  let turn = 0;
  return {
    async show(picture, values) {
      const mine = ++turn;
      const { rows, shown } = await selectedOf(sitePage, picture, values);
      if (mine !== turn) return;
      drawAnswer(picture, shown);
      drawPassage(place("passage"), picture.said.prompt.text, shown.passage);
      const restored = document.activeElement?.closest("[data-selector]") instanceof HTMLElement;
      place("passage").append(selectorsTable(sitePage, rows, shown.key), make("p", { class: "note" }, sitePage.config.measured?.note ?? ""));
      if (restored) /** @type {HTMLElement | null} */ (document.querySelector("[data-selector][aria-pressed=true]"))?.focus({ preventScroll: true });
      tell(place("story"), shown.story);
      await fold.show(picture, shownOn("summarize", picture, values), values);
    },
  };
}

/** What every selector keeps, and the one that is shown large. @param {SitePage} sitePage @param {ModelPicture} picture @param {Values} values */
async function selectedOf(sitePage, picture, values) {
  const { way = null } = values;
  const isUnasked = [way, values.layer ?? null, values.head ?? null, values.all_heads ?? null].every((each) => each === null);
  if (isUnasked) return { rows: picture.said.rows, shown: { key: "trained", ...picture.said } };
  const { layer, head } = shownOn("summarize", picture, values);
  const { words, sentences: wanted, share } = /** @type {any} */ (optionsOf(sitePage.config, values));
  const all = await picture.selectors({ words, wanted, share }, layer, head);
  return { rows: all.map(({ row }) => row), shown: all.find(({ key }) => key === way) ?? all[0] };
}

/** What a row keeps: of another than the one shown large, where it differs from that one, as attnviz/figures/summary_passage.py says it.
 * @param {{ sentences: string, words: string }} row @param {{ sentences: string, words: string } | undefined} large @returns {[string, string]} */
export function differenceOf(row, large) {
  if (!large) return [row.sentences, row.words];
  const [mine, its] = [row.words, large.words].map((words) => words.split(/\s+/).filter(Boolean));
  const [more, less] = [mine.filter((word) => !its.includes(word)), its.filter((word) => !mine.includes(word))];
  const words = more.length ? `Also: ${more.join(" ")}` : less.length ? `Without: ${less.join(" ")}` : "The same words";
  return [row.sentences === large.sentences ? "The same sentences" : row.sentences, words];
}

/** @param {SitePage} sitePage @param {Row[]} rows @param {string} chosen */
function selectorsTable(sitePage, rows, chosen) {
  const measured = sitePage.config.measured?.rouge ?? {};
  const best = Math.max(...rows.map(({ name }) => measured[name] ?? 0));
  const lines = rows.map(({ key, name, sentences, words }) => {
    const pick = () => void sitePage.change({ way: key === "trained" ? null : key });
    const button = make("button", { type: "button", "data-selector": key, "aria-pressed": String(key === chosen) }, name);
    const figure = make("td", { class: measured[name] === best ? "figure best" : "figure" }, measured[name]?.toFixed(1) ?? "–");
    const lines = differenceOf({ sentences, words }, key === chosen ? undefined : rows.find((each) => each.key === chosen));
    const kept = [sentences, words].map((text, at) => make("p", { dir: "auto", title: text }, lines[at]));
    return make("tr", { "data-pick": key, class: key === chosen ? "chosen" : "", onclick: pick }, make("td", {}, button), figure, make("td", {}, ...kept));
  });
  const top = make("tr", {}, make("th", {}, "Choose by"), make("th", { class: "figure" }, "ROUGE-1"), make("th", {}, "Keeps"));
  return make("div", { class: "scroll" }, make("table", { class: "ways" }, top, ...lines));
}
