// The walk through the steps: where it stands, where it may go, and what a class does not know yet. A host gives it `tell` and
// `show`, which reach Python, and `draw`.

// What is looked at is what Python says, which the address has too; a person's own last move may be newer. A guess is the person's.
export function follow(data, before) {
  const walk = before ?? { seq: 0 };
  if (before?.data.key !== data.key) Object.assign(walk, { guess: null, guessed: null });
  const isNewer = before && walk.seq > data.seq && walk.step in data.steps;
  Object.assign(walk, { data }, isNewer ? {} : { seq: data.seq, step: data.at[0], cell: data.at.slice(1), asked: data.asked });
  if (isNewer && isLocked(walk, walk.step)) walk.step = data.hidden;
  if (!holds(result(walk), walk.cell)) walk.cell = [...data.steps[walk.step].start];
  if (!knows(walk, walk.asked)) walk.asked = null;
  return walk;
}

export const result = (walk) => walk.data.steps[walk.step].matrices.at(-1);
const holds = (matrix, [row, column]) => row in matrix.rows && column in matrix.columns;
const knows = (walk, id) => walk.data.steps[walk.step].matrices.some((matrix) => matrix.cells.flat().some((cell) => cell.id === id));
const same = (a, b) => a.rows.join("\n") === b.rows.join("\n") && a.columns.join("\n") === b.columns.join("\n");

export const asks = (walk) => walk.step === walk.data.hidden;
// What comes after the weights would tell them.
export const isLocked = (walk, step) => walk.data.hidden !== null && step > walk.data.hidden;

export function go(walk, step) {
  if (!(step in walk.data.steps) || step === walk.step || isLocked(walk, step)) return;
  const before = result(walk);
  walk.step = step;
  Object.assign(walk, { guess: null, guessed: null, asked: null });
  // A cell that was looked at stays, as long as the same rows and columns stand there.
  if (!(walk.moved && same(before, result(walk)))) {
    walk.cell = [...walk.data.steps[step].start];
    walk.moved = false;
  }
  walk.draw();
  walk.tell();
}

export function look(walk, cell) {
  if (!holds(result(walk), cell)) return;
  Object.assign(walk, { cell, moved: true, asked: null });
  walk.draw();
  walk.tell();
}

// The colour of a matrix: the operands in turn, and the result's own.
export function tone(walk, step, index) {
  const { tones } = walk.data;
  return index === step.matrices.length - 1 ? tones.at(-1) : tones[index % (tones.length - 1)];
}
