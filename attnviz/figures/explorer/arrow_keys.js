// The keyboard in a line of words.

import { clamp } from "../drawing/canvas.js";

const STEPS_ALONG = { ArrowLeft: -1, ArrowRight: 1, ArrowUp: -1, ArrowDown: 1, Home: -Infinity, End: Infinity };

/** Moves the focus along a line of words, of which one takes the Tab key; false where the key is another one.
 * @param {KeyboardEvent} event @param {HTMLElement} span @param {HTMLElement[]} line */
export function stepAlong(event, span, line) {
  if (!(event.key in STEPS_ALONG)) return false;
  const step = STEPS_ALONG[/** @type {keyof typeof STEPS_ALONG} */ (event.key)];
  const isMirrored = span.parentElement?.dir === "rtl" && event.key.match(/Left|Right/);
  const next = line[clamp(Number(span.dataset.index) + (isMirrored ? -step : step), 0, line.length - 1)];
  span.tabIndex = -1;
  next.tabIndex = 0;
  next.focus();
  return true;
}
