// What each page draws of a picture.

import { AlignmentPanel } from "./alignment_panel.js";
import { answerPanel } from "./answer_panel.js";
import { stepsPanel } from "./compute/steps_panel.js";
import { asHead, isPinned, shownOn } from "./controls.js";
import { ExplorerPanel } from "./explorer_panel.js";
import { make } from "../../figures/drawing/elements.js";
import { selectionPanel } from "./selectors_panel.js";
import { tell } from "./story.js";

/**
 * @import { Values } from "./address.js"
 * @import { SitePage, Panel } from "./site_page.js"
 * @import { ModelPicture } from "./model_picture.js"
 */

/** @param {string} id */
const part = (id) => /** @type {HTMLElement} */ (document.getElementById(id));

/** @param {SitePage} sitePage @returns {Panel} */
export function panelOf(sitePage) {
  const { page } = sitePage.config;
  if (page === "compute") return stepsPanel(sitePage, part("picture"), (text) => (part("hidden").textContent = text));
  if (page === "answer") return answerPanel(sitePage, drawAnswer);
  if (page === "summarize") return selectionPanel(sitePage, drawAnswer);
  return page === "translate" ? alignmentPanel(sitePage) : headPanel(sitePage);
}

/** @param {SitePage} sitePage @returns {Panel} */
function headPanel(sitePage) {
  const { page } = sitePage.config;
  const explorer = new ExplorerPanel(part("picture"), new URL("explorer.js", sitePage.files), (changed) => {
    const { chosenHead, ...values } = changed;
    void sitePage.change({ ...values, ...(chosenHead === undefined ? {} : asHead(page, chosenHead)) });
  });
  let turn = 0;
  return {
    async show(picture, values) {
      const mine = ++turn;
      await askForLink(picture, values);
      if (mine !== turn) return;
      const shown = shownOn(page, picture, values);
      const place = { ...shown, query: values[`query${shown.slot}`] ?? null, key: values[`key${shown.slot}`] ?? null, ...cellOf(picture) };
      const [isThere, { sentences, hidden }] = await Promise.all([explorer.show(picture, shown, values), picture.story(place)]);
      if (mine !== turn) return;
      part("picture").hidden = !isThere;
      tell(part("story"), sentences);
      part("hidden").textContent = hidden;
    },
  };
}

/** Finds the link between words that the address names, or leaves open. @param {ModelPicture} picture @param {Values} values */
async function askForLink(picture, values) {
  picture.linked = null;
  const { kind, view, layer, head } = shownOn("encode", picture, values);
  const place = isPinned(values) ? { layer, head } : null;
  const positions = (/** @type {string | undefined} */ written) => (written ?? "").split(".").filter((each) => /^[0-9]{1,5}$/.test(each)).map(Number);
  const question = { place, query: values.query ?? null, key: values.key ?? null, queries: positions(values.queries), keys: positions(values.keys) };
  picture.linked = await picture.link(kind, view, question);
}

/** @param {ModelPicture} picture */
const cellOf = ({ linked }) => linked && { query: linked.query, key: linked.key };

/** The answer, or the kept sentences, in large type. @param {ModelPicture} picture @param {{ answer?: any }} [said] */
function drawAnswer(picture, { answer } = picture.said) {
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
    (story) => tell(part("story"), story),
  );
  return {
    async show(picture, values) {
      picture.aligned = await picture.alignments(values);
      await panel.show(picture.aligned, values);
    },
  };
}
