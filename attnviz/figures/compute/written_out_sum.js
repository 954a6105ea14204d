// The sum that a cell came from, written out.

import { make, typeset } from "./typeset.js";
import { go, result, tone } from "./step_by_step.js";

/** @import { Step, Walk } from "./step_by_step.js" */

/** @param {Walk} walk @param {Step} step */
export function written(walk, step) {
  const matrix = result(walk);
  const [row, column] = walk.cell;
  const id = walk.expanded ?? matrix.cells[row][column].id;
  const cell = step.matrices.flatMap((each) => each.cells.flat()).find((each) => each.id === id);
  const origin = walk.data.origins[id];
  const line = make("div", { className: "sum" });
  line.setAttribute("aria-live", "polite");
  const numbered = matrix.columns[column].replace(/^\d+$/, "column $&");
  const name = walk.expanded ? "" : [matrix.rows[row], numbered].filter(Boolean).join(" · ");
  if (name) line.append(make("span", { className: "place" }, name));
  if (!origin) line.append(cell?.text === "…" ? "The others, which are not shown one by one." : `${cell?.text ?? ""} is given: it comes from no other number.`);
  const inStep = new Map(step.matrices.map((each, index) => [each.name, index]));
  for (const [text, of] of origin?.sum ?? []) {
    if (!of) line.append(...typeset(text));
    else {
      const own = of === id.split(":").slice(0, -2).join(":");
      const colour = inStep.has(of) ? tone(walk, step, inStep.get(of) ?? 0) : "transparent";
      line.append(make("span", { className: own ? "number result" : "number", tone: colour }, ...typeset(text)));
    }
  }
  if (cell?.exact && numeric(cell.exact) !== numeric(cell.text)) line.append(make("span", { className: "exact" }, `exactly ${cell.exact}`));
  if (walk.expanded && origin) line.append(make("button", { className: "goto", onclick: () => go(walk, origin.step) }, `Step ${origin.step + 1}`));
  return line;
}

/** @param {string} text  a number as it is shown, with its minus sign */
const numeric = (text) => Number(text.replace("−", "-"));
