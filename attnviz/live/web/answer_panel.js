// Question and passage on the page Answer: words of the question that can be clicked, bars under the passage, and the first heads.

import { make, word } from "../../figures/drawing/elements.js";
import { percent } from "../../figures/drawing/percent.js";
import { DARK, paletteNow } from "./colours.js";
import { shownOn } from "./controls.js";
import { ExplorerFold } from "./explorer_fold.js";
import { drawPassage } from "./passage_panel.js";
import { smallMatrix } from "./small_matrix.js";
import { tell } from "./story.js";

/**
 * @import { Values } from "./address.js"
 * @import { AnswerHead, AnswerQuestion } from "./answer_words.js"
 * @import { SitePage, Panel } from "./site_page.js"
 * @import { ModelPicture } from "./model_picture.js"
 */

const PICTURES = { passage: "Question and passage", matrix: "Matrix", spans: "Start and end" };
const ABOUT_SPANS = "First word down, last word across: how likely this answer is. The best are numbered; grey cells are no answer.";

/** @param {SitePage} sitePage @param {(picture: ModelPicture) => void} drawAnswer @returns {Panel} */
export function answerPanel(sitePage, drawAnswer) {
  const fold = new ExplorerFold(sitePage, "1");
  /** @type {(() => void) | null} */
  let again = null;
  DARK.addEventListener("change", () => again?.());
  let turn = 0;
  return {
    async show(picture, values) {
      const mine = ++turn;
      const seen = await picture.answerHead(askedBy(values));
      if (mine !== turn) return;
      picture.seen = seen;
      drawAnswer(picture);
      tell(answerPart("story"), [...seen.story, ...(seen.word === null ? picture.said.story.slice(1) : [])]);
      const { picture: kind = "passage" } = values;
      const matrix = kind === "matrix" ? await picture.answerMatrix(seen, askedBy(values).view) : picture.said.joint;
      if (mine !== turn) return;
      again = () => (kind === "passage" ? drawSeen(sitePage, picture, seen) : drawAnswerMatrix(sitePage, seen, kind, matrix));
      again();
      await fold.show(picture, shownOn("answer", picture, values), values);
    },
  };
}

/** @param {string} id */
const answerPart = (id) => /** @type {HTMLElement} */ (document.getElementById(id));

/** @param {Values} values @returns {AnswerQuestion} */
function askedBy({ side = null, layer = null, head = null, all_heads: isMean = null, asked1: asked = null, whole_words: words = true, hide_special: hideSpecial = false }) {
  return { side, layer, head, isMean, word: asked, view: { words, hideSpecial } };
}

/** @param {SitePage} sitePage @param {ModelPicture} picture @param {AnswerHead} seen */
function drawSeen(sitePage, { said: { passage, prompt, answer } }, seen) {
  const { question, word: asked, bars } = seen;
  const meets = asked === null ? "" : `“${question[asked][0]}”`;
  const own = bars ? [{ name: seen.side === "question" ? `${meets} looks here` : `looks at ${meets}`, values: bars }] : passage.bars;
  const note = make("p", { class: "note" }, asked === null ? whatSharesAre(seen) : `Bars show attention with ${meets} in ${placeOf(seen)}. Click it again to go back.`);
  const restore = keptFocus();
  drawPassage(answerPart("passage"), prompt.text, { ...passage, bars: own }, pictureButtons(sitePage, "passage"), note, questionButtons(sitePage, seen));
  if (seen.heads.length) answerPart("passage").append(firstHeads(sitePage, seen, answer.text));
  restore();
}

/** What has the keyboard has it again once the picture is drawn anew. */
function keptFocus() {
  const place = answerPart("passage");
  const focused = /** @type {HTMLElement | null} */ (document.activeElement?.closest("#passage [data-word], #passage [data-head], #passage [data-picture], #passage .cells"));
  const again = focused && (Object.entries(focused.dataset).map(([name, value]) => `[data-${name}="${value}"]`).join("") || ".cells");
  return () => again && /** @type {HTMLElement | null} */ (place.querySelector(again))?.focus({ preventScroll: true });
}

/** @param {SitePage} sitePage @param {string} shown */
function pictureButtons(sitePage, shown) {
  const buttons = Object.entries(PICTURES).map(([kind, name]) => {
    const onclick = () => void sitePage.change({ picture: kind === "passage" ? null : kind, query1: null, key1: null });
    return make("button", { type: "button", "data-picture": kind, "aria-pressed": String(kind === shown), onclick }, name);
  });
  return make("div", { class: "pictures", role: "group", "aria-label": "Picture" }, ...buttons);
}

/** Question and passage as a matrix, of which a click chooses a cell; or start × end. @param {SitePage} sitePage @param {AnswerHead} seen @param {string} kind @param {any} matrix */
function drawAnswerMatrix(sitePage, seen, kind, matrix) {
  const restore = keptFocus();
  const isSpans = kind === "spans";
  const about = `Each row: one word, and where it looks in ${placeOf(seen)}. Of a long passage, the part around the answer.`;
  const note = make("p", { class: "note" }, isSpans ? ABOUT_SPANS : about);
  const pick = (/** @type {number} */ row, /** @type {number} */ column) => void sitePage.change({ query1: matrix.at[0][row], key1: matrix.at[1][column] });
  const look = isSpans
    ? { number: "probability", isFull: false }
    : { number: "weight", isFull: sitePage.values.scale !== "Fit to this head", selected: chosenCellOf(matrix, sitePage.values), pick };
  answerPart("passage").replaceChildren(pictureButtons(sitePage, kind), note, ...smallMatrix(matrix, look));
  restore();
}

/** The cell of the address, else the largest of the answer's first row. @param {any} matrix @param {Values} values @returns {[number, number]} */
function chosenCellOf({ at: [rows, columns], weights, first }, { query1, key1 }) {
  const [row, column] = [rows.indexOf(query1), columns.indexOf(key1)];
  if (row >= 0 && column >= 0) return [row, column];
  const own = weights.slice(first * columns.length, (first + 1) * columns.length);
  return [first, own.indexOf(Math.max(...own))];
}

/** @param {AnswerHead} seen */
function placeOf({ layer, head, count }) {
  if (count === 1) return "the model's only head";
  return head === null ? `the mean of layer ${layer}` : `head ${head} of layer ${layer}, one of ${count}`;
}

/** @param {AnswerHead} seen */
function whatSharesAre(seen) {
  const looks = seen.side === "question" ? "How much each question word looks at the answer" : "How much the answer looks at each question word";
  return `${looks} (${placeOf(seen)}). Click a word.`;
}

/** The question as buttons, one a word, shaded by what the answer gives to each. @param {SitePage} sitePage @param {AnswerHead} seen */
function questionButtons(sitePage, { question, shares, word: asked }) {
  const palette = paletteNow();
  const highest = sitePage.values.scale === "Fit to this head" ? Math.max(...shares) || 1 : 1;
  const buttons = question.map(([text, special], index) => {
    const colour = palette.colour(shares[index] / highest);
    const name = make("bdi", { style: `background:${colour};color:${palette.ink(colour)}` }, text);
    const kind = ["word", special && "special", index === asked && "chosen"].filter(Boolean).join(" ");
    const onclick = () => void sitePage.change({ asked1: index === asked ? null : index });
    return make("button", { type: "button", class: kind, "data-word": index, "aria-pressed": String(index === asked), onclick }, name, make("em", {}, shares[index].toFixed(2)));
  });
  return make("div", { class: "asked", dir: "auto" }, ...buttons);
}

/** The heads that give most to the chosen word, or to the one that the answer looks at most. @param {SitePage} sitePage @param {AnswerHead} seen @param {string} answer */
function firstHeads(sitePage, { side, heads, name, layer, head }, answer) {
  const [who, whom] = side === "question" ? [name, shortened(answer)] : [shortened(answer), name];
  const rows = heads.map(([own, number, weight]) => {
    const bar = make("span", { class: "bar-room", "aria-hidden": "true" }, make("i", { style: `width:${(100 * weight).toFixed(1)}%` }));
    const isChosen = String(own === layer && number === head);
    const onclick = () => void sitePage.change({ layer: own, head: number, all_heads: null });
    return make("li", {}, make("button", { type: "button", "data-head": `${own}.${number}`, "aria-pressed": isChosen, onclick },
      make("span", {}, `head ${number} of layer ${own}`), bar, make("b", {}, percent(weight))));
  });
  const caption = make("p", { class: "note" }, "Which heads link ", make("strong", {}, word(who)), " to ", make("strong", {}, word(whom)), "?");
  return make("div", { class: "first" }, caption, make("ol", { class: "first-heads" }, ...rows));
}

const MOST_LETTERS = 60;

/** @param {string} text */
function shortened(text) {
  const letters = Array.from(text);
  return letters.length <= MOST_LETTERS ? text : `${letters.slice(0, MOST_LETTERS - 1).join("")}…`;
}
