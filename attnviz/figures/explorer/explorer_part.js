// A view of the explorer, which may wait for heads that are on their way.

import { make } from "../drawing/elements.js";
import { PictureView } from "../drawing/mount.js";
import { cellSentence } from "./wording.js";

/**
 * @import { Surface } from "../drawing/surface.js"
 * @import { Actions } from "./explorer.js"
 * @import { ExplorerState } from "./explorer_state.js"
 * @import { Head } from "./head_store.js"
 * @typedef {<Value>(promise: Promise<Value>, then: (value: Value) => void) => void} Later  calls unless another map has come meanwhile
 * @typedef {{ state: ExplorerState, actions: Actions, surface: Surface, later: Later, draw(): void }} Parts
 */

/** @extends {PictureView<ExplorerState, Actions>} */
export class View extends PictureView {
  /** @type {HTMLElement} */
  element = make("div");

  /** @param {Parts} parts */
  constructor(parts) {
    super(parts);
    this.parts = parts;
    this.later = parts.later;
  }

  /** How wide it can draw, in pixels: its pane without the padding of explorer.css. */
  get room() {
    return this.element.clientWidth - 6;
  }

  /** Says a cell to a screen reader. @param {Head} head @param {number} query @param {number} key */
  sayCell(head, query, key) {
    this.surface.live.say(cellSentence(this.state, head, query, key));
  }
}
