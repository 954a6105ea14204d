// Writing a translation, one token at a time: a beam search as in attnviz.nn.decoding; a beam of one is greedy.

/**
 * @typedef {{ scores: Float32Array, after: Decoder }} Step the scores of every row, one behind the other
 * @typedef {{ next(tokens: number[]): Promise<Step>, select(rows: number[]): Decoder }} Decoder
 * @typedef {{ tokens: number[], logProbability: number }} Tip a hypothesis
 * @typedef {{ width: number, longest: number }} Beam
 * @typedef {{ row: number, token: number, value: number }} Extension
 */

export const START = 1;
export const END = 2;

/**
 * Find the best hypotheses for one sentence, best first, as many as the beam is wide.
 * @param {Decoder} decoder
 * @param {Beam} beam
 */
export async function beamSearch(decoder, beam) {
  /** @type {Tip[]} */
  let open = [{ tokens: [], logProbability: 0 }];
  /** @type {Tip[]} */
  const finished = [];
  for (let step = 0; step < beam.longest && open.length; step += 1) {
    const { scores, after } = await decoder.next(open.map(({ tokens }) => tokens.at(-1) ?? START));
    const rows = logProbabilities(scores, open.length);
    // The ended share the beam with the open: a beam of one must stop where greedy decoding stops.
    const kept = likeliest(rows, open.map((tip) => tip.logProbability), beam.width - finished.length);
    const following = [];
    const parents = [];
    for (const { row, token, value } of kept) {
      const tip = { tokens: [...open[row].tokens, token], logProbability: value };
      if (token === END) finished.push(tip);
      else {
        following.push(tip);
        parents.push(row);
      }
    }
    open = following;
    decoder = after.select(parents);
  }
  // What the limit cut short comes after all that ended by itself.
  return [...ranked(finished), ...ranked(open)];
}

/**
 * Compute ln p of every token, in the precision that Python has it.
 * @param {Float32Array} scores of some rows
 * @param {number} nRows
 */
export function logProbabilities(scores, nRows) {
  const vocabulary = scores.length / nRows;
  return Array.from({ length: nRows }, (_, row) => {
    const own = scores.subarray(row * vocabulary, (row + 1) * vocabulary);
    const top = own.reduce((most, score) => Math.max(most, score), -Infinity);
    const total = top + Math.log(own.reduce((sum, score) => sum + Math.exp(score - top), 0));
    return own.map((score) => score - total);
  });
}

/**
 * The likeliest tokens of a row, best first.
 * @param {ArrayLike<number>} values
 * @param {number} n
 */
function topOf(values, n) {
  /** @type {number[]} */
  const best = [];
  for (let place = 0; place < values.length; place += 1) {
    if (best.length === n && values[place] <= values[best[n - 1]]) continue;
    let at = best.length;
    while (at && values[place] > values[best[at - 1]]) at -= 1;
    best.splice(at, 0, place);
    if (best.length > n) best.pop();
  }
  return best;
}

/**
 * The likeliest extensions of all rows together, with ln p of the whole.
 * @param {Float32Array[]} rows
 * @param {number[]} before
 * @param {number} width
 * @returns {Extension[]}
 */
function likeliest(rows, before, width) {
  const all = rows.flatMap((own, row) => {
    const total = own.map((value) => value + Math.fround(before[row]));
    return topOf(total, width).map((token) => ({ row, token, value: total[token] }));
  });
  // Of equal ones the first, as they stand.
  return all.sort((one, other) => other.value - one.value).slice(0, width);
}

/**
 * Sort by ln p / length.
 * @param {Tip[]} tips
 */
function ranked(tips) {
  /** @param {Tip} tip */
  const score = ({ tokens, logProbability }) => logProbability / Math.max(1, tokens.length);
  return [...tips].sort((one, other) => score(other) - score(one));
}
