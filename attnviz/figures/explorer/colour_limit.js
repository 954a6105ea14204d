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
