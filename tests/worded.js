// The steps of computations: as words and matrices, and as they are described for a page.

import { describeSteps, wordedSteps } from "../attnviz/figures/compute/worded_steps.js";

export default (computations) => computations.map((numbers) => {
  return { worded: wordedSteps(numbers).map((step) => ({ ...step, origins: [...step.origins] })), described: describeSteps(numbers) };
});
