// How one token is chosen from what a language model says comes next, as in attnviz/core/sampling.py: a test compares both.

/**
 * @typedef {{ temperature: number, top_k: number, top_p: number, seed: number }} Sampling  temperature 0: the likeliest token each time
 */

/** Of each position the mass of what is not listed is kept at these temperatures. */
export const TEMPERATURES = Array.from({ length: 20 }, (_, step) => (step + 1) / 10);

/**
 * Compute the distribution that a token is drawn from: first temperature, then top-k, then top-p.
 * @param {ArrayLike<number>} logProbabilities
 * @param {Sampling} sampling
 */
export function samplingProbabilities(logProbabilities, { temperature, top_k, top_p }) {
  const scores = Float64Array.from(logProbabilities);
  if (temperature === 0) {
    const best = largest(scores);
    return scores.map((_, token) => Number(token === best));
  }
  for (let token = 0; token < scores.length; token += 1) scores[token] /= temperature;
  if (top_k > 0 && top_k < scores.length) {
    const least = scores.toSorted()[scores.length - top_k];
    for (let token = 0; token < scores.length; token += 1) if (scores[token] < least) scores[token] = -Infinity;
  }
  const highest = scores[largest(scores)];
  for (let token = 0; token < scores.length; token += 1) scores[token] = Math.exp(scores[token] - highest);
  const shares = divided(scores);
  if (top_p >= 1) return shares;
  // A token is drawn from if those before it have not the whole mass yet; the first one always.
  const order = Array.from(shares.keys()).filter((token) => shares[token] > 0).sort((one, other) => shares[other] - shares[one] || one - other);
  let before = 0;
  for (const [rank, token] of order.entries()) {
    const share = shares[token];
    if (rank && before >= top_p) shares[token] = 0;
    before += share;
  }
  return divided(shares);
}

/**
 * Draw the token of a step, counted from the beginning of what is written.
 * @param {Float32Array | Float64Array} shares
 * @param {Sampling} sampling
 * @param {number} step
 */
export function draw(shares, { temperature, seed }, step) {
  if (temperature === 0) return largest(shares);
  let total = 0;
  for (let token = 0; token < shares.length; token += 1) total += shares[token];
  const bound = chance(seed, step) * total;
  let [before, last] = [0, 0];
  for (let token = 0; token < shares.length; token += 1) {
    if (!shares[token]) continue;
    before += shares[token];
    last = token;
    if (before > bound) break;
  }
  return last;
}

/**
 * Make a number from 0 to 1 of a seed and a step: SplitMix64 (Steele, Lea and Flood 2014).
 * @param {number} seed
 * @param {number} step
 */
export function chance(seed, step) {
  const wrapped = (/** @type {bigint} */ value) => BigInt.asUintN(64, value);
  let state = wrapped(((BigInt(seed) << 32n) + BigInt(step) + 1n) * 0x9e3779b97f4a7c15n);
  state = wrapped((state ^ (state >> 30n)) * 0xbf58476d1ce4e5b9n);
  state = wrapped((state ^ (state >> 27n)) * 0x94d049bb133111ebn);
  return Number((state ^ (state >> 31n)) >> 11n) / 2 ** 53;
}

/**
 * Compute what sampling makes of the likeliest tokens, best first, of which the rest is known by its mass at each temperature.
 * @param {number[]} scores ln p of each
 * @param {number[]} rest ln of the mass of all others
 * @param {Sampling | null} sampling null: as the model says
 */
export function reshaped(scores, rest, sampling) {
  if (!sampling) return scores.map(Math.exp);
  const { temperature, top_k, top_p } = sampling;
  if (temperature === 0 || (top_k > 0 && top_k <= scores.length)) return [...samplingProbabilities(scores, sampling)];
  const logs = scores.map((score) => score / temperature);
  const others = restAt(rest, temperature);
  const highest = Math.max(...logs, others);
  const mass = logs.reduce((sum, log) => sum + Math.exp(log - highest), Math.exp(others - highest));
  const shares = logs.map((log) => Math.exp(log - highest) / mass);
  if (top_p >= 1) return shares;
  let before = 0;
  const inside = shares.map((share, rank) => {
    const isInside = !rank || before < top_p;
    before += share;
    return isInside;
  });
  const kept = shares.reduce((sum, share, rank) => sum + (inside[rank] ? share : 0), 0);
  const total = inside.every(Boolean) ? Math.max(kept, top_p) : kept;
  return shares.map((share, rank) => (inside[rank] ? share / total : 0));
}

/**
 * Interpolate the rest between the two temperatures beside one, over 1/T.
 * @param {number[]} rest
 * @param {number} temperature
 */
function restAt(rest, temperature) {
  const above = TEMPERATURES.findIndex((each) => each >= temperature - 1e-9);
  if (above <= 0) return above ? rest[rest.length - 1] : rest[0];
  const [low, high, at] = [TEMPERATURES[above - 1], TEMPERATURES[above], temperature].map((each) => 1 / each);
  const part = (low - at) / (low - high);
  return rest[above - 1] + (rest[above] - rest[above - 1]) * part;
}

/** @param {Float64Array} shares */
function divided(shares) {
  const total = shares.reduce((sum, share) => sum + share, 0);
  return shares.map((share) => share / total);
}

/** @param {Float32Array | Float64Array} values */
function largest(values) {
  let best = 0;
  for (let place = 1; place < values.length; place += 1) if (values[place] > values[best]) best = place;
  return best;
}
