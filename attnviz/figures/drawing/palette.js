// The colours of weights: one scale from 0 to 1, one with two sides for differences, and the colours of a theme.

import { clamp } from "./canvas.js";

/**
 * @typedef {{ name: string, background: string, panel: string, text: string, faint: string, border: string, accent: string,
 *   masked: string, above: string, below: string, scale: string, heads: string[] }} Theme  colours as #rrggbb; the scale as 256
 *   of them in a row, without #
 */

/** Colours as a canvas keeps them: alpha, blue, green, red from the highest byte down. @param {number[]} colour */
const pixelOf = ([red, green, blue]) => ((255 << 24) | (blue << 16) | (green << 8) | red) >>> 0;
/** @param {string} colour */
const parseColour = (colour) => [1, 3, 5].map((at) => parseInt(colour.slice(at, at + 2), 16));

export class Palette {
  /** @param {Theme} theme */
  constructor(theme) {
    this.theme = theme;
    this.scaleBytes = Uint8Array.from({ length: 768 }, (_, at) => parseInt(theme.scale.slice(2 * at, 2 * at + 2), 16));
    this.maskedPixel = pixelOf(parseColour(theme.masked));
  }

  /** The colour of a weight that is a share of the scale's end, 0 to 1; between two of the 256 it is mixed. @param {number} share */
  colour(share) {
    const pixel = this.pixels(1, share)[1];
    return `#${[0, 8, 16].map((bits) => ((pixel >> bits) & 255).toString(16).padStart(2, "0")).join("")}`;
  }

  /** The pixels of so many steps from 0 to a share of the scale. @param {number} steps */
  pixels(steps, share = 1) {
    const { scaleBytes } = this;
    const pixels = new Uint32Array(steps + 1);
    for (let step = 0; step <= steps; step++) {
      const at = 255 * clamp((share * step) / Math.max(steps, 1), 0, 1);
      const low = Math.min(Math.floor(at), 254);
      const part = at - low;
      let pixel = 255;
      for (let place = 3 * low + 2; place >= 3 * low; place--) {
        pixel = (pixel << 8) | Math.round(scaleBytes[place] * (1 - part) + scaleBytes[place + 3] * part);
      }
      pixels[step] = pixel;
    }
    return pixels;
  }

  /** The same from -1 to 1 times a share of the scale: from blue over the panel to vermilion, Okabe and Ito's. @param {number} steps */
  signedPixels(steps, share = 1) {
    const middle = parseColour(this.theme.panel);
    const ends = [parseColour(this.theme.below), parseColour(this.theme.above)];
    return Uint32Array.from({ length: steps + 1 }, (_, step) => {
      const at = share * ((2 * step) / Math.max(steps, 1) - 1);
      const end = ends[Number(at > 0)];
      const part = Math.min(Math.abs(at), 1);
      return pixelOf(middle.map((channel, place) => Math.round(channel + (end[place] - channel) * part)));
    });
  }

  /** Black or white, whichever is better read on a colour. @param {string} colour */
  ink(colour) {
    return inkOn(colour);
  }
}

/** One of a theme's 256 colours, the nearest to a weight from 0 to 1; between two the even one, as Python rounds.
 * @param {Theme} theme @param {number} weight */
export function nearestColour({ scale }, weight) {
  const at = 255 * clamp(weight, 0, 1);
  const nearest = Math.round(at) - Number(at % 1 === 0.5 && Math.round(at) % 2 === 1);
  return `#${scale.slice(6 * nearest, 6 * nearest + 6)}`;
}

/** Black or white, whichever is better read on a colour (WCAG 2.2, relative luminance). @param {string} colour */
export function inkOn(colour) {
  const linear = parseColour(colour).map((channel) => {
    const share = channel / 255;
    return share <= 0.04045 ? share / 12.92 : ((share + 0.055) / 1.055) ** 2.4;
  });
  const luminance = 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2];
  return 1.05 / (luminance + 0.05) > (luminance + 0.05) / 0.05 ? "#ffffff" : "#000000";
}

/** A colour over a background, by how much of it there is. @param {string} background @param {string} colour @param {number} amount */
export function mixedColour(background, colour, amount) {
  const over = parseColour(colour);
  const channels = parseColour(background).map((below, place) => Math.round(below + (over[place] - below) * amount));
  return `#${channels.map((channel) => channel.toString(16).padStart(2, "0")).join("")}`;
}

// Where the colours of a long text end, as attnviz/analysis/head_view.py has it: a few large weights would leave all others white.

// From so many rows or columns on a text is long; this share of its weights is at most the limit; so many times an even weight is it at least.
const [LONG, SHARE, TIMES_EVEN] = [128, 0.99, 5];

/** The weight from which on cells have the strongest colour; 1 for a short text.
 * @param {number} rows @param {number} columns @param {(share: number) => number} percentile the weight that so large a share is at most */
export const colourLimit = (rows, columns, percentile) => (Math.max(rows, columns) < LONG ? 1 : Math.max(percentile(SHARE), TIMES_EVEN / columns));

/** What a legend says of the strongest colour. @param {number} end the weight that has it @param {number} highest where colours could end */
export function endOf(end, highest) {
  if (end < highest) return `${end.toPrecision(2)} or more: at most 1 % of the weights`;
  return end === 1 ? "1" : end.toPrecision(2);
}
