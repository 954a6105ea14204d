// A guess as a Streamlit component: what was answered comes to Python with the question that it answers.

import { drawGuess } from "./guess.js";

/** @import { Guess } from "./guess.js" */

/** @param {StreamlitComponent<[string, Guess]>} component */
export default function ({ data: [question, guess], parentElement, setTriggerValue }) {
  const root = /** @type {HTMLElement} */ (parentElement.querySelector(".guess"));
  // A page that runs again keeps what is chosen so far.
  if (root.dataset.question === question) return;
  root.dataset.question = question;
  drawGuess(root, guess, (text) => setTriggerValue("given", [question, text]));
}
