// Question and passage as a Streamlit component, or the heads that link them: what is clicked goes to Python.

import { drawAnswer, keptFocus, linkingHeads } from "./answer_spans.js";
import { Palette } from "./drawing/palette.js";
import { THEMES } from "./drawing/themes.js";

/**
 * @import { Passage, SeenQuestion } from "./answer_spans.js"
 * @typedef {{ part: "passage" | "heads", text: string, passage: Passage, seen: SeenQuestion, answer: string, where: string, isFull: boolean,
 *   theme: "light" | "dark", colours: string }} AnswerPicture
 */

/** @type {WeakMap<HTMLElement, string>} */
const known = new WeakMap();

/** @param {StreamlitComponent<[AnswerPicture]>} component */
export default function ({ data: [drawn], parentElement, setTriggerValue }) {
  const root = /** @type {HTMLElement} */ (parentElement.querySelector(".markup"));
  const mark = JSON.stringify(drawn);
  // What did not change stays: a press that began on it ends on it.
  if (known.get(root) === mark) return;
  known.set(root, mark);
  root.style.cssText = drawn.colours;
  const restore = keptFocus(root);
  if (drawn.part === "heads") root.replaceChildren(linkingHeads(drawn.seen, drawn.answer, (layer, head) => setTriggerValue("picked", `${layer}.${head}`)));
  else drawAnswer(root, drawn, new Palette(THEMES[drawn.theme]), (word) => setTriggerValue("picked", String(word)));
  restore();
}
