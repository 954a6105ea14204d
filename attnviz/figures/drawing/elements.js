// Elements of the page. Tokens in them are text, never markup.

/** What the arrow keys do: rows down, columns across. @type {Record<string, [number, number]>} */
export const ARROWS = { ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1] };

/**
 * @template {keyof HTMLElementTagNameMap} Tag
 * @param {Tag} tag @param {Record<string, any>} attributes @param {(Node | string)[]} children
 */
export function make(tag, attributes = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else if (name === "class") element.className = value;
    // A policy without inline styles allows this, and no attribute.
    else if (name === "style") element.style.cssText = value;
    else if (value !== null && value !== false) element.setAttribute(name, value === true ? "" : value);
  }
  element.append(...children);
  return element;
}

/** A canvas that takes the keyboard, and one over it for what is pointed at. @param {string} className */
export function layered(className) {
  const canvas = make("canvas", { tabindex: "0", role: "application", class: className });
  const overlay = make("canvas", { class: "overlay", "aria-hidden": "true" });
  return { canvas, overlay, stack: make("div", { class: "stack" }, canvas, overlay) };
}

/** A token in running text keeps its own direction. @param {string} text */
export const word = (text) => make("bdi", {}, text);

/** The element around an event's target that a selector fits. @param {Event} event @param {string} selector */
export const around = (event, selector) => /** @type {HTMLElement | null} */ (/** @type {Element} */ (event.target).closest(selector));
