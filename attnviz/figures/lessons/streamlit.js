// A question as a Streamlit component: what was answered comes to Python with the question that it answers.

import { make } from "../drawing/elements.js";
import { drawQuestion } from "./question.js";

/** @import { QuestionForm } from "./question.js" */

/** @param {StreamlitComponent<[string, QuestionForm, string, number]>} component */
export default function ({ data: [question, form, picked, longest], parentElement, setTriggerValue }) {
  const root = /** @type {HTMLElement} */ (parentElement.querySelector(".guess"));
  // A page that runs again keeps what is chosen so far.
  if (root.dataset.question !== question) {
    Object.assign(root.dataset, { question, picked: "" });
    let chosen = "";
    const button = make("button.give", { type: "button", disabled: true, onclick: () => setTriggerValue("given", [question, chosen]) }, "Answer");
    const choose = (/** @type {string} */ text) => {
      chosen = text;
      button.disabled = !text;
    };
    root.replaceChildren(drawQuestion(form, choose, longest), button);
    // What had the focus may be gone: see attnviz/ui/lesson_keys_and_answers.js.
    document.dispatchEvent(new Event("attnviz-guess"));
  }
  // What was clicked in the picture beside it, once.
  if (root.dataset.picked === picked) return;
  root.dataset.picked = picked;
  const options = /** @type {HTMLElement[]} */ ([...root.querySelectorAll("button.option")]);
  options.find((each) => each.dataset.answer === picked)?.click();
}
