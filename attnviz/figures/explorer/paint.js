// What the views share: colours of weights, canvases at the screen's own resolution, labels, and the note beside the pointer.

const LABEL = 14;
const LONGEST_LABEL = 24;
export const clamp = (value, low, high) => Math.min(Math.max(value, low), high);

// Colours as a canvas keeps them: alpha, blue, green, red from the highest byte down.
const pixelOf = (red, green, blue) => ((255 << 24) | (blue << 16) | (green << 8) | red) >>> 0;
const parseColour = (colour) => [1, 3, 5].map((at) => parseInt(colour.slice(at, at + 2), 16));

export class Palette {
  constructor(theme) {
    Object.assign(this, theme);
    this.scaleBytes = Uint8Array.from({ length: 768 }, (_, at) => parseInt(theme.scale.slice(2 * at, 2 * at + 2), 16));
    this.maskedPixel = pixelOf(...parseColour(theme.masked));
  }

  // Gives the style sheet the colours.
  colourAll(root) {
    for (const part of ["background", "panel", "text", "faint", "border", "accent", "masked"]) {
      root.style.setProperty(`--${part}`, this[part]);
    }
    root.style.colorScheme = this.name;
  }

  // The colour of a weight that is a share of the scale's end, 0 to 1, as red, green, blue; between two of the 256 it is mixed.
  mix(share) {
    const at = 255 * clamp(share, 0, 1);
    const low = Math.min(Math.floor(at), 254);
    const part = at - low;
    const channel = (which) => this.scaleBytes[3 * low + which] * (1 - part) + this.scaleBytes[3 * low + 3 + which] * part;
    return [0, 1, 2].map((which) => Math.round(channel(which)));
  }

  colour(share) {
    return `#${this.mix(share).map((channel) => channel.toString(16).padStart(2, "0")).join("")}`;
  }

  // The pixels of so many steps from 0 to a share of the scale: `mix` of each, without its arrays, for a head has thousands.
  pixels(steps, share = 1) {
    const { scaleBytes } = this;
    const pixels = new Uint32Array(steps + 1);
    for (let step = 0; step <= steps; step++) {
      const at = 255 * clamp((share * step) / Math.max(steps, 1), 0, 1);
      const low = Math.min(Math.floor(at), 254);
      const part = at - low;
      const channel = (place) => Math.round(scaleBytes[place] * (1 - part) + scaleBytes[place + 3] * part);
      pixels[step] = pixelOf(channel(3 * low), channel(3 * low + 1), channel(3 * low + 2));
    }
    return pixels;
  }

  // The same from -1 to 1 times a share of the scale: from blue over the panel to vermilion, Okabe and Ito's.
  signedPixels(steps, share = 1) {
    const middle = parseColour(this.panel);
    const ends = [parseColour(this.below), parseColour(this.above)];
    return Uint32Array.from({ length: steps + 1 }, (_, step) => {
      const at = share * ((2 * step) / Math.max(steps, 1) - 1);
      const end = ends[Number(at > 0)];
      const part = Math.min(Math.abs(at), 1);
      return pixelOf(...middle.map((channel, place) => Math.round(channel + (end[place] - channel) * part)));
    });
  }

  // Black or white, whichever is better read on a colour (WCAG 2.2, relative luminance).
  ink(colour) {
    const linear = parseColour(colour).map((channel) => {
      const share = channel / 255;
      return share <= 0.04045 ? share / 12.92 : ((share + 0.055) / 1.055) ** 2.4;
    });
    const luminance = 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2];
    return 1.05 / (luminance + 0.05) > (luminance + 0.05) / 0.05 ? "#ffffff" : "#000000";
  }

  // The pixel of every code of a head; the scale ends at a weight of 1, or at the head's largest.
  table(head, fullScale) {
    if (head.signed) return this.signedPixels(2 * head.one, fullScale ? 1 : head.one / Math.max(head.highest, 1));
    return this.pixels(head.highest, fullScale ? head.highest / head.one : 1);
  }
}

// Device pixels of a CSS pixel; the page that presents enlarges them.
export const pixelRatio = (element) => (window.devicePixelRatio || 1) * (element.currentCSSZoom || 1);

// A canvas of so many CSS pixels, cleared; its context draws in CSS pixels.
export function fit(canvas, width, height) {
  const ratio = pixelRatio(canvas);
  canvas.width = Math.round(width * ratio);
  canvas.height = Math.round(height * ratio);
  canvas.style.width = `${width}px`;
  canvas.style.height = `${height}px`;
  const context = canvas.getContext("2d");
  context.setTransform(ratio, 0, 0, ratio, 0, 0);
  context.imageSmoothingEnabled = false;
  context.textBaseline = "middle";
  context.font = fontOf(canvas);
  return context;
}

export const fontOf = (element, style = "") => `${style} ${LABEL}px ${getComputedStyle(element).fontFamily}`;
export const cut = (text) => (text.length > LONGEST_LABEL ? `${text.slice(0, LONGEST_LABEL - 1)}…` : text);

// As much of a text as fits, in the context's font.
export function shorten(context, text, room) {
  let part = text;
  while (part.length > 1 && context.measureText(part).width > room) part = `${part.slice(0, part.endsWith("…") ? -2 : -1)}…`;
  return part;
}

export function make(tag, attributes = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else if (name === "class") element.className = value;
    else if (value !== null && value !== false) element.setAttribute(name, value === true ? "" : value);
  }
  element.append(...children);
  return element;
}

// A token in running text keeps its own direction.
export const word = (text) => make("bdi", {}, text);

// The note beside the pointer: a bold line, and lines below it. Tokens in it are text, never markup.
export class Note {
  constructor(root) {
    this.element = make("div", { class: "note", hidden: true, "aria-hidden": "true" });
    this.root = root;
    root.append(this.element);
  }

  // `x`, `y`: a point of `place`, in its CSS pixels.
  show(place, x, y, ...lines) {
    const { element, root } = this;
    element.replaceChildren(...lines.map((line) => make("div", {}, ...[line].flat())));
    element.hidden = false;
    const from = place.getBoundingClientRect();
    const frame = root.getBoundingClientRect();
    const left = from.left - frame.left + x + 14;
    const top = from.top - frame.top + y + 14;
    const fits = left + element.offsetWidth <= frame.width;
    const room = frame.top + top + element.offsetHeight <= window.innerHeight;
    element.style.left = `${Math.max(0, fits ? left : left - element.offsetWidth - 28)}px`;
    element.style.top = `${room ? top : top - element.offsetHeight - 28}px`;
  }

  hide() {
    this.element.hidden = true;
  }
}

// From one set of numbers to another, at once where a person asked for less motion.
export class Motion {
  stop() {
    cancelAnimationFrame(this.frame);
  }

  start(from, goal, step) {
    const start = { ...from };
    this.stop();
    if (matchMedia("(prefers-reduced-motion: reduce)").matches) return step(goal);
    const began = performance.now();
    const frame = (now) => {
      const share = clamp((now - began) / 160, 0, 1);
      const eased = share * (2 - share);
      if (share < 1) this.frame = requestAnimationFrame(frame);
      step(Object.fromEntries(Object.keys(goal).map((name) => [name, start[name] + (goal[name] - start[name]) * eased])));
    };
    this.frame = requestAnimationFrame(frame);
  }
}
