// What each page draws of a picture.

import { AlignmentPanel } from "./alignment_panel.js";
import { stepsPanel } from "./compute/steps_panel.js";
import { asHead, shownOn } from "./controls.js";
import { ExplorerPanel } from "./explorer_panel.js";
import { drawPassage } from "./passage_panel.js";
import { make } from "../../figures/drawing/elements.js";
import { tell } from "./story.js";

/**
 * @import { Values } from "./address.js"
 * @import { Desk, Panel } from "./desk.js"
 * @import { ModelPicture } from "./picture.js"
 */

/** @param {string} id */
const part = (id) => /** @type {HTMLElement} */ (document.getElementById(id));

/** @param {Desk} desk @returns {Panel} */
export function panelOf(desk) {
  const { page } = desk.config;
  if (page === "compute") return stepsPanel(desk, part("picture"), (text) => (part("hidden").textContent = text));
  return page === "translate" ? alignmentPanel(desk) : headPanel(desk);
}

/** @param {Desk} desk @returns {Panel} */
function headPanel(desk) {
  const { page } = desk.config;
  const explorer = new ExplorerPanel(part("picture"), new URL("explorer.js", desk.root), (changed) => {
    const { chosenHead, ...values } = changed;
    void desk.change({ ...values, ...(chosenHead === undefined ? {} : asHead(page, chosenHead)) });
  });
  let turn = 0;
  return {
    async show(picture, values) {
      const mine = ++turn;
      const shown = shownOn(page, picture, values);
      drawAnswer(picture);
      const place = { ...shown, query: values[`query${shown.slot}`] ?? null, key: values[`key${shown.slot}`] ?? null };
      const [isThere, { sentences, hidden }] = await Promise.all([explorer.show(picture, shown, values), storyOf(page, picture, place)]);
      if (mine !== turn) return;
      part("picture").hidden = !isThere;
      tell(part("story"), sentences);
      part("hidden").textContent = hidden;
    },
  };
}

/** @param {string} page @param {ModelPicture} picture @param {any} place */
function storyOf(page, picture, place) {
  if (page === "encode") return picture.story(place);
  return Promise.resolve({ sentences: picture.said.story, hidden: "" });
}

/** The answer, or the kept sentences, in large type; and the text with its bars. @param {ModelPicture} picture */
function drawAnswer({ said }) {
  const { answer, passage } = said;
  if (!answer) return;
  const facts = make("small", {}, answer.facts.join(" · "));
  const words = answer.declined ? [make("em", {}, answer.declined), ` Likeliest: ${answer.text} `] : [make("bdi", {}, answer.text), " "];
  part("answer").replaceChildren(...words, facts);
  if (passage) drawPassage(part("passage"), said.prompt.text, passage);
}

/** @param {Desk} desk @returns {Panel} */
function alignmentPanel(desk) {
  const panel = new AlignmentPanel(
    part("picture"),
    new URL("alignments.js", desk.root),
    (changed) => void desk.change(changed, { redraw: false }),
    (story) => tell(part("story"), story),
  );
  return { show: async (picture, values) => panel.show(await picture.alignments(), values) };
}
