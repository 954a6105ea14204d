// Shares and counts in words, as attnviz/analysis/wording.py writes them.

/** A share in whole percent. @param {number} share */
export const wholePercent = (share) => `${Math.round(100 * share)}\u00A0%`;

/** The same, but never none or all of it where that is not so. @param {number} share */
export function percent(share) {
  if (share >= 0.995 && share < 0.9995) return "over 99\u00A0%";
  return share > 0 && share < 0.005 ? "under 1\u00A0%" : wholePercent(share);
}

/** A weight of a cell that can be looked at: one that has no digit left of those that travel is some all the same. @param {number} weight */
export const percentVisible = (weight) => percent(weight || Number.MIN_VALUE);

/** A whole number as it is read: 12,345. @param {number} value */
export const grouped = (value) => value.toLocaleString("en");
