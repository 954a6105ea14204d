// The numbers of a computation as steps: labelled matrices, and for every cell the cells that it came from, with the sum written out.
// attnviz/analysis/compute.py has the numbers of a worked example and of one weight of a model in the app, live/web/link_steps.js those of
// a text that was typed on the site.

import { cutText, visibleText } from "../drawing/elements.js";
import { decimals, eightDigits, grouped, largestRemainder, MINUS, numberText, significant, spelled, summed, unitsOf100 } from "../drawing/numbers.js";

/**
 * @import { Origin, Place, Step } from "./equations.js"
 * @typedef {[name: string, row: number, column: number]} CellPlace
 * @typedef {[text: string, of: string]} Term
 * @typedef {{ cells: CellPlace[], sum: Term[] }} CellOrigin
 * @typedef {(number | null)[]} Row  null: no number stands there
 * @typedef {{ name: string, values: Row[], rows: string[], columns: string[], shown: string[][], visible?: boolean[][] | null, label?: string,
 *   totals?: string[], first?: Place, isFlipped?: boolean, size?: string, blocks?: number, isWeights?: boolean }} LabelledMatrix  label:
 *   written over it, else its name; first: the place in the named matrix of the first cell, of a part; size: the true shape, of a part;
 *   blocks: how many heads share its columns
 * @typedef {{ name: string, values: number[], known: Map<number, [text: string, place: CellPlace]> }} KnownVector  of the numbers that stand
 *   on the page, the text and the place
 * @typedef {{ symbol: string, formula: string, sentence: string, matrices: LabelledMatrix[], signs: string[],
 *   origins: Map<string, CellOrigin>, start: Place }} WordedStep  origins by "row:column" of the last matrix
 * @typedef {{ kept: number[], length: number }} Axis  positions of a long axis that are shown, in their order; the others are counted
 * @typedef {Axis & { left: number[], right: number[][], beyond: number[] }} Factors  of a row times each column, those that are shown, and
 *   what all other products add up to
 * @typedef {Factors & { bias: number[] }} Projection
 * @typedef {Projection & { values: number[] }} Made
 * @typedef {{ symbol: string, values: Row, own?: number | null, cap?: number, bias?: Row }} ScoreRow
 * @typedef {{ kind: "dot" | "additive", query: string, key: string, at: number, keys: Axis, names: string[], size: number, scores: Row,
 *   visible: boolean[] | null, rows: ScoreRow[], dots: (Factors | null)[], dims: Axis, meets?: Factors & { score: number },
 *   q?: Projection, k?: Projection, units?: { state: Made, annotation: Made, sum: number[] } }} Link  at: the place of the key among those
 *   that are shown; units: of additive attention
 * @typedef {{ row: number[], merged: { rows: string[], columns: string[], values: number[][] } | null, v?: Made,
 *   context?: Factors & { dims: Axis, values: number[] } }} LinkShares
 * @typedef {{ kind: "worked", tokens: string[], columns: string[], heads: number, head: number, divides: boolean, visible: boolean[][],
 *   focus: Place, where?: string } & Record<"x" | "wQ" | "wK" | "wV" | "q" | "k" | "v" | "scores" | "scaled", number[][]>} Worked
 * @typedef {{ contexts: number[][][] } & Record<"weights" | "divided" | "undivided" | "concatenated" | "wO" | "output", number[][]>} WorkedShares
 * @typedef {{ known: Link | Worked, mixed: any, symbols: string[] }} Numbers  mixed: the weights, and all that is computed from them; null:
 *   they are to be guessed; symbols: of all steps
 */

// Longer sums show their largest terms, and the others as one.
const MOST_TERMS = 6;
// From here on e^x is a number that nobody reads: the largest exponent is taken off all of them, which changes no weight.
const LARGEST_EXPONENT = 7;
const NOTHING = `${MINUS}∞`;
const DOTS = "…";
/** @type {Record<string, string>} */
const TITLES = {
  X: "Tokens", Q: "Queries", K: "Keys", V: "Values", QKᵀ: "Scores", "÷√d": "Scale", mask: "Mask", softmax: "Weights", "·V": "Context",
  concat: "All heads", W_O: "Output", q: "The query", k: "The key", "q·k": "Query meets key", "q·K": "Scores", cap: "Soft cap",
  "+ bias": "Bias", sink: "Sink", word: "Whole words", v: "The value", "W s": "The decoder state", "U h": "The annotation", "+": "Sum",
  tanh: "tanh", "v·": "Energy", "all e": "Energies", "·H": "Context",
};

/** Steps as equations.js walks through them. @param {Numbers} numbers @returns {{ steps: Step[], origins: Record<string, Origin> }} */
export function describeSteps(numbers) {
  const steps = wordedSteps(numbers);
  /** @type {Record<string, Origin>} */
  const origins = {};
  steps.forEach(({ matrices, origins: own }, step) => {
    for (const [at, { cells, sum }] of own) {
      const [row, column] = at.split(":").map(Number);
      origins[idOf(placeIn(matrices[matrices.length - 1], row, column))] = { step, from: cells.map(idOf), sum };
    }
  });
  const described = steps.map(({ symbol, formula, sentence, signs, start, matrices }) => {
    return { symbol, title: TITLES[symbol], formula, sentence, signs, start, matrices: matrices.map(describeMatrix) };
  });
  // Of what comes after weights that are hidden, its names.
  const later = numbers.symbols.slice(steps.length).map((symbol) => ({ symbol, title: TITLES[symbol], formula: "", sentence: "", signs: [], start: /** @type {Place} */ ([0, 0]), matrices: [] }));
  return { steps: [...described, ...later], origins };
}

/** All steps, or those up to weights that are hidden. @param {Numbers} numbers @returns {WordedStep[]} */
export function wordedSteps({ known, mixed }) {
  return known.kind === "worked" ? workedSteps(known, mixed) : linkSteps({ ...known, query: cutText(known.query), key: cutText(known.key) }, mixed);
}

/** @param {CellPlace} place */
const idOf = (place) => place.join(":");

/** @param {LabelledMatrix} matrix */
function describeMatrix(matrix) {
  const { name, label = name, rows, columns, values, shown, visible, totals = [], size = sizeOf(values), blocks = 1, isWeights = false } = matrix;
  const cells = values.map((row, at) => row.map((value, column) => {
    const cell = { id: idOf(placeIn(matrix, at, column)), text: shown[at][column] };
    const isMasked = visible?.[at][column] === false;
    const exact = value === null || cell.text === NOTHING ? {} : { exact: eightDigits(value), ...(isWeights && !isMasked ? { value } : {}) };
    return { ...cell, ...exact, ...(isMasked ? { masked: true } : {}) };
  }));
  return { name, label, shape: size, rows: rows.map(axisName), columns: columns.map(axisName), totals, blocks, weights: isWeights, cells };
}

/** @param {string} text */
const axisName = (text) => (text ? visibleText(text) : "");
/** @param {Row[]} values */
const sizeOf = (values) => `${values.length} × ${values[0].length}`;

// Sums as they are written out.

/** @param {LabelledMatrix} matrix @param {number} row @param {number} column @returns {CellPlace} */
function placeIn({ name, first = [0, 0], isFlipped }, row, column) {
  return isFlipped ? [name, column + first[0], row + first[1]] : [name, row + first[0], column + first[1]];
}

/** @param {LabelledMatrix} matrix @param {number} row @param {number} column @returns {Term} */
const quotedCell = ({ name, shown }, row, column) => [shown[row][column], name];
/** @param {string} text @returns {Term} */
const termOf = (text) => [text, ""];
/** @param {number[]} values */
const sumOf = (values) => values.reduce((sum, value) => sum + value, 0);
/** @param {KnownVector} vector @param {number} index */
const textAt = ({ values, known }, index) => known.get(index)?.[0] ?? numberText(values[index]);
/** A factor; a negative one in brackets. @param {string} text */
const inBrackets = (text) => (text.startsWith(MINUS) ? `(${text})` : text);
/** @param {KnownVector} vector @param {Iterable<number>} indices */
const placesOf = ({ known }, indices) => [...indices].flatMap((index) => (known.has(index) ? [/** @type {[string, CellPlace]} */ (known.get(index))[1]] : []));

/** The terms that are written out, in their order, and the others. @param {number[]} terms @param {number[]} among @param {number} length
 * of all terms, of which some may not be given @param {number[]} first @returns {[kept: number[], rest: number[]]} */
function largestTerms(terms, among, length, first = []) {
  const sizes = terms.map((_, place) => place).sort((one, other) => Math.abs(terms[other]) - Math.abs(terms[one]) || one - other);
  if (length <= MOST_TERMS) return [[...sizes].sort((one, other) => one - other), []];
  const order = [...new Set([...first, ...sizes.filter((place) => among.includes(place)), ...sizes])];
  const most = Math.min(MOST_TERMS - 1, among.length || MOST_TERMS);
  return [order.slice(0, most).sort((one, other) => one - other), order.slice(most)];
}

/** Σ a_k b_k: the factors, then the products, which add up to the result as shown. @param {KnownVector} left @param {KnownVector} right
 * @param {Term} result @param {{ also?: number, beyond?: number, length?: number }} [options] also: what is added, as a bias; beyond: what
 * the products add up to that are not given; length: of all of them @returns {CellOrigin} */
function writtenDot(left, right, result, { also = 0, beyond = 0, length = left.values.length } = {}) {
  const products = left.values.map((value, place) => value * right.values[place]);
  const both = [...left.known.keys()].filter((place) => right.known.has(place)).sort((one, other) => one - other);
  const [kept, rest] = largestTerms(products, both, length);
  const more = length - kept.length;
  const extra = [...(more ? [sumOf(rest.map((place) => products[place])) + beyond] : []), ...(also ? [also] : [])];
  const total = Number(result[0].replace(MINUS, "-"));
  const counts = largestRemainder([...kept.map((place) => products[place]), ...extra], { total });
  const terms = kept.flatMap((place, index) => [
    ...(index ? [termOf(" + ")] : []), /** @type {Term} */ ([inBrackets(textAt(left, place)), left.name]), termOf("·"),
    /** @type {Term} */ ([inBrackets(textAt(right, place)), right.name]),
  ]);
  if (more) terms.push(termOf(` + (${grouped(more)} more)`));
  if (also) terms.push(termOf(" + b"));
  if (counts.length > 1) terms.push(termOf(` = ${summed(counts)}`));
  return { cells: [...placesOf(left, left.known.keys()), ...placesOf(right, right.known.keys())], sum: [...terms, termOf(" = "), result] };
}

/** e^{s_j} / Σ_k e^{s_k} over the keys that can be seen, for the key at a position. @param {KnownVector} scores @param {boolean[] | null | undefined} visible
 * @param {number} at @param {Term} result @returns {CellOrigin} */
function softmaxOrigin({ name, values: all, known: places }, visible, at, result) {
  const seen = all.map((_, place) => place).filter((place) => visible?.[place] ?? true);
  if (!seen.includes(at)) return { cells: placesOf({ name, values: all, known: places }, [at]), sum: [termOf(`e^{${NOTHING}} = `), result] };
  const known = new Map(seen.flatMap((place, index) => (places.has(place) ? [[index, /** @type {[string, CellPlace]} */ (places.get(place))]] : [])));
  const scores = { name, values: seen.map((place) => all[place]), known };
  const [{ values }, here] = [scores, seen.indexOf(at)];
  const cells = placesOf(scores, values.keys());
  if (values.length === 1) return { cells, sum: [termOf("the only key that can be seen: "), result] };
  const shift = Math.max(...values.map(Math.abs)) > LARGEST_EXPONENT ? Math.max(...values) : 0;
  const energy = values.map((value) => Math.exp(value - shift));
  const [kept, rest] = largestTerms(energy, [...known.keys()], energy.length, [here]);
  const counts = largestRemainder([...kept.map((place) => energy[place]), ...(rest.length ? [sumOf(rest.map((place) => energy[place]))] : [])], { keep: kept.indexOf(here) });
  const less = shift > 0 ? ` ${MINUS} ${numberText(shift)}` : shift ? ` + ${numberText(-shift)}` : "";
  const power = (/** @type {number} */ place) => /** @type {Term} */ ([`e^{${textAt(scores, place)}${less}}`, name]);
  const below = kept.flatMap((place, index) => [...(index ? [termOf(" + ")] : []), power(place)]);
  if (rest.length) below.push(termOf(` + (${grouped(rest.length)} more)`));
  const top = spelled(counts[kept.indexOf(here)]);
  const numbers = `) = ${top} / (${summed(counts)}) = ${top} / ${spelled(sumOf(counts))} = `;
  return { cells, sum: [power(here), termOf(" / ("), ...below, termOf(numbers), result] };
}

/** The origin of every cell of a matrix. @param {LabelledMatrix} matrix @param {(row: number, column: number) => CellOrigin | null} origin */
function originOfEach({ values }, origin) {
  /** @type {Map<string, CellOrigin>} */
  const origins = new Map();
  values.forEach((cells, row) => cells.forEach((_, column) => {
    const own = origin(row, column);
    if (own) origins.set(`${row}:${column}`, own);
  }));
  return origins;
}

/** A row or a column of a matrix that stands on the page. @param {LabelledMatrix} matrix @param {number} at @param {boolean} [isColumn] @returns {KnownVector} */
function vectorOf(matrix, at, isColumn = false) {
  const line = isColumn ? matrix.values.map((row) => row[at]) : matrix.values[at];
  const values = /** @type {number[]} */ (line.filter((value) => value !== null));
  const known = values.map((_, place) => {
    const [row, column] = isColumn ? [place, at] : [at, place];
    return /** @type {[number, [string, CellPlace]]} */ ([place, [matrix.shown[row][column], placeIn(matrix, row, column)]]);
  });
  return { name: matrix.name, values, known: new Map(known) };
}

/** Weights, rounded so that each row adds up to its sum, and those sums. @param {number[][]} weights @param {number} [keep] */
function weightTexts(weights, keep) {
  return { shown: weights.map((row) => largestRemainder(row, { keep }).map(spelled)), totals: weights.map((row) => spelled(unitsOf100(sumOf(row)))) };
}

/** The same row or matrix, with what is hidden from a query. @param {LabelledMatrix} before @param {string} name @param {boolean[][]} visible @returns {LabelledMatrix} */
function maskedMatrix(before, name, visible) {
  return { ...before, name, visible, shown: before.shown.map((row, at) => row.map((text, column) => (visible[at][column] ? text : NOTHING))) };
}

/** The step of the weights: `weights` are null while they are to be guessed. @param {LabelledMatrix} before @param {string} name @param {string} formula
 * @param {string} sentence @param {number[][] | null} weights @param {(result: LabelledMatrix, row: number, column: number) => CellOrigin | null} origin
 * @param {Place} start @param {number} [keep] @returns {WordedStep} */
function softmaxStep(before, name, formula, sentence, weights, origin, start, keep) {
  const { rows, columns, visible, size, values } = before;
  const shape = { name, rows, columns, visible, size, isWeights: true };
  const step = { symbol: "softmax", formula, signs: ["→"], start };
  if (!weights) {
    const totals = rows.map((_, row) => (visible?.[row].some(Boolean) ?? true ? "1.00" : "0.00"));
    const asked = { ...shape, values: values.map((row) => row.map(() => null)), shown: values.map((row) => row.map(() => "?")), totals };
    return { ...step, sentence: "", matrices: [before, asked], origins: new Map() };
  }
  const result = { ...shape, values: weights, ...weightTexts(weights, keep) };
  return { ...step, sentence, matrices: [before, result], origins: originOfEach(result, (row, column) => origin(result, row, column)) };
}

// One weight of a model.

/** @param {Axis} axis @param {string[]} [names] of those that are shown */
function axisNames({ kept, length }, names = kept.map(String)) {
  return length > kept.length ? [...names, `${grouped(length - kept.length)} more`] : names;
}

/** Values of an axis, and one place for all others. @template T @param {Axis} axis @param {T[]} values @param {T} others */
const withOthers = ({ kept, length }, values, others) => (length > kept.length ? [...values, others] : values);

/** A long vector as a row of its largest numbers. @param {string} name @param {string} row @param {Row} values @param {Axis} axis @param {string[]} [names] @returns {LabelledMatrix} */
function excerptRow(name, row, values, axis, names) {
  const texts = values.map((value) => (value === null ? "" : numberText(value)));
  return {
    name, values: [withOthers(axis, values, null)], rows: [row], columns: axisNames(axis, names), shown: [withOthers(axis, texts, DOTS)],
    size: `1 × ${grouped(axis.length)}`,
  };
}

/** Some rows and columns of a large matrix. @param {string} name @param {number[][]} values @param {Axis} down @param {Axis} across @param {string[]} [names] @returns {LabelledMatrix} */
function excerptMatrix(name, values, down, across, names) {
  const rows = values.map((row) => excerptRow(name, "", row, across));
  const columns = axisNames(across);
  return {
    name, rows: axisNames(down, names), columns, size: `${grouped(down.length)} × ${grouped(across.length)}`,
    values: withOthers(down, rows.map((row) => row.values[0]), columns.map(() => null)), shown: withOthers(down, rows.map((row) => row.shown[0]), columns.map(() => DOTS)),
  };
}

/** A row times a matrix, of both of which some is shown. @param {LabelledMatrix} given @param {LabelledMatrix} table @param {LabelledMatrix} result
 * @param {Factors & { bias?: number[] }} factors @returns {Pick<WordedStep, "matrices" | "signs" | "origins" | "start">} */
function excerptProduct(given, table, result, { kept, length, left, beyond, bias }) {
  const across = { ...vectorOf(given, 0), values: left };
  const origins = beyond.map((rest, column) => /** @type {[string, CellOrigin]} */ ([
    `0:${column}`, writtenDot(across, keptColumn(table, column, kept.length), quotedCell(result, 0, column), { also: bias?.[column], beyond: rest, length }),
  ]));
  return { matrices: [given, table, result], signs: ["×", "="], origins: new Map(origins), start: [0, 0] };
}

/** @param {LabelledMatrix} table @param {number} column @param {number} height without the others */
function keptColumn(table, column, height) {
  return vectorOf({ ...table, values: table.values.slice(0, height) }, column, true);
}

/** x W + b of one token. @param {string} symbol @param {[string, string]} names of x and W @param {LabelledMatrix} result @param {Axis} units
 * @param {Projection} projection @param {string} formula @param {string} sentence @returns {WordedStep} */
function projectionStep(symbol, names, result, units, projection, formula, sentence) {
  const given = excerptRow(names[0], result.rows[0], projection.left, projection);
  return { symbol, formula, sentence, ...excerptProduct(given, excerptMatrix(names[1], projection.right, projection, units), result, projection) };
}

const BEGINS = " The path begins here: how this model makes them is not shown, because it is not x W + b alone, as where a rotary embedding turns them by their positions, or because attnviz does not know where its matrices are.";

/** @param {Link} link @param {LinkShares | null} mixed @returns {WordedStep[]} */
function linkSteps(link, mixed) {
  const steps = [...(link.units ? unitSteps(link, link.units) : meetingSteps(link)), ...scoreSteps(link)];
  const [{ at, keys, visible, query, key }, start] = [link, /** @type {Place} */ ([0, link.at])];
  let before = steps[steps.length - 1].matrices[steps[steps.length - 1].matrices.length - 1];
  if (visible) {
    const seen = [withOthers(keys, keys.kept.map((place) => visible[place]), true)];
    const result = maskedMatrix(before, "M", seen);
    const origin = (/** @type {number} */ column) => ({
      cells: [placeIn(before, 0, column)], sum: [quotedCell(before, 0, column), termOf(seen[0][column] ? " stays" : ` → ${NOTHING}, so that its weight is exactly 0`)],
    });
    const origins = originOfEach(result, (_, column) => (column < keys.kept.length ? origin(column) : null));
    const sentence = `“${query}” must not see every token: what is hidden gets ${NOTHING} instead of a score.`;
    steps.push({ symbol: "mask", formula: `M = mask(${before.name})`, sentence, matrices: [before, result], signs: ["→"], origins, start });
    before = result;
  }
  const scores = link.scores.map((score) => score ?? -Infinity);
  const known = new Map(keys.kept.map((place, column) => /** @type {[number, [string, CellPlace]]} */ ([place, [before.shown[0][column], placeIn(before, 0, column)]])));
  const sentence = mixed ? `e to the power of each score, divided by the sum: shares that add up to 1. “${key}” gets ${decimals(mixed.row[at], 4)} of the attention of “${query}”.` : "";
  const softmax = softmaxStep(before, "α", `α = softmax(${before.name})`, sentence, mixed && [mixed.row], (result, _, column) =>
    (column < keys.kept.length ? softmaxOrigin({ name: before.name, values: scores, known }, visible, keys.kept[column], quotedCell(result, 0, column)) : null), start, at);
  if (!mixed) return [...steps, softmax];
  return [...steps, softmax, ...(mixed.merged ? [mergeStep(mixed.merged)] : []), ...contextSteps(link, mixed, softmax.matrices[1])];
}

/** Query and key of the two tokens alone. @param {Link} link @returns {WordedStep[]} */
function meetingSteps({ query, key, size, dims, meets, q, k }) {
  if (!meets) return [];
  const left = excerptRow("q", query, meets.left, dims);
  const right = excerptRow("k", key, meets.right.map(([value]) => value), dims);
  const sentence = `q is what “${query}” looks for, k what “${key}” can be found by: ${size} numbers each, which the model made of the two tokens. Their products add up to the score.${q ? "" : BEGINS}`;
  const meeting = meetingStep("q·k", left, right, "q·k", "q · k = Σ_d q_d k_d", sentence, [query, key], meets);
  if (!q || !k) return [meeting];
  return [
    projectionStep("q", ["x", "W_Q"], left, dims, q, "q = x W_Q + b", `x is “${query}” as this attention reads it: ${grouped(q.length)} numbers. W_Q was learned, and ${grouped(size)} of its columns are this head's. They ask: what am I looking for?`),
    projectionStep("k", ["x′", "W_K"], right, dims, k, "k = x′ W_K + b", `x′ is “${key}” as this attention reads it. Another matrix, W_K, says what it can be found by.`),
    meeting,
  ];
}

/** @param {string} symbol @param {LabelledMatrix} left @param {LabelledMatrix} right @param {string} name @param {string} formula @param {string} sentence
 * @param {[string, string]} tokens @param {Factors & { score: number }} factors @returns {WordedStep} */
function meetingStep(symbol, left, right, name, formula, sentence, [query, key], { length, score, beyond }) {
  const result = { name, values: [[score]], rows: [query], columns: [key], shown: [[numberText(score)]] };
  const origin = writtenDot(vectorOf(left, 0), vectorOf(right, 0), quotedCell(result, 0, 0), { beyond: beyond[0], length });
  return { symbol, formula, sentence, matrices: [left, right, result], signs: ["·", "="], origins: new Map([["0:0", origin]]), start: [0, 0] };
}

/** @type {Record<string, string>} */
const ROW_NAMES = { "q·K": "S", "÷√d": "S′", cap: "T", "+ bias": "B", sink: "Z", "all e": "E" };

/** One row after the other, from the scores to what goes into the softmax. @param {Link} link @returns {WordedStep[]} */
function scoreSteps({ kind, query, at, keys, names, size, rows, dots }) {
  /** @type {LabelledMatrix | null} */
  let previous = null;
  return rows.map((row) => {
    const { symbol, values } = row;
    const [before, result] = [previous, excerptRow(ROW_NAMES[symbol], query, values, keys, names)];
    previous = result;
    const [formula, sentence] = saidOfRow(row, before?.name ?? "", size);
    const origins = originOfEach(result, (_, column) => {
      const [factors, value] = [dots[column], values[column]];
      if (before) return before.values[0][column] === null || column >= values.length ? null : { cells: [placeIn(before, 0, column)], sum: rowTerms(row, column, quotedCell(before, 0, column), quotedCell(result, 0, column), size) };
      if (!factors || value === null) return null;
      const [left, right] = kind === "additive" ? ["v", "t"] : ["q", "k"];
      const plain = (/** @type {string} */ name, /** @type {number[]} */ own) => ({ name, values: own, known: new Map() });
      return writtenDot(plain(left, factors.left), plain(right, factors.right.map(([own]) => own)), quotedCell(result, 0, column), { beyond: factors.beyond[0], length: factors.length });
    });
    return { symbol, formula, sentence, matrices: before ? [before, result] : [result], signs: before ? ["→"] : [], origins, start: [0, at] };
  });
}

/** @param {ScoreRow} row @param {string} before @param {number} size @returns {[formula: string, sentence: string]} */
function saidOfRow({ symbol, own, cap = 0 }, before, size) {
  const root = `√${size} = ${numberText(Math.sqrt(size))} takes back that a sum of ${size} products grows with their number.`;
  switch (symbol) {
    case "q·K": return ["S = q Kᵀ", "The same for every key: each gets a score."];
    case "÷√d": return own ? [`S′ = ${significant(own, 4)} · S`, "This model has a scale of its own for its scores."] : [`S′ = S / √${size}`, root];
    case "cap": return [`T = c · tanh(${before} / c)`, `This model keeps scores within ±${significant(cap, 6)}: softcap · tanh(score / softcap).`];
    case "+ bias": return [`B = ${before} + bias`, "This model adds a number of its own to each score, such as one for the distance of the two tokens."];
    case "sink": return ["Z = [scores, sink]", "A learned score that takes attention but hands over no value."];
    default: return ["e_j = v · tanh(W s + b + U h_j)", "The same for every source token: W s once, U h for each. Every token of the source gets an energy."];
  }
}

/** @param {ScoreRow} row @param {number} column @param {Term} before @param {Term} after @param {number} size @returns {Term[]} */
function rowTerms({ symbol, values, own, cap = 0, bias }, column, before, after, size) {
  if (symbol === "÷√d" && own) return [before, termOf(` · ${significant(own, 4)} = `), after];
  if (symbol === "÷√d") return [before, termOf(` / √${size} = `), before, termOf(` / ${numberText(Math.sqrt(size))} = `), after];
  if (symbol === "cap") return [termOf(`${significant(cap, 6)} · tanh(`), before, termOf(` / ${significant(cap, 6)}) = `), after];
  if (symbol !== "+ bias") return [before, termOf(" stays")];
  const score = /** @type {number} */ (values[column]);
  const added = unitsOf100(score) - unitsOf100(score - (bias?.[column] ?? 0));
  return [before, termOf(` + ${spelled(added)} = `.replace(`+ ${MINUS}`, `${MINUS} `)), after];
}

/** The values, mixed in the shares of the row. @param {Link} link @param {LinkShares} mixed @param {LabelledMatrix} weights @returns {WordedStep[]} */
function contextSteps({ kind, query, key, at, names }, { context, v }, weights) {
  if (!context) return [];
  const { dims, values } = context;
  const [name, what] = kind === "additive" ? ["H", "annotations"] : ["V", "values"];
  const table = excerptMatrix(name, context.right, context, dims, names);
  const step = {
    symbol: `·${name}`, formula: `c = Σ_j α_j ${name.toLowerCase()}_j`,
    sentence: `The ${what}, mixed in these shares: what “${query}” takes home from those it looked at.`,
    ...excerptProduct({ ...weights, values: [weights.values[0].slice(0, context.kept.length)] }, table, excerptRow("c", query, values, dims), context),
  };
  step.matrices[0] = weights;
  if (!v) return [step];
  // The very cells of V in the context's step: a click on one of them there finds this one.
  const made = { ...excerptRow("V", key, v.values, dims), label: "v", first: /** @type {Place} */ ([at, 0]) };
  return [projectionStep("v", ["x′", "W_V"], made, dims, v, "v = x′ W_V + b", `A third matrix, W_V, makes what “${key}” hands over to those who look at it.`), step];
}

/** The weights between the pieces of two words, which become one. @param {{ rows: string[], columns: string[], values: number[][] }} merged @returns {WordedStep} */
function mergeStep({ rows, columns, values }) {
  const pieces = { name: "α", values, rows, columns, ...weightTexts(values), isWeights: true };
  const total = sumOf(values.flat());
  const whole = total / rows.length;
  const result = { name: "word", values: [[whole]], rows: [rows.join("")], columns: [columns.join("")], shown: [[numberText(whole)]], isWeights: true };
  const [counts, over] = [largestRemainder(values.flat()), rows.length > 1 ? ` / ${rows.length}` : ""];
  const text = over ? `(${summed(counts)})${over} = ${numberText(total)}${over} = ` : `${summed(counts)} = `;
  const cells = values.flatMap((row, at) => row.map((_, column) => placeIn(pieces, at, column)));
  return {
    symbol: "word", formula: "Σ over keys, mean over queries", sentence: "What a word receives is the sum over its pieces; what it gives is the mean over them.",
    matrices: [pieces, result], signs: ["→"], origins: new Map([["0:0", { cells, sum: [termOf(text), quotedCell(result, 0, 0)] }]]), start: [0, 0],
  };
}

/** From the decoder's state and an annotation to the energy. @param {Link} link @param {NonNullable<Link["units"]>} units @returns {WordedStep[]} */
function unitSteps({ query, key, size, dims, meets }, { state, annotation, sum }) {
  const energy = /** @type {NonNullable<typeof meets>} */ (meets);
  const [left, right] = [excerptRow("W s", query, state.values, dims), excerptRow("U h", key, annotation.values, dims)];
  // Three numbers that all stand on the page must add up as they read.
  const counts = state.values.map((value, column) => unitsOf100(value) + unitsOf100(annotation.values[column]));
  const added = { ...excerptRow("z", "", sum, dims), shown: [withOthers(dims, counts.map(spelled), DOTS)] };
  const limited = excerptRow("t", "", energy.right.map(([value]) => value), dims);
  const [learned, units] = [excerptRow("v", "", energy.left, dims), dims.kept.length];
  const sums = originOfEach(added, (_, column) => column >= units ? null : {
    cells: [placeIn(left, 0, column), placeIn(right, 0, column)],
    sum: [quotedCell(left, 0, column), [` + ${right.shown[0][column]}`.replace(`+ ${MINUS}`, `${MINUS} `), "U h"], termOf(" = "), quotedCell(added, 0, column)],
  });
  const limits = originOfEach(limited, (_, column) => column >= units ? null : {
    cells: [placeIn(added, 0, column)], sum: [termOf("tanh("), quotedCell(added, 0, column), termOf(") = "), quotedCell(limited, 0, column)],
  });
  return [
    projectionStep("W s", ["s", "Wᵀ"], left, dims, state, "W s + b", `s is what the decoder knows before it writes “${query}”. A learned matrix W, with the bias b, makes the query of it: what am I looking for?`),
    projectionStep("U h", ["h", "Uᵀ"], right, dims, annotation, "U h", `h is what the encoder knows at “${key}”. Another matrix, U, brings it to the same size: what is here?`),
    {
      symbol: "+", formula: "z = W s + b + U h", sentence: "The two are added, unit by unit: this is why it is called additive attention.",
      matrices: [left, right, added], signs: ["+", "="], origins: sums, start: [0, 0],
    },
    {
      symbol: "tanh", formula: "t = tanh(z)", sentence: `tanh limits every unit to between ${MINUS}1 and 1. Without it, W s would shift all scores of a row alike, and softmax would not notice.`,
      matrices: [added, limited], signs: ["→"], origins: limits, start: [0, 0],
    },
    meetingStep("v·", learned, limited, "e", "e = v · t", `One learned vector v weighs all ${size} units: how well do “${query}” and “${key}” fit?`, [query, key], energy),
  ];
}

// A worked example.

/** @type {Record<string, string>} */
const PROJECTIONS = {
  Q: "Every row of X is multiplied by the same W_Q: a token's query is what it looks for.",
  K: "Another matrix, another view of the same tokens: a token's key is what it can be found by.",
  V: "A third matrix makes the values: what a token hands over to those who look at it.",
};

/** @param {Worked} worked @param {WorkedShares | null} mixed @returns {WordedStep[]} */
function workedSteps(worked, mixed) {
  const { tokens, heads, head, divides, visible, x, focus, where = "here" } = worked;
  const [dim, which] = [x[0].length, heads > 1 ? `_${head}` : ""];
  const given = numbered("X", x, tokens, worked.columns.length === dim ? worked.columns : undefined);
  const numbers = dim === 1 ? "one number" : `${dim} numbers`;
  /** @type {WordedStep[]} */
  const steps = [{
    symbol: "X", formula: "X", sentence: `Each token is a row of ${numbers}. In a model they are learned; ${where} you can type them.`,
    matrices: [given], signs: [], origins: new Map(), start: [0, 0],
  }];
  /** @param {"Q" | "K" | "V"} name @param {number[][]} weights @param {number[][]} values */
  const projected = (name, weights, values) => {
    const table = { ...numbered(`W_${name}`, weights, given.columns), blocks: heads };
    const result = { ...numbered(name, values, tokens), blocks: heads };
    steps.push(matrixProduct(name, given, table, result, `${name} = X W_${name}`, PROJECTIONS[name]));
    return heads > 1 ? partOf(result, head, dim / heads, `${name}${which}`) : result;
  };
  const [query, keys, value] = [projected("Q", worked.wQ, worked.q), projected("K", worked.wK, worked.k), projected("V", worked.wV, worked.v)];
  const key = flipped(keys, `K${which}ᵀ`);
  let before = namedMatrix(`S${which}`, worked.scores, tokens, tokens);
  steps.push({
    ...matrixProduct("QKᵀ", query, key, before, `S${which} = ${query.label ?? "Q"} ${key.label}`, "Each query meets each key: multiply number by number and add up. The better they fit, the larger the score."),
    start: focus,
  });
  if (divides) {
    const scaled = scaledStep(before, namedMatrix(`S${which}′`, worked.scaled, tokens, tokens), dim / heads, which, focus);
    steps.push(scaled);
    before = scaled.matrices[1];
  }
  if (!visible.flat().every(Boolean)) {
    const masked = maskStep(before, visible, which);
    steps.push(masked);
    before = masked.matrices[1];
  }
  const sentence = mixed ? saturation(worked, mixed, before.name) : "";
  const last = before;
  const softmax = softmaxStep({ ...before, visible }, `A${which}`, `A${which} = softmax(${before.name})`, sentence, mixed && mixed.weights, (result, row, column) =>
    softmaxOrigin(vectorOf(last, row), visible[row], column, quotedCell(result, row, column)), focus);
  softmax.matrices[0] = before;
  return mixed ? [...steps, softmax, ...outputSteps(worked, mixed, softmax.matrices[1], value, which)] : [...steps, softmax];
}

/** @param {string} name @param {number[][]} values @param {string[]} rows @param {string[]} columns @returns {LabelledMatrix} */
const namedMatrix = (name, values, rows, columns) => ({ name, values, rows, columns, shown: values.map((row) => row.map(numberText)) });

/** A matrix whose columns are numbered, unless they have names. @param {string} name @param {number[][]} values @param {string[]} rows
 * @param {string[]} [columns] */
const numbered = (name, values, rows, columns = values[0].map((_, column) => String(column))) => namedMatrix(name, values, rows, columns);

/** The columns of one head. @param {LabelledMatrix} matrix @param {number} head @param {number} width @param {string} label @returns {LabelledMatrix} */
function partOf({ name, values, rows, columns, shown }, head, width, label) {
  const own = /** @template T @param {T[]} row */ (row) => row.slice(head * width, (head + 1) * width);
  return { name, values: values.map(own), rows, columns: own(columns), shown: shown.map(own), label, first: [0, head * width] };
}

/** Rows for columns. @param {LabelledMatrix} matrix @param {string} label @returns {LabelledMatrix} */
function flipped({ name, values, rows, columns, shown, first }, label) {
  const turned = /** @template T @param {T[][]} table */ (table) => table[0].map((_, column) => table.map((row) => row[column]));
  return { name, values: turned(values), rows: columns, columns: rows, shown: turned(shown), label, first, isFlipped: true };
}

/** @param {string} symbol @param {LabelledMatrix} left @param {LabelledMatrix} right @param {LabelledMatrix} result @param {string} formula
 * @param {string} sentence @returns {WordedStep} */
function matrixProduct(symbol, left, right, result, formula, sentence) {
  const origins = originOfEach(result, (row, column) => writtenDot(vectorOf(left, row), vectorOf(right, column, true), quotedCell(result, row, column)));
  return { symbol, formula, sentence, matrices: [left, right, result], signs: ["×", "="], origins, start: [0, 0] };
}

/** @param {LabelledMatrix} scores @param {LabelledMatrix} result @param {number} width @param {string} which @param {Place} start @returns {WordedStep} */
function scaledStep(scores, result, width, which, start) {
  const root = numberText(Math.sqrt(width));
  const origins = originOfEach(result, (row, column) => {
    const before = quotedCell(scores, row, column);
    return { cells: [placeIn(scores, row, column)], sum: [before, termOf(` / √${width} = `), before, termOf(` / ${root} = `), quotedCell(result, row, column)] };
  });
  const sentence = `A sum of ${width} products grows with their number; √${width} = ${root} takes that back, so that softmax stays soft.`;
  return { symbol: "÷√d", formula: `S${which}′ = S${which} / √d_k`, sentence, matrices: [scores, result], signs: ["→"], origins, start };
}

/** @param {LabelledMatrix} scores @param {boolean[][]} visible @param {string} which @returns {WordedStep} */
function maskStep(scores, visible, which) {
  const result = maskedMatrix(scores, `M${which}`, visible);
  const origins = originOfEach(result, (row, column) => {
    const [before, isSeen] = [quotedCell(scores, row, column), visible[row][column]];
    const sum = isSeen ? [termOf("may be seen: "), before, termOf(" stays")] : [termOf("hidden: "), before, termOf(` → ${NOTHING}, so that its weight will be exactly 0`)];
    return { cells: [placeIn(scores, row, column)], sum };
  });
  const row = visible.findIndex((seen) => seen.includes(false));
  const sentence = `What a query must not see gets ${NOTHING} instead of a score: no later step can bring it back.`;
  return { symbol: "mask", formula: `M${which} = mask(${scores.name})`, sentence, matrices: [scores, result], signs: ["→"], origins, start: [row, visible[row].indexOf(false)] };
}

/** What softmax does, and what the division before it changed, or would have. @param {Worked} worked @param {WorkedShares} mixed @param {string} name */
function saturation({ tokens, divides }, { divided, undivided }, name) {
  const sentence = `${name} are the scores of the step before: e to the power of each, divided by the sum of its row, gives its weight.`;
  const changes = undivided.map((weights, row) => weights.map((weight, column) => Math.abs(weight - divided[row][column])));
  const most = Math.max(...changes.flat());
  const row = changes.findIndex((each) => each.includes(most));
  const column = changes[row].indexOf(most);
  const [here, there] = [divided, undivided].map((each) => weightTexts([each[row]]).shown[0][column]);
  if (here === there) return sentence;
  const without = `${sentence} Without the division by √d_k, ${cutText(tokens[row])} → ${cutText(tokens[column])}`;
  return divides ? `${without} would be ${there} instead of ${here}.` : `${without} is ${there}; divided it would be ${here}.`;
}

/** Contexts, put together and multiplied once more. @param {Worked} worked @param {WorkedShares} mixed @param {LabelledMatrix} weights @param {LabelledMatrix} value
 * @param {string} which @returns {WordedStep[]} */
function outputSteps({ tokens, heads, head, x }, { contexts, concatenated, wO, output }, weights, value, which) {
  const width = x[0].length / heads;
  const context = namedMatrix(`C${which}`, contexts[head], tokens, value.columns);
  const steps = [matrixProduct("·V", weights, value, context, `C${which} = A${which} ${value.label ?? "V"}`, "The values, mixed in the shares of the row: what the token takes home from those it looked at.")];
  let before = context;
  if (heads > 1) {
    const sources = contexts.map((each, at) => namedMatrix(`C_${at}`, each, tokens, each[0].map((_, column) => String(at * width + column))));
    before = { ...numbered("C", concatenated, tokens), blocks: heads };
    const origins = originOfEach(before, (row, column) => {
      const [source, own] = [sources[Math.floor(column / width)], column % width];
      return { cells: [placeIn(source, row, own)], sum: [termOf(`column ${own} of head ${Math.floor(column / width)}: `), quotedCell(source, row, own)] };
    });
    steps.push({
      symbol: "concat", formula: `C = [${sources.map(({ name }) => name).join(", ")}]`, sentence: "The heads worked side by side, each with its own columns. Their contexts are put next to each other.",
      matrices: [...sources, before], signs: [...sources.slice(1).map(() => "|"), "="], origins, start: [0, 0],
    });
  }
  const result = numbered("Y", output, tokens);
  const sentence = "One last matrix lets the heads speak to each other: the output has the shape of X again, ready for the next layer.";
  steps.push(matrixProduct("W_O", { ...before, blocks: heads }, numbered("W_O", wO, wO.map((_, row) => String(row))), result, `Y = ${before.name} W_O`, sentence));
  return steps;
}
