// Unfolds weights as the site's worker does: of cases, their steps.

import { describeSteps, linkSteps, mergeStep } from "../../../attnviz/live/web/link_steps.js";

export default (cases) => cases.map(({ inputs, vectors, link, weights, rows, columns }) => {
  const steps = linkSteps(inputs, vectors, link);
  const merged = weights ? mergeStep(weights, link.tokens, rows, columns) : null;
  if (merged) steps.splice(steps.findIndex(({ symbol }) => symbol === "softmax") + 1, 0, merged);
  return describeSteps(steps);
});
