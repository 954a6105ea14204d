// From start and end logits to answers, as in attnviz.text.spans: spans found jointly, over passages of any length.

/**
 * @typedef {{ start: number, stop: number }} Window tokens of a passage that are read in one pass, the last one excluded
 * @typedef {{ start: number, end: number, probability: number }} Span both ends included
 * @typedef {{ start: ArrayLike<number>, end: ArrayLike<number> }} Logits
 */

/**
 * Cut windows of `size` tokens, each `stride` after the one before; the last ends with the passage, and is as long as any.
 * @param {number} nTokens
 * @param {number} size
 * @param {number} stride
 * @returns {Window[]}
 */
export function windowsOf(nTokens, size, stride) {
  const last = Math.max(0, nTokens - size);
  const starts = [];
  for (let start = 0; start < last; start += stride) starts.push(start);
  return [...starts, last].map((start) => ({ start, stop: Math.min(nTokens, start + size) }));
}

/**
 * Take one value for every token of a passage: from the first window where the token has most to either side.
 * @param {Window[]} windows
 * @param {ArrayLike<number>[]} values
 */
export function merged(windows, values) {
  const nTokens = Math.max(...windows.map(({ stop }) => stop));
  const best = new Float64Array(nTokens).fill(-Infinity);
  const most = new Float64Array(nTokens).fill(-1);
  windows.forEach(({ start, stop }, number) => {
    for (let place = start; place < stop; place += 1) {
      // At the passage's own ends there is nothing more to see: such an end counts as if it were far away.
      const left = place - start + (start === 0 ? nTokens : 0);
      const right = stop - 1 - place + (stop === nTokens ? nTokens : 0);
      if (Math.min(left, right) <= most[place]) continue;
      most[place] = Math.min(left, right);
      best[place] = values[number][place - start];
    }
  });
  return best;
}

// Starts, and ends, that are drawn of start × end: more could not be read.
const DRAWN = 16;

/**
 * List p(start, end) of the likeliest starts and ends, in the order of the passage.
 * @param {Logits} logits
 * @param {Span[]} spans the best
 * @param {number} limit
 * @param {number} lengthPenalty
 */
export function jointOf({ start, end }, spans, limit, lengthPenalty) {
  const [best] = spans;
  const [rows, columns] = [likeliest(start, spans.map((span) => span.start)), likeliest(end, spans.map((span) => span.end))];
  const masked = rows.flatMap((row) => columns.map((column) => column < row || column > row + limit));
  // One span's probability is known, and with it that of all others: they differ by their logits alone.
  const above = rows.flatMap((row) => columns.map((column) => {
    return start[row] - start[best.start] + end[column] - end[best.end] - lengthPenalty * (column - row - (best.end - best.start));
  }));
  const weights = above.map((logit, at) => (masked[at] ? 0 : Math.exp(logit) * best.probability));
  const ranks = spans.map((span) => /** @type {[number, number]} */ ([rows.indexOf(span.start), columns.indexOf(span.end)]));
  return { starts: rows, ends: columns, weights, masked, ranks };
}

/**
 * @param {ArrayLike<number>} logits
 * @param {number[]} own places that are among them
 */
function likeliest(logits, own) {
  const places = [...new Set(own)];
  const ranked = Array.from(logits, (_, place) => place).filter((place) => !places.includes(place));
  ranked.sort((one, other) => logits[other] - logits[one] || one - other);
  return [...places, ...ranked.slice(0, Math.max(DRAWN - places.length, 0))].sort((one, other) => one - other);
}

/**
 * Compute the logit of every span: at its start, and by how many tokens follow; -Infinity where there is none.
 * @param {Logits} logits
 * @param {number} limit tokens of an answer after its first, at most
 * @param {number} lengthPenalty what each of these takes from a span's logit
 */
export function pairLogits({ start, end }, limit, lengthPenalty) {
  const pairs = new Float64Array(start.length * (limit + 1)).fill(-Infinity);
  for (let first = 0; first < start.length; first += 1) {
    for (let length = 0; length <= limit && first + length < end.length; length += 1) {
      pairs[first * (limit + 1) + length] = start[first] + end[first + length] - lengthPenalty * length;
    }
  }
  return pairs;
}

/**
 * Find the `n` best spans without overlap, best first; of two equal ones the first counts, and of these the shorter.
 * @param {Float64Array} pairs as of `pairLogits`
 * @param {number} limit
 * @param {number} n
 * @param {number} nothing the logit of no answer
 * @returns {Span[]}
 */
export function bestSpans(pairs, limit, n, nothing) {
  const left = pairs.slice();
  const top = Math.max(largest(pairs), nothing);
  const total = pairs.reduce((sum, pair) => sum + Math.exp(pair - top), Math.exp(nothing - top));
  /** @type {Span[]} */
  const spans = [];
  while (spans.length < n) {
    const best = left.indexOf(largest(left));
    if (best < 0 || left[best] === -Infinity) break;
    const [start, length] = [Math.floor(best / (limit + 1)), best % (limit + 1)];
    spans.push({ start, end: start + length, probability: Math.exp(left[best] - top) / total });
    // No other span may share a token with this one.
    for (let first = Math.max(0, start - limit); first <= start + length; first += 1) {
      const row = first * (limit + 1);
      left.fill(-Infinity, row + Math.max(0, start - first), row + limit + 1);
    }
  }
  return spans;
}

/**
 * Compute p(start), p(end) and p(no answer) of one softmax over all spans and no answer.
 * @param {Float64Array} pairs as of `pairLogits`
 * @param {number} limit
 * @param {number} nothing the logit of no answer
 */
export function marginals(pairs, limit, nothing) {
  const top = Math.max(largest(pairs), nothing);
  const nTokens = pairs.length / (limit + 1);
  const [start, end] = [new Float64Array(nTokens), new Float64Array(nTokens)];
  const none = Math.exp(nothing - top);
  let total = none;
  pairs.forEach((pair, place) => {
    const weight = Math.exp(pair - top);
    if (!weight) return;
    const first = Math.floor(place / (limit + 1));
    start[first] += weight;
    end[first + (place % (limit + 1))] += weight;
    total += weight;
  });
  return { start: start.map((each) => each / total), end: end.map((each) => each / total), nothing: none / total };
}

/** @param {Float64Array} values too many for the arguments of Math.max */
export function largest(values) {
  return values.reduce((most, value) => Math.max(most, value), -Infinity);
}

/**
 * Whether a model declines, above which p(no answer), and else how many of the answers this sure are right, where that was measured.
 * @param {{ slope: number, slope_nothing: number, intercept: number, declines_above: number | null, calibrated: boolean }} decoding
 * @param {number} probability of the best span
 * @param {number} nothing
 */
export function judge(decoding, probability, nothing) {
  const limit = decoding.declines_above;
  const declined = nothing > (limit ?? probability);
  const sure = Math.min(confidence(decoding, probability, nothing), 1 - nothing);
  return { declined, limit, confidence: declined || !decoding.calibrated ? null : sure };
}

/**
 * Estimate how often a best span is an accepted answer, as attnviz.models.answer does.
 * @param {{ slope: number, slope_nothing: number, intercept: number }} decoding
 * @param {number} probability
 * @param {number} nothing
 */
function confidence(decoding, probability, nothing) {
  const among = logOdds(probability / Math.max(1 - nothing, 1e-12));
  const odds = decoding.slope * among + decoding.slope_nothing * logOdds(nothing) + decoding.intercept;
  return 1 / (1 + Math.exp(-odds));
}

/** @param {number} share */
function logOdds(share) {
  const clipped = Math.min(Math.max(share, 1e-6), 1 - 1e-6);
  return Math.log(clipped) - Math.log1p(-clipped);
}
