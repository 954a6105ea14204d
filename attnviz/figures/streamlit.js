// Pictures that are records, as Streamlit components: what is clicked goes to Python.

import { drawAnswer, keptFocus, linkingHeads } from "./answer_spans.js";
import { Palette } from "./drawing/palette.js";
import { THEMES } from "./drawing/themes.js";
import { drawMatrices } from "./matrix.js";
import { drawKept, headShares, selectorsTable } from "./summary_passage.js";

/** @typedef {{ part: keyof typeof PARTS, theme: "light" | "dark", colours: string } & Record<string, any>} Drawn */

/** @type {Record<string, (root: HTMLElement, drawn: Drawn, pick: (picked: string) => void) => void>} */
const PARTS = {
  passage: (root, drawn, pick) => drawAnswer(root, /** @type {any} */ (drawn), new Palette(THEMES[drawn.theme]), (word) => pick(String(word))),
  heads: (root, { seen, answer }, pick) => root.replaceChildren(linkingHeads(seen, answer, (layer, head) => pick(`${layer}.${head}`))),
  matrices: (root, { matrices, theme, hint, picks }, pick) =>
    root.replaceChildren(...drawMatrices(matrices, new Palette(THEMES[theme]), { hint, pick: picks ? (row, column) => pick(`${row}.${column}`) : null })),
  kept: (root, { text, passage }) => drawKept(root, text, passage),
  shares: (root, drawn, pick) =>
    root.replaceChildren(headShares(/** @type {any} */ (drawn), new Palette(THEMES[drawn.theme]), (layer, head) => pick(`${layer}.${head}`))),
  selectors: (root, { rows, chosen }, pick) => root.replaceChildren(selectorsTable(rows, chosen, pick)),
};
/** @type {WeakMap<HTMLElement, string>} */
const known = new WeakMap();

/** @param {StreamlitComponent<[Drawn]>} component */
export default function ({ data: [drawn], parentElement, setTriggerValue }) {
  const root = /** @type {HTMLElement} */ (parentElement.querySelector(".markup"));
  const mark = JSON.stringify(drawn);
  // What did not change stays: a press that began on it ends on it.
  if (known.get(root) === mark) return;
  known.set(root, mark);
  root.style.cssText = drawn.colours;
  const restore = keptFocus(root);
  PARTS[drawn.part](root, drawn, (picked) => setTriggerValue("picked", picked));
  restore();
}
