// A guess as a Streamlit component: what was answered comes to Python with the question that it answers.

import { drawGuess } from "./guess.js";

/** @import { Guess } from "./guess.js" */

/** @param {StreamlitComponent<[string, Guess, string]>} component */
export default function ({ data: [question, guess, picked], parentElement, setTriggerValue }) {
  const root = /** @type {HTMLElement} */ (parentElement.querySelector(".guess"));
  // A page that runs again keeps what is chosen so far.
  if (root.dataset.question !== question) {
    Object.assign(root.dataset, { question, picked: "" });
    drawGuess(root, guess, (text) => setTriggerValue("given", [question, text]));
    // What had the focus may be gone: see attnviz/ui/lesson_keys.js.
    document.dispatchEvent(new Event("attnviz-guess"));
  }
  // What was clicked in the picture beside it, once.
  if (root.dataset.picked === picked) return;
  root.dataset.picked = picked;
  const options = /** @type {HTMLElement[]} */ ([...root.querySelectorAll("button.option")]);
  options.find((each) => each.dataset.answer === picked)?.click();
}
