// Unfolds weights as the site's worker does: cases as one line of JSON in, their steps out.

import process from "node:process";
import { text } from "node:stream/consumers";
import { describeSteps, linkSteps, mergeStep } from "../../../attnviz/live/web/link_steps.js";

const cases = JSON.parse(await text(process.stdin));
process.stdout.write(JSON.stringify(cases.map(({ inputs, vectors, link, weights, rows, columns }) => {
  const steps = linkSteps(inputs, vectors, link);
  const merged = weights ? mergeStep(weights, link.tokens, rows, columns) : null;
  if (merged) steps.splice(steps.findIndex(({ symbol }) => symbol === "softmax") + 1, 0, merged);
  return describeSteps(steps);
})));
