// A part of a picture: what is shown, what a person can do, and where it is drawn. Nothing else of the picture is in its reach.

/** @import { Surface } from "./surface.js" */

/** @template State, Actions */
export class PictureView {
  /** @param {{ state: State, actions: Actions, surface: Surface }} parts */
  constructor({ state, actions, surface }) {
    this.state = state;
    this.actions = actions;
    this.surface = surface;
  }
}
