// How likely a translation that was given is to a model, beside its own.

import { textPart } from "./alignment_wording.js";
import { raised } from "./number_text.js";

/** @import { Part, Sentence } from "./wording.js" */

/** Compares the probabilities of a translation that was given and of the model's own. @param {number} given ln p @param {number} own ln p @returns {Sentence} */
export function describeLikelihood(given, own) {
  const worse = own - given;
  const figures = textPart(`log p ${signedNumber(given)} against ${signedNumber(own)}.`);
  if (Math.abs(worse) < 0.01) return [textPart("The given text is as likely to this model as its own: "), figures];
  const factor = /** @type {Part} */ ([`${timesOf(Math.abs(worse))} ${worse > 0 ? "less" : "more"} likely`, 1]);
  return [textPart("To this model the given text is "), factor, textPart(" than its own: "), figures];
}

/** @param {number} value */
const signedNumber = (value) => value.toFixed(2).replace(/^-0\.00$/, "0.00").replace("-", "−");

/** e to the power of a difference, as one says it. @param {number} difference */
function timesOf(difference) {
  if (difference === Infinity) return "infinitely";
  if (difference > Math.log(1e6)) return `10${raised(Math.round(difference / Math.LN10))} times`;
  const times = Math.exp(difference);
  return times >= 10 ? `${Math.round(times).toLocaleString("en")} times` : `${times.toFixed(1)} times`;
}
