// The walk through the steps: where it stands, where it may go, and what a class does not know yet. A host gives it `tell` and
// `show`, which reach Python, and `draw`.

/**
 * @typedef {{ id: string, text: string, exact?: string, masked?: boolean, value?: number, shade?: string, ink?: string }} Cell
 * @typedef {{ name: string, label: string, shape: string, rows: string[], columns: string[], totals: string[], blocks: number,
 *   weights: boolean, cells: Cell[][] }} Matrix
 * @typedef {{ symbol: string, title: string, formula: string, sentence: string, signs: string[], start: [number, number],
 *   matrices: Matrix[] }} Step
 * @typedef {{ step: number, from: string[], sum: [string, string | null][] }} Origin
 * @typedef {{ steps: Step[], origins: Record<string, Origin>, predict: "off" | "most" | "weight", key: string, seq: number,
 *   hidden: number | null, at: [number, number, number], expanded: string | null, colours: Record<string, string>,
 *   tones: string[], masked: string }} Computation  what steps.py sends
 * @typedef {[number, number]} Place  a row and a column of a step's result
 * @typedef {{ seq: number, data: Computation, step: number, cell: Place, expanded: string | null, guess: number | string | null,
 *   guessed: Place | null, moved?: boolean, waits?: boolean, timer?: number, tell(): void, show(key: string): void,
 *   draw(): void }} Walk
 */

// What is looked at is what Python says, which the address has too; a person's own last move may be newer. A guess is the person's.
/** @param {Computation} data @param {Walk} [before] @returns {Walk} */
export function follow(data, before) {
  const walk = before ?? /** @type {Walk} */ ({ seq: 0 });
  if (before?.data.key !== data.key) Object.assign(walk, { guess: null, guessed: null });
  const isNewer = before && walk.seq > data.seq && walk.step in data.steps;
  Object.assign(walk, { data }, isNewer ? {} : { seq: data.seq, step: data.at[0], cell: [data.at[1], data.at[2]], expanded: data.expanded });
  if (isNewer && data.hidden !== null && isLocked(walk, walk.step)) walk.step = data.hidden;
  if (!holds(result(walk), walk.cell)) walk.cell = [...data.steps[walk.step].start];
  if (!knows(walk, walk.expanded)) walk.expanded = null;
  return walk;
}

/** @param {Step} step */
export const resultOf = (step) => /** @type {Matrix} */ (step.matrices.at(-1));
/** @param {Walk} walk */
export const result = (walk) => resultOf(walk.data.steps[walk.step]);
/** @param {Matrix} matrix @param {Place} place */
const holds = (matrix, [row, column]) => row in matrix.rows && column in matrix.columns;
/** @param {Walk} walk @param {string | null} id */
const knows = (walk, id) => walk.data.steps[walk.step].matrices.some((matrix) => matrix.cells.flat().some((cell) => cell.id === id));
/** @param {Matrix} a @param {Matrix} b */
const same = (a, b) => a.rows.join("\n") === b.rows.join("\n") && a.columns.join("\n") === b.columns.join("\n");

/** @param {Walk} walk */
export const asks = (walk) => walk.step === walk.data.hidden;
/** What comes after the weights would tell them. @param {Walk} walk @param {number} step */
export const isLocked = (walk, step) => walk.data.hidden !== null && step > walk.data.hidden;

/** @param {Walk} walk @param {number} step */
export function go(walk, step) {
  if (!(step in walk.data.steps) || step === walk.step || isLocked(walk, step)) return;
  const before = result(walk);
  walk.step = step;
  Object.assign(walk, { guess: null, guessed: null, expanded: null });
  // A cell that was looked at stays, as long as the same rows and columns stand there.
  if (!(walk.moved && same(before, result(walk)))) {
    walk.cell = [...walk.data.steps[step].start];
    walk.moved = false;
  }
  walk.draw();
  walk.tell();
}

/** @param {Walk} walk @param {Place} cell */
export function look(walk, cell) {
  if (!holds(result(walk), cell)) return;
  Object.assign(walk, { cell, moved: true, expanded: null });
  walk.draw();
  walk.tell();
}

// The colour of a matrix: the operands in turn, and the result's own.
/** @param {Walk} walk @param {Step} step @param {number} index */
export function tone(walk, step, index) {
  const { tones } = walk.data;
  return tones[index === step.matrices.length - 1 ? tones.length - 1 : index % (tones.length - 1)];
}
