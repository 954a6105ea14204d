// Elements, and formulas as they are set.

/**
 * @template {keyof HTMLElementTagNameMap} Tag
 * @param {Tag} tag @param {Record<string, any>} options @param {(Node | string)[]} children
 */
export function make(tag, options = {}, ...children) {
  const { tone, ...rest } = options;
  const element = Object.assign(document.createElement(tag), rest);
  if (tone) element.style.setProperty("--tone", tone);
  element.append(...children);
  return element;
}

/** "W_Q" and "e^{0.5}" with their subscripts and superscripts. @param {string} text */
export function typeset(text, marks = /([_^])(?:\{([^}]*)\}|(\S))/g) {
  const pieces = [];
  let end = 0;
  for (const match of text.matchAll(marks)) {
    pieces.push(text.slice(end, match.index), make(match[1] === "_" ? "sub" : "sup", {}, match[2] ?? match[3]));
    end = match.index + match[0].length;
  }
  return [...pieces, text.slice(end)];
}

// A sentence may hold tokens as they were typed: of it, only the names of matrices and sizes are set as such.
export const MATRICES = /(?<=\bW|√d)(_)(?:\{([^}]*)\}|([A-Zk]))/g;
