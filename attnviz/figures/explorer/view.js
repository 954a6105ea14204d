// A view of the explorer, which may wait for heads that are on their way.

import { clamp } from "../drawing/canvas.js";
import { PictureView } from "../drawing/view.js";

/**
 * @import { Surface } from "../drawing/surface.js"
 * @import { Actions } from "./actions.js"
 * @import { Head } from "./heads.js"
 * @import { ExplorerState } from "./state.js"
 * @typedef {<Value>(promise: Promise<Value>, then: (value: Value) => void) => void} Later  calls unless another map has come meanwhile
 * @typedef {{ state: ExplorerState, actions: Actions, surface: Surface, later: Later, draw(): void }} Parts
 */

/** @extends {PictureView<ExplorerState, Actions>} */
export class View extends PictureView {
  /** @param {Parts} parts */
  constructor(parts) {
    super(parts);
    this.parts = parts;
    this.later = parts.later;
  }

  /** Says a cell to a screen reader. @param {Head} head @param {number} query @param {number} key */
  sayCell(head, query, key) {
    const { queries, keys } = this.state.overview;
    this.surface.live.say(`“${queries[query][0]}” to “${keys[key][0]}”, ${head.tell(query, key)}`);
  }
}

/** Redraws a canvas that shows a part of a longer list while it is scrolled. @param {HTMLElement} frame @param {() => void} paint */
export function onScroll(frame, paint) {
  let frameOfTime = 0;
  frame.addEventListener("scroll", () => {
    cancelAnimationFrame(frameOfTime);
    frameOfTime = requestAnimationFrame(paint);
  });
}

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
