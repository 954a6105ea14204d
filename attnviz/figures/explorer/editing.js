// Edits of the model's attention: which of them stand in the picture, how they look, and what a click edits while that is on.

import { pixelRatio } from "./paint.js";
import { fade, ring, strike } from "./strike.js";

const NONE = { on: false, heads: [], cells: [], columns: [] };

export class Editing {
  constructor(explorer) {
    Object.assign(this, { explorer, isOffered: false, ...NONE });
  }

  // `edits` null: this picture cannot be edited.
  update(edits) {
    Object.assign(this, { isOffered: edits !== null, ...NONE, ...edits });
    this.explorer.root.classList.toggle("editing", this.on);
  }

  turn() {
    this.explorer.tellHost({ editing: !this.on });
  }

  // A head, and with `head` null all of its layer.
  editHead(layer, head) {
    this.explorer.tellHost({ edit: { layer, head } });
  }

  editLink(query, key) {
    const { layer, head } = this.explorer.state;
    Object.assign(this.explorer.state, { query, key });
    this.explorer.tellHost({ query, key, edit: { layer, head, query, key } });
    this.explorer.draw();
  }

  editWord(key) {
    this.explorer.tellHost({ edit: { key } });
  }

  isSet(layer, head) {
    return this.heads.some(([ofLayer, ofHead]) => ofLayer === layer && ofHead === head);
  }

  isHidden(key) {
    const { layer } = this.explorer.state;
    return this.columns.some(([ofLayer, column]) => column === key && (ofLayer === null || ofLayer === layer));
  }

  // A difference stays what it is.
  fade(context, x, y, width, height) {
    if (this.explorer.overview.signed) return;
    fade(context, this.explorer.palette.masked, [x, y, width, height]);
  }

  // What is switched off is faded and struck out.
  strike(context, x, y, width, height) {
    const { palette } = this.explorer;
    this.fade(context, x, y, width, height);
    strike(context, palette.text, [x, y, width, height]);
  }

  // In the picture of one head: links that are cut, weights that were typed, words that nobody looks at.
  drawMarks(picture) {
    const { layer, head } = this.explorer.state;
    const { left, top, width, height, cell } = picture.size;
    const { context, window } = picture;
    context.save();
    context.beginPath();
    context.rect(left, top, width, height);
    context.clip();
    if (this.isSet(layer, head)) this.fade(context, left, top, width, height);
    const x = (key) => left + (key - window.x) * cell;
    const y = (query) => top + (query - window.y) * cell;
    for (const [ofLayer, key] of this.columns) if (ofLayer === null || ofLayer === layer) this.fade(context, x(key), top, cell, height);
    for (const [ofLayer, ofHead, query, key, what] of this.cells) {
      if (ofLayer !== layer || (head !== null && ofHead !== head)) continue;
      if (what === "cut") this.strike(context, x(key), y(query), cell, cell);
      else this.ring(context, x(key), y(query), cell, pixelRatio(picture.canvas));
    }
    context.restore();
  }

  ring(context, x, y, cell, ratio) {
    ring(context, this.explorer.palette.text, [x, y, cell], Math.max(1.5, 1 / ratio));
  }
}
