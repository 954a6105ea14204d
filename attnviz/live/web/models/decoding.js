// Writing a translation, one token at a time: a beam search as in attnviz.nn.decoding; a beam of one is greedy.

/**
 * @typedef {{ scores: Float32Array, after: Decoder }} Step the scores of every row, one behind the other
 * @typedef {{ next(tokens: number[]): Promise<Step>, select(rows: number[]): Decoder }} Decoder
 * @typedef {{ tokens: number[], logProbability: number, node: number | null }} Tip a hypothesis, and the node of its last token
 * @typedef {{ token: number, parent: number | null, logProbability: number, kept: boolean }} Node one token that was weighed
 * @typedef {{ width: number, lengthPenalty: number, longest: number }} Beam
 * @typedef {{ row: number, token: number, value: number }} Extension
 */

export const START = 1;
export const END = 2;

/**
 * Find the best hypotheses for one sentence, best first, as many as the beam is wide, and keep the tree of the search.
 * @param {Decoder} decoder
 * @param {Beam} beam
 */
export async function beamSearch(decoder, beam) {
  /** @type {Tip[]} */
  let open = [{ tokens: [], logProbability: 0, node: null }];
  /** @type {Tip[]} */
  const finished = [];
  /** @type {Node[]} */
  const nodes = [];
  for (let step = 0; step < beam.longest && open.length; step += 1) {
    const { scores, after } = await decoder.next(open.map(({ tokens }) => tokens.at(-1) ?? START));
    const rows = logProbabilities(scores, open.length);
    // The ended share the beam with the open: a beam of one must stop where greedy decoding stops.
    const kept = likeliest(rows, open.map((tip) => tip.logProbability), beam.width - finished.length);
    const following = [];
    const parents = [];
    for (const { row, token, value } of kept) {
      nodes.push({ token, parent: open[row].node, logProbability: rows[row][token], kept: true });
      const tip = { tokens: [...open[row].tokens, token], logProbability: value, node: nodes.length - 1 };
      if (token === END) finished.push(tip);
      else {
        following.push(tip);
        parents.push(row);
      }
    }
    nodes.push(...dropped(rows, open, kept));
    open = following;
    decoder = after.select(parents);
  }
  // What the limit cut short comes after all that ended by itself.
  const tips = [...ranked(finished, beam.lengthPenalty), ...ranked(open, beam.lengthPenalty)];
  return { tips, nodes };
}

/**
 * Let a decoder write a prefix and wait for its last token; also ln p of the prefix.
 * @param {Decoder} decoder
 * @param {number[]} prefix
 * @returns {Promise<{ decoder: Decoder, given: number }>}
 */
export async function resume(decoder, prefix) {
  let given = 0;
  let last = START;
  for (const token of prefix) {
    const { scores, after } = await decoder.next([last]);
    given += logProbabilities(scores, 1)[0][token];
    decoder = after;
    last = token;
  }
  const waiting = decoder;
  /** @type {Decoder} */
  const resumed = { next: (tokens) => waiting.next(tokens.map(() => last)), select: () => resumed };
  return { decoder: prefix.length ? resumed : decoder, given };
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
export function topOf(values, n) {
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
 * Of each row the likeliest token that was not kept: where the search did not go.
 * @param {Float32Array[]} rows
 * @param {Tip[]} tips
 * @param {Extension[]} kept
 * @returns {Node[]}
 */
function dropped(rows, tips, kept) {
  return rows.flatMap((own, row) => {
    const taken = new Set(kept.filter((each) => each.row === row).map(({ token }) => token));
    const token = topOf(own, kept.length + 1).find((each) => !taken.has(each) && own[each] > -Infinity);
    return token === undefined ? [] : [{ token, parent: tips[row].node, logProbability: own[token], kept: false }];
  });
}

/**
 * Sort by ln p / length^α.
 * @param {Tip[]} tips
 * @param {number} lengthPenalty
 */
function ranked(tips, lengthPenalty) {
  /** @param {Tip} tip */
  const score = ({ tokens, logProbability }) => logProbability / Math.max(1, tokens.length) ** lengthPenalty;
  return [...tips].sort((one, other) => score(other) - score(one));
}
