// A part of the alignments.

import { PictureView } from "../drawing/mount.js";

/**
 * @import { Surface } from "../drawing/surface.js"
 * @import { AlignmentState } from "./alignment_state.js"
 * @import { AlignmentActions } from "./alignments.js"
 * @typedef {{ state: AlignmentState, actions: AlignmentActions, surface: Surface }} Parts
 */

/** @extends {PictureView<AlignmentState, AlignmentActions>} */
export class AlignmentPart extends PictureView {
  // What it was drawn from.
  drawn = "";

  /** Whether it is to be drawn anew from something else. @param {string} from */
  changes(from) {
    const isOther = this.drawn !== from;
    this.drawn = from;
    return isOther;
  }
}
