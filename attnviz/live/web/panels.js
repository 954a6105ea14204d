// What each page draws of a picture.

import { drawAnswer, keptFocus, linkingHeads } from "../../figures/answer_spans.js";
import { make, nameOfHead } from "../../figures/drawing/elements.js";
import { Palette } from "../../figures/drawing/palette.js";
import { THEMES } from "../../figures/drawing/themes.js";
import { drawMatrices } from "../../figures/matrix.js";
import { placeOnCompute } from "./address.js";
import { shownOn, asHead, isPinned } from "./controls.js";
import { ExplorerFold, ExplorerPanel } from "./explorer_panel.js";
import { writeOn } from "./run_model.js";
import { mountPicture, fetchFile, importFrom, shadowed } from "./fetch_files.js";
import { selectionPanel } from "./selectors_panel.js";
import { STYLE } from "./style.js";
import { twoDigits } from "../../figures/drawing/numbers.js";
import { describeAlignment, tell } from "./wording.js";

/**
 * @import { Values } from "./address.js"
 * @import { AnswerHead, AnswerQuestion } from "./answer_words.js"
 * @import { HeadShown, ModelPicture } from "./run_model.js"
 * @import { Panel, SitePage } from "./site.js"
 * @import { Sentence } from "./wording.js"
 */

// The colours that the reader's system asks for.

const DARK = matchMedia("(prefers-color-scheme: dark)");

const paletteNow = () => new Palette(THEMES[DARK.matches ? "dark" : "light"]);

/** Draw now, and again whenever these colours change. @param {(palette: Palette) => void} draw */
function recoloured(draw) {
  draw(paletteNow());
  DARK.onchange = () => draw(paletteNow());
}

// Translations and their alignments on a page of the site; what is chosen in them becomes the page's address.

class AlignmentPanel {
  #name = "";

  /** @param {HTMLElement} place @param {URL} script @param {(values: Values) => void} onChange @param {(story: Sentence[], score: string, trained: string) => void} onStory  trained: the name of a head that was
   *   trained to align */
  constructor(place, script, onChange, onStory) {
    this.onChange = onChange;
    this.onStory = onStory;
    this.mounted = mountPicture(place, "alignment", script);
  }

  /** @param {any} message what attnviz/figures/translate/alignments.py packs @param {Values} values */
  async show(message, values) {
    const { picture: alignments } = await this.mounted;
    if (message.name !== this.#name) alignments.state.seq = 0;
    this.#name = message.name;
    const slots = message.models.map((/** @type {{ slot: number }} */ each) => each.slot);
    const hero = slots.includes(values.hero) ? values.hero : slots[0];
    const fullScale = values.scale !== "Fit to this head";
    alignments.host.pick = (/** @type {any} */ change) => this.#pick(change, message);
    alignments.update({ ...message, hero, fullScale, theme: "auto", seq: alignments.state.seq });
    const { [hero]: likely = null } = message.likely ?? {};
    const { isTrained, place: [layer, head] } = message.models[slots.indexOf(hero)];
    this.onStory([describeAlignment(alignments.state.model), ...(likely ? [likely] : [])], message.scores[hero], isTrained ? nameOfHead(layer, head) : "");
  }

  /** @param {{ hero: number, query?: number, key?: number, isLink?: boolean, layer?: number, head?: number | null, unpin?: boolean }} change @param {any} message */
  #pick({ hero, query, key, isLink, layer, head, unpin }, message) {
    /** @type {Values} */
    const values = { hero: hero === 1 ? null : hero };
    if (query !== undefined) Object.assign(values, { [`query${hero}`]: query + firstRowOf(message, hero), [`key${hero}`]: isLink ? key : null });
    if (layer !== undefined) Object.assign(values, { layer, head: head ?? null, all_heads: head === null || null });
    if (unpin) Object.assign(values, { layer: null, head: null, all_heads: null });
    this.onChange(values);
  }
}

/** The number that the address has for the first row. @param {any} message @param {number} slot @returns {number} */
const firstRowOf = ({ firstRows = {} }, slot) => firstRows[slot] ?? 0;

// Question and passage on the page Answer: words of the question that can be clicked, bars under the passage, and the first heads.

const PICTURES = { passage: "Question and passage", matrix: "Matrix", spans: "Start and end" };
const ABOUT_SPANS = "First word down, last word across: how likely this answer is. The best are numbered; grey cells are no answer.";

/** @param {SitePage} sitePage @param {(picture: ModelPicture) => void} drawHeadline @returns {Panel} */
function answerPanel(sitePage, drawHeadline) {
  const fold = new ExplorerFold(sitePage, "1");
  const buttons = pictureButtons(sitePage);
  part("passage").append(buttons);
  const roots = [openMarkup(), openMarkup("further")];
  let turn = 0;
  return {
    async show(picture, values) {
      const mine = ++turn;
      const seen = await picture.answerHead(askedBy(values));
      if (mine !== turn) return;
      picture.seen = seen;
      drawHeadline(picture);
      tell(part("story"), [...seen.story, ...(seen.word === null ? picture.said.story.slice(1) : [])]);
      const { picture: kind = "passage" } = values;
      const matrix = kind === "matrix" ? await picture.answerMatrix(seen, askedBy(values).view) : picture.said.joint;
      if (mine !== turn) return;
      for (const each of buttons.children) each.setAttribute("aria-pressed", String(/** @type {HTMLElement} */ (each).dataset.picture === kind));
      recoloured((palette) => {
        const restore = roots.map(keptFocus);
        for (const root of roots) root.replaceChildren();
        if (kind === "passage") drawSeen(sitePage, picture, seen, roots, palette);
        else drawAnswerMatrix(sitePage, seen, kind, matrix, roots[0], palette);
        for (const each of restore) each();
      });
      await fold.show(picture, shownOn("answer", picture, values), values);
    },
  };
}

/** Opens a part of the picture where the style of the page does not reach, as in the app. @param {string} [kind] its class */
function openMarkup(kind = "") {
  const place = make("div", { class: kind });
  part("passage").append(place);
  return shadowed(place, "markup", STYLE).root;
}

/** @param {Values} values @returns {AnswerQuestion} */
function askedBy({ side = null, layer = null, head = null, all_heads: isMean = null, asked1: asked = null, whole_words: words = true, hide_special: hideSpecial = false }) {
  return { side, layer, head, isMean, word: asked, view: { words, hideSpecial } };
}

/** @param {SitePage} sitePage @param {ModelPicture} picture @param {AnswerHead} seen @param {HTMLElement[]} roots @param {Palette} palette */
function drawSeen(sitePage, { said: { passage, prompt: { text }, answer } }, seen, [place, further], palette) {
  const drawn = { text, passage, seen, where: placeOf(seen), isFull: sitePage.values.scale !== "Fit to this head" };
  const choose = (/** @type {number} */ word) => void sitePage.change({ asked1: word === seen.word ? null : word });
  drawAnswer(place, drawn, palette, choose);
  const open = (/** @type {number} */ layer, /** @type {number} */ head) => void sitePage.change({ layer, head, all_heads: null });
  if (seen.heads.length) further.append(linkingHeads(seen, answer.text, open));
}

/** @param {SitePage} sitePage */
function pictureButtons(sitePage) {
  const buttons = Object.entries(PICTURES).map(([kind, name]) => {
    const onclick = () => void sitePage.change({ picture: kind === "passage" ? null : kind, query1: null, key1: null });
    return make("button", { type: "button", "data-picture": kind, onclick }, name);
  });
  return make("div", { class: "pictures", role: "group", "aria-label": "Picture" }, ...buttons);
}

/** Question and passage as a matrix, of which a click chooses a cell; or start × end. @param {SitePage} sitePage @param {AnswerHead} seen @param {string} kind @param {any} matrix
 * @param {HTMLElement} place @param {Palette} palette */
function drawAnswerMatrix(sitePage, seen, kind, matrix, place, palette) {
  const isSpans = kind === "spans";
  const about = `Each row: one word, and where it looks in ${placeOf(seen)}. Of a long passage, the part around the answer.`;
  const note = make("p", { class: "note" }, isSpans ? ABOUT_SPANS : about);
  const pick = (/** @type {number} */ row, /** @type {number} */ column) => void sitePage.change({ query1: matrix.at[0][row], key1: matrix.at[1][column] });
  const isFull = !isSpans && sitePage.values.scale !== "Fit to this head";
  const highest = isFull ? 1 : Math.max(...matrix.weights, 1e-9);
  const [name, selected] = isSpans ? ["probability", matrix.ranks[0]] : ["weight", chosenCellOf(matrix, sitePage.values)];
  const drawn = { ...matrix, name, selected, highest, digits: 4, ends: ["0", twoDigits(highest)] };
  place.append(note, ...drawMatrices([drawn], palette, { pick: isSpans ? null : pick }));
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

// The steps of a computation on a page of the site; where a person stands in them becomes the page's address.

/** @param {SitePage} sitePage @param {HTMLElement} place @param {(text: string) => void} say @returns {Panel} */
function stepsPanel(sitePage, place, say) {
  const mounted = mountComponent(place, sitePage.files, "steps", "compute");
  let turn = 0;
  return {
    async show(picture, values) {
      const mine = ++turn;
      const [{ mount, shadow, root }, said] = await Promise.all([mounted, stepsOf(sitePage, picture, values)]);
      if (mine !== turn) return;
      const key = JSON.stringify([picture.said.name, picture.said.prompt, said.checked]);
      recoloured(({ theme }) => {
        const setTriggerValue = (/** @type {string} */ name, /** @type {any} */ { at, expanded }) => name === "moved" && void moved(sitePage, said.at, at, expanded);
        mount({ data: [{ ...said.computation, theme: theme.name, predict: "off", hidden: null, ...startOf(said, sitePage.values.at), key, seq: root.walk?.seq ?? 0 }], parentElement: shadow, setTriggerValue });
      });
      say(`${said.checked} ${sitePage.config.rounded}`);
    },
  };
}

/** @param {SitePage} sitePage @param {ModelPicture} picture @param {Values} values */
async function stepsOf(sitePage, picture, values) {
  const { said } = picture;
  if (said.computation) return said;
  return picture.ask("steps", { name: said.models[0], request: said.prompt, place: placeOnCompute(sitePage.config, picture, values) });
}

/** Mounts a component of the app, with its style and in a shadow of its own. @param {HTMLElement} place @param {URL} files of the site @param {string} name @param {string} kind the class of its root */
async function mountComponent(place, files, name, kind) {
  const [{ default: mount }, style] = await Promise.all([
    importFrom(new URL(`${name}.js`, files)), fetchFile(new URL(`${name}.css`, files)).then((answer) => answer.text()),
  ]);
  return { mount, ...shadowed(place, kind, style) };
}

/** @param {any} said @param {string} [written] "step,row,column", and the cell of a matrix whose own sum is written out */
function startOf({ at: first }, written = "") {
  const [step, row, column, ...expanded] = written.split(",");
  const at = [step, row, column].map(Number);
  return written && at.every(Number.isInteger) ? { at, first, expanded: expanded.join(",") || null } : { at: first, expanded: null };
}

/** @param {SitePage} sitePage @param {number[]} first @param {number[]} at @param {string | null} expanded */
const moved = (sitePage, first, at, expanded) => sitePage.change({ at: !expanded && String(at) === String(first) ? null : [...at, ...(expanded ? [expanded] : [])].join(",") }, { redraw: false });

/** @param {string} id */
const part = (id) => /** @type {HTMLElement} */ (document.getElementById(id));

/** @param {SitePage} sitePage @returns {Panel} */
export function panelOf(sitePage) {
  const { page } = sitePage.config;
  if (page === "compute") return stepsPanel(sitePage, part("picture"), (text) => (part("hidden").textContent = text));
  if (page === "answer") return answerPanel(sitePage, drawHeadline);
  if (page === "summarize") return selectionPanel(sitePage, drawHeadline, [openMarkup(), openMarkup("further"), openMarkup("further")], recoloured);
  if (page === "write") return writePanel(sitePage);
  return page === "translate" ? alignmentPanel(sitePage) : headPanel(sitePage);
}

/** The page Write: its own script draws what comes next, and below it stand the heads. @param {SitePage} sitePage @returns {Panel} */
function writePanel(sitePage) {
  const { files } = sitePage;
  const heads = headPanel(sitePage, part("said"));
  const [text, bars, choices] = [make("div"), make("div"), make("div", { class: "choices" })];
  part("passage").append(text, make("div", { class: "next" }, bars, choices));
  const mounted = Promise.all([text, bars].map((place) => mountComponent(place, files, "write", "markup")));
  const script = importFrom(new URL("write_panel.js", files));
  return {
    async show(picture, values) {
      const [components, { default: own }] = await Promise.all([mounted, script]);
      const [drawText, drawBars] = components.map(({ mount, shadow }) => (/** @type {object} */ drawn, /** @type {(place: number) => void} */ pick) => {
        const setTriggerValue = (/** @type {string} */ _, /** @type {string} */ picked) => pick(Number(picked.split(".").at(-1)));
        mount({ data: [{ ...drawn, theme: paletteNow().theme }], parentElement: shadow, setTriggerValue });
      });
      const draw = own.writePanel(sitePage, { drawText, drawBars, choices, tell: (/** @type {Sentence[]} */ said) => tell(part("story"), said), write: () => void writeOn(sitePage) });
      recoloured(() => draw(picture, values));
      await heads.show(picture, own.unaskedLink(picture, values, isPinned(values)), null);
    },
  };
}

/** @param {SitePage} sitePage @param {HTMLElement} [said] where the sentences of the head stand @returns {Panel} */
function headPanel(sitePage, said = part("story")) {
  const { page } = sitePage.config;
  const explorer = new ExplorerPanel(part("picture"), new URL("explorer.js", sitePage.files), (changed) => {
    const { chosenHead, ...values } = changed;
    void sitePage.change({ ...values, ...(chosenHead === undefined ? {} : asHead(page, chosenHead)) });
  });
  let turn = 0;
  return {
    async show(picture, values) {
      const mine = ++turn;
      await askForLink(page, picture, values);
      if (mine !== turn) return;
      const shown = shownOn(page, picture, values);
      const place = { ...shown, query: values[`query${shown.slot}`] ?? null, key: values[`key${shown.slot}`] ?? null, ...cellOf(picture) };
      const [isThere, { sentences, hidden }] = await Promise.all([explorer.show(picture, shown, values), picture.story(place)]);
      if (mine !== turn) return;
      part("picture").hidden = !isThere;
      tell(said, sentences);
      part("hidden").replaceChildren(...labelOf(sitePage, picture, shown), hidden);
    },
  };
}

/** What a head does over many sentences, which leads to the evidence. @param {SitePage} sitePage @param {ModelPicture} picture @param {HeadShown} shown */
function labelOf({ config: { labels }, files }, { said: { models: [model] } }, { layer, head }) {
  if (!labels || head === null) return [];
  const href = new URL(`../heads/?${new URLSearchParams({ model, layer: String(layer), head: String(head) })}`, files).href;
  return [make("a", { href, title: "Opens What heads do, with the measurements behind this sentence." }, labels[layer][head]), " "];
}

/** Finds the link between words that the address names, or leaves open. @param {string} page @param {ModelPicture} picture @param {Values} values */
async function askForLink(page, picture, values) {
  picture.linked = null;
  const { kind, view, layer, head } = shownOn(page, picture, values);
  const place = isPinned(values) ? { layer, head } : null;
  const positions = (/** @type {string | undefined} */ written) => (written ?? "").split(".").filter((each) => /^[0-9]{1,5}$/.test(each)).map(Number);
  const question = { place, query: values.query ?? null, key: values.key ?? null, queries: positions(values.queries), keys: positions(values.keys) };
  picture.linked = await picture.link(kind, view, question);
}

/** @param {ModelPicture} picture */
const cellOf = ({ linked }) => linked && { query: linked.query, key: linked.key };

/** The answer, or the kept sentences, in large type. @param {ModelPicture} picture @param {{ answer?: any }} [said] */
function drawHeadline(picture, { answer } = picture.said) {
  const facts = make("small", {}, answer.facts.join(" · "));
  const words = answer.declined ? [make("em", {}, answer.declined), ` Likeliest: ${answer.text} `] : [make("bdi", {}, answer.text), " "];
  part("answer").replaceChildren(...words, facts);
}

/** @param {SitePage} sitePage @returns {Panel} */
function alignmentPanel(sitePage) {
  const panel = new AlignmentPanel(
    part("picture"),
    new URL("alignments.js", sitePage.files),
    (changed) => void sitePage.change(changed),
    (story, score, trained) => {
      tell(part("story"), story);
      part("hidden").textContent = trained ? `${score}. ${sitePage.config.supervised?.replace("{}", trained)}` : score;
    },
  );
  let turn = 0;
  return {
    async show(picture, values) {
      const mine = ++turn;
      picture.aligned = await picture.alignments(values);
      if (mine === turn) await panel.show(picture.aligned, values);
    },
  };
}
