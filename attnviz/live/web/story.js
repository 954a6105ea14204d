// Sentences in large type; a token in them is text, never markup.

import { make } from "../../figures/drawing/elements.js";

/** @import { Sentence } from "./wording.js" */

/** @param {Element} place @param {Sentence[]} sentences */
export function tell(place, sentences) {
  place.replaceChildren(...sentences.map((sentence) => make("p", {}, ...sentence.map(drawPart))));
}

/** @param {Sentence[number]} part */
function drawPart([text, strength]) {
  if (!strength) return text;
  return make("strong", { dir: "auto" }, strength === 2 ? `“${text}”` : text);
}
