// A view of the explorer, which may wait for heads that are on their way.

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
  /** @param {Parts} parts */
  constructor(parts) {
    super(parts);
    this.parts = parts;
    this.later = parts.later;
  }

  /** Says a cell to a screen reader. @param {Head} head @param {number} query @param {number} key */
  sayCell(head, query, key) {
    this.surface.live.say(cellSentence(this.state, head, query, key));
  }
}
