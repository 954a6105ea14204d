// A token as a label, as attnviz/figures/html.py writes it.

/** A token as it is shown: line breaks and spaces can be seen. @param {string} text */
export function visibleText(text) {
  const shown = text.replaceAll("\r\n", "↵").replaceAll("\n", "↵").replaceAll("\r", "↵").replaceAll("\t", "⇥");
  return shown.trim() ? shown : "␣";
}
