// Elements of the page. Tokens in them are text, never markup.

import { clamp } from "./canvas.js";
import { percent } from "./numbers.js";

/** What the arrow keys do: rows down, columns across. @type {Record<string, [number, number]>} */
export const ARROWS = { ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1] };

/**
 * Makes an element, such as "button" or "button.option" with its class. An attribute "onclick" and the like is listened to; attributes
 * and children that are null, false or undefined are left out.
 *
 * @template {string} Name
 * @param {Name} name @param {Record<string, any>} attributes @param {(Node | string | null | false | undefined)[]} children
 * @returns {NamedElement<Name>}
 */
export function make(name, attributes = {}, ...children) {
  const [tag, ...classes] = name.split(".");
  const element = document.createElement(tag);
  if (classes.length) element.className = classes.join(" ");
  for (const [key, value] of Object.entries(attributes)) {
    if (key.startsWith("on")) element.addEventListener(key.slice(2), value);
    else if (key === "class") element.className = [...classes, ...(value ? [value] : [])].join(" ");
    // A policy without inline styles allows this, and no attribute.
    else if (key === "style") element.style.cssText = value;
    else if (value !== null && value !== false && value !== undefined) element.setAttribute(key, value === true ? "" : value);
  }
  element.append(...children.flatMap((child) => (child || child === "" ? [child] : [])));
  return /** @type {any} */ (element);
}

/** Makes an element of a drawing. @template {keyof SVGElementTagNameMap} Name @param {Name} name
 * @param {Record<string, string | number>} attributes @param {(Node | string)[]} children */
export function drawn(name, attributes = {}, ...children) {
  const element = document.createElementNS("http://www.w3.org/2000/svg", name);
  for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, String(value));
  element.append(...children);
  return element;
}

/** A canvas that takes the keyboard, and one over it for what is pointed at. @param {string} className */
export function layered(className) {
  const canvas = make("canvas", { tabindex: "0", role: "application", class: className });
  const overlay = make("canvas", { class: "overlay", "aria-hidden": "true" });
  return { canvas, overlay, stack: make("div", { class: "stack" }, canvas, overlay) };
}

/** Whether Python takes a character for no space. @param {string} letter */
const isShown = (letter) => letter === "\ufeff" || (/\S/u.test(letter) && !"\u001c\u001d\u001e\u001f\u0085".includes(letter));

const INVISIBLE = /[\p{Cc}\p{Cf}\p{Cs}\p{Default_Ignorable_Code_Point}]/u;

/** A token as it is shown, as attnviz/text/words.py writes it: line breaks, spaces and a token of nothing else can be seen.
 * @param {string} text */
export function visibleText(text) {
  const shown = text.replaceAll("\r\n", "↵").replaceAll("\n", "↵").replaceAll("\r", "↵").replaceAll("\t", "⇥");
  const letters = Array.from(shown).filter(isShown);
  if (letters.some((letter) => !INVISIBLE.test(letter))) return shown;
  return letters.map((letter) => `U+${(letter.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, "0")}`).join(" ") || "␣";
}

/** A text as it is compared where case does not matter, alike where Python's casefold is: ß is SS, ς is Σ, and ı is no i.
 * @param {string} text */
export const caseFolded = (text) => text.split("ı").map((part) => part.toLowerCase().toUpperCase()).join("ı");

// Characters of a token, or of a text, that a sentence names, and of one that is a label.
const [LONGEST_NAME, LONGEST_LABEL] = [60, 24];

// What is drawn as one: a flag, or a character with its marks, and what is joined to it.
const DRAWN_AS_ONE = /\p{RI}\p{RI}|.(?:[\p{M}\p{Emoji_Modifier}\u200d]|(?<=\u200d).)*/gsu;

/** Cut a text to so many characters, the last of them an ellipsis, but none within what is drawn as one letter. @param {string} text */
export function cutText(text, most = LONGEST_NAME) {
  const characters = Array.from(text);
  if (characters.length <= most) return text;
  const letters = characters.slice(0, most).join("").match(DRAWN_AS_ONE) ?? [];
  return `${letters.slice(0, -1).join("") || characters.slice(0, most - 1).join("")}…`;
}

/** @param {string} text */
export const cut = (text) => cutText(text, LONGEST_LABEL);

// Arabic letters that join the one behind them, and those that join the one before (by Unicode's joining types); and half a letter of
// Hindi, Bengali or Gujarati, which the next one completes.
const JOINS_NEXT =
  /(?![\u0621-\u0625\u0627\u0629\u062f-\u0632\u0648\u0671-\u0677\u0688-\u0699\u06c0\u06c3-\u06cb\u06cd\u06cf\u06d2\u06d3\u06d5\u06ee\u06ef])(?=\p{sc=Arabic})\p{L}\p{M}*$/u;
const JOINS_LAST = /^(?![\u0621\u0674])(?=\p{sc=Arabic})\p{L}/u;
const HALF = /[\u094d\u09cd\u0acd]$/u;
const JOINER = "\u200d";

/** Texts of tokens that stand side by side, with letters that look as in the whole text: a mark stands with the letter before it, and
 * letters are joined. A token of marks alone is empty. @param {[gap: string, text: string][]} tokens gap: the space before */
export function joinedTexts(tokens) {
  const texts = tokens.map(([, text]) => text);
  let before = -1;
  for (const [at, [gap, text]] of tokens.entries()) {
    if (!gap && before >= 0) {
      const [marks] = text.match(/^\p{M}*/u) ?? [""];
      texts[before] += marks;
      texts[at] = text.slice(marks.length);
      if (JOINS_NEXT.test(texts[before]) && JOINS_LAST.test(texts[at])) {
        texts[before] += JOINER;
        texts[at] = JOINER + texts[at];
      } else if (HALF.test(texts[before]) && /^\p{L}/u.test(texts[at])) texts[before] += JOINER;
    }
    if (gap || texts[at]) before = at;
  }
  return texts;
}

// Letters that are read from right to left: the first letter of a text that has a direction decides (Unicode annex 9, rule P2).
const RIGHT_TO_LEFT = /[\p{scx=Arabic}\p{scx=Hebrew}\p{scx=Syriac}\p{scx=Thaana}\p{scx=Nko}]/u;

/** Which way a text is read. Where its words are `bdi`, as they are here, `dir=auto` does not see their letters. @param {string} text */
export const directionOf = (text) => (RIGHT_TO_LEFT.test(/\p{L}/u.exec(text)?.[0] ?? "") ? "rtl" : "ltr");

/** What is read from right to left, kept apart from the signs around it, as attnviz/analysis/wording.py does. @param {string} text */
export const isolated = (text) => (RIGHT_TO_LEFT.test(text) ? `\u2068${text}\u2069` : text);

/** A token in running text keeps its own direction. @param {string} text */
export const word = (text) => make("bdi", {}, text);

/** The element around an event's target that a selector fits. @param {Event} event @param {string} selector */
export const around = (event, selector) => /** @type {HTMLElement | null} */ (/** @type {Element} */ (event.target).closest(selector));

/** A head by its coordinates: L3·H1, or L3 for the mean of a layer. @param {number} layer @param {number | null} head */
export const nameOfHead = (layer, head) => (head === null ? `L${layer}` : `L${layer}·H${head}`);

/** Heads as buttons, each with what it gives as a bar. @param {{ layer: number, head: number, weight: number }[]} heads
 * @param {(layer: number, head: number) => boolean} isChosen @param {(layer: number, head: number) => void} open */
export const headButtons = (heads, isChosen, open) => heads.map(({ layer, head, weight }) => {
  const bar = make("span.bar-room", { "aria-hidden": "true" }, make("i", { style: `width:${(100 * weight).toFixed(1)}%` }));
  const attributes = { type: "button", "data-head": `${layer}.${head}`, "aria-pressed": String(isChosen(layer, head)), onclick: () => open(layer, head) };
  return make("li", {}, make("button", attributes, make("span", {}, headWords(layer, head)), bar, make("b", {}, percent(weight))));
});

/** @param {number} layer @param {number | null} head */
export const headWords = (layer, head) => (head === null ? `mean over the heads of layer ${layer}` : `head ${head} of layer ${layer}`);

// What a pointer and the keyboard do on a canvas.

/** Whether a key is the browser's, such as those that enlarge a page or go back. @param {KeyboardEvent} event */
export const isBrowsers = ({ altKey, ctrlKey, metaKey }) => altKey || ctrlKey || metaKey;

/** Calls when a pointer or the keyboard points at something on a canvas, with null when it leaves; on a click, and on a key.
 * @param {HTMLCanvasElement} canvas
 * @param {{ point(event: PointerEvent | null): void, click?(event: MouseEvent): void, key(event: KeyboardEvent): void }} calls */
export function listen(canvas, { point, click, key }, staysAfterTouch = false) {
  canvas.addEventListener("pointermove", point);
  canvas.addEventListener("pointerleave", (event) => {
    // A finger leaves at once: what it has touched may stay told until another place is.
    if (!staysAfterTouch || event.pointerType !== "touch") point(null);
  });
  canvas.addEventListener("blur", () => point(null));
  if (click) canvas.addEventListener("click", click);
  canvas.addEventListener("keydown", (event) => isBrowsers(event) || key(event));
}

// The keyboard in a line of words.

const STEPS_ALONG = { ArrowLeft: -1, ArrowRight: 1, ArrowUp: -1, ArrowDown: 1, Home: -Infinity, End: Infinity };

/** Moves the focus along a line of words, of which one takes the Tab key; false where the key is another one.
 * @param {KeyboardEvent} event @param {HTMLElement} span @param {HTMLElement[]} line */
export function stepAlong(event, span, line) {
  if (isBrowsers(event) || !(event.key in STEPS_ALONG)) return false;
  const step = STEPS_ALONG[/** @type {keyof typeof STEPS_ALONG} */ (event.key)];
  const isMirrored = span.parentElement?.dir === "rtl" && event.key.match(/Left|Right/);
  const next = line[clamp(Number(span.dataset.index) + (isMirrored ? -step : step), 0, line.length - 1)];
  span.tabIndex = -1;
  next.tabIndex = 0;
  next.focus();
  return true;
}
