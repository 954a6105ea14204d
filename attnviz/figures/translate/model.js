// One model's translation, with its weights; and which of its words are the same as those of another.

import { clamp } from "./paint.js";

// What a token is told with.
export const TEXT = 0;
const [SPECIAL, START, END] = [1, 2, 3];

export class Model {
  constructor(described, chunk) {
    // A copy, for numbers of four bytes begin at a multiple of four.
    Object.assign(this, described, { weights: new Float32Array(chunk.slice().buffer) });
    this.highest = this.weights.reduce((highest, weight) => (weight > highest ? weight : highest), 0);
    this.hard = this.links && new Set(this.links.map(([query, key]) => query * this.keys.length + key));
  }

  // A masked cell has a weight of exactly 0.
  weight(query, key) {
    return this.weights[query * this.keys.length + key] || 0;
  }

  masked(query, key) {
    return Number.isNaN(this.weights[query * this.keys.length + key]);
  }

  isHard(query, key) {
    return Boolean(this.hard?.has(query * this.keys.length + key));
  }

  strongestOf(query) {
    let best = 0;
    for (let key = 1; key < this.keys.length; key++) if (this.weight(query, key) > this.weight(query, best)) best = key;
    return best;
  }

  // The cells as an image of one pixel each, made once for a scale of colours.
  image(palette, highest) {
    const name = `${palette.name} ${highest}`;
    if (this.painted?.name === name) return this.painted.canvas;
    const canvas = document.createElement("canvas");
    [canvas.width, canvas.height] = [this.keys.length, this.queries.length];
    const image = new ImageData(canvas.width, canvas.height);
    const pixels = new Uint32Array(image.data.buffer);
    const table = palette.pixels(1000);
    for (let cell = 0; cell < pixels.length; cell++) {
      const weight = this.weights[cell];
      pixels[cell] = Number.isNaN(weight) ? palette.maskedPixel : table[Math.round(1000 * clamp(weight / highest, 0, 1))];
    }
    canvas.getContext("2d").putImageData(image, 0, 0);
    this.painted = { name, canvas };
    return canvas;
  }

  // Where words of another model's picture stand in this one; null where it has no such word.
  find(other, { query, key }) {
    if (other === this) return { query, key };
    return {
      query: query === null ? null : sameTarget(other.queries, query, this.queries),
      key: key === null ? null : sameSource(other.keys[key], this.keys),
    };
  }
}

// Both models read the same text: a word stands where it stands.
function sameSource(token, keys) {
  const index = keys.findIndex((each) =>
    token[SPECIAL] ? each[SPECIAL] && each[TEXT] === token[TEXT] : each[START] < token[END] && token[START] < each[END]);
  return index < 0 ? null : index;
}

// Of what both have written, the same word, for the same time.
function sameTarget(queries, query, others) {
  const text = queries[query][TEXT].toLowerCase();
  const isSame = (token) => token[TEXT].toLowerCase() === text;
  let time = queries.slice(0, query).filter(isSame).length;
  const index = others.findIndex((token) => isSame(token) && time-- === 0);
  return index < 0 ? null : index;
}
