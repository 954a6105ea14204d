// Elements of a page, and the colours of weights. Text is text here, whatever somebody has typed.

/** @typedef {Record<string, string | number | boolean | undefined | ((event: Event) => void)>} Attributes */
/** @typedef {Node | string | null | false | undefined} Child */

/**
 * Makes an element; "onclick" and the like are listened to, false and undefined are left out.
 *
 * @param {string} name "button", or "button.word" with classes
 * @param {Attributes} [attributes]
 * @param {...Child} children
 */
export function element(name, attributes = {}, ...children) {
  const [tag, ...classes] = name.split(".");
  const made = document.createElement(tag);
  if (classes.length) made.className = classes.join(" ");
  for (const [key, value] of Object.entries(attributes)) {
    if (typeof value === "function") made.addEventListener(key.slice(2), value);
    else if (value !== undefined && value !== false) made.setAttribute(key, value === true ? "" : String(value));
  }
  made.append(...children.flatMap((child) => (child ? [child] : [])));
  return made;
}

/** A word as it stands in a text: the second "the" is named "the(2)". @param {string} name */
export const plainWord = (name) => name.replace(/\((\d+)\)$/, "");

/** A word, for whom it may run from right to left. @param {string} name */
export const word = (name) => element("bdi", {}, plainWord(name) || "␣");

/** @param {number} share 0 to 1 */
export const percent = (share) => `${Math.round(100 * share)}\u00A0%`;

/** @param {string} hex "#rrggbb" @returns {number[]} */
const channels = (hex) => [1, 3, 5].map((at) => Number.parseInt(hex.slice(at, at + 2), 16));

/**
 * The colour of a weight, and a colour that can be read on it.
 *
 * @param {readonly string[]} scale from weight 0 to weight 1
 * @param {number} weight
 */
export function shade(scale, weight) {
  const place = Math.min(Math.max(weight, 0), 1) * (scale.length - 1);
  const below = Math.min(Math.floor(place), scale.length - 2);
  const [from, to] = [channels(scale[below]), channels(scale[below + 1])];
  const mixed = from.map((value, at) => Math.round(value + (to[at] - value) * (place - below)));
  const [red, green, blue] = mixed.map((value) => (value <= 10 ? value / 3294.6 : ((value / 255 + 0.055) / 1.055) ** 2.4));
  const isDark = 0.2126 * red + 0.7152 * green + 0.0722 * blue < 0.179;
  return `background:rgb(${mixed.join(",")});color:${isDark ? "#fff" : "#000"}`;
}
