// Unfolds weights as the site's worker does: of cases, their steps; and those of the app's own numbers.

import { describeSteps } from "../../../attnviz/figures/compute/worded_steps.js";
import { linkNumbers, mergedOf } from "../../../attnviz/live/web/link_steps.js";

export default (cases) => cases.map(({ inputs, vectors, link, weights, rows, columns, expected }) => {
  const numbers = linkNumbers(inputs, vectors, link);
  numbers.mixed.merged = mergedOf(weights, link.tokens, rows, columns);
  return [numbers, expected].map(describeSteps);
});
