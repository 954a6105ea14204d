// Walks through the steps that computation.py describes. A cell that is chosen lights up those it came from, with its sum written
// out. Everything is set as text, never as HTML. The step and the cell that are looked at are told to Python, for the address.

const QUIET = 500;
const NARROW = 640;
const HINT = "← → steps · ↑ ↓ and Shift ← → cells · Enter reveals · F full screen";

export default function (component) {
  const { data, parentElement, setTriggerValue } = component;
  const root = parentElement.querySelector(".compute");
  for (const [name, colour] of Object.entries(data.colours)) root.style.setProperty(`--${name}`, colour);
  root.style.setProperty("--masked", data.masked);
  const walk = follow(data, root.walk);
  root.walk = walk;
  // What Python says meanwhile is older already.
  walk.tell = () => {
    clearTimeout(walk.timer);
    walk.seq += 1;
    walk.timer = setTimeout(() => setTriggerValue("moved", { seq: walk.seq, at: [walk.step, ...walk.cell], asked: walk.asked }), QUIET);
  };
  // What is hidden is not here yet: Python has it.
  walk.show = (key) => setTriggerValue("revealed", key);
  draw(root, walk);
  if (walk.waits && data.hidden === null) {
    walk.waits = false;
    root.focus({ preventScroll: true });
  }
  root.onkeydown = (event) => press(root, walk, event);
  // Streamlit may mount it again before it cleans up after the last time: a key must not move two steps.
  root.leave?.();
  // Before anything is clicked, the arrow keys belong to the picture.
  const anywhere = (event) => event.target === document.body && press(root, walk, event);
  document.addEventListener("keydown", anywhere);
  const resized = new ResizeObserver(() => fit(root, walk));
  resized.observe(root);
  root.leave = () => {
    resized.disconnect();
    document.removeEventListener("keydown", anywhere);
  };
  return root.leave;
}

// What is looked at is what Python says, which the address has too; a person's own last move may be newer. A guess is the person's.
function follow(data, before) {
  const walk = before ?? { seq: 0 };
  if (before?.data.key !== data.key) Object.assign(walk, { guess: null, guessed: null });
  const isNewer = before && walk.seq > data.seq && walk.step in data.steps;
  Object.assign(walk, { data }, isNewer ? {} : { seq: data.seq, step: data.at[0], cell: data.at.slice(1), asked: data.asked });
  if (isNewer && isLocked(walk, walk.step)) walk.step = data.hidden;
  if (!holds(result(walk), walk.cell)) walk.cell = [...data.steps[walk.step].start];
  if (!knows(walk, walk.asked)) walk.asked = null;
  return walk;
}

const result = (walk) => walk.data.steps[walk.step].matrices.at(-1);
const holds = (matrix, [row, column]) => row in matrix.rows && column in matrix.columns;
const knows = (walk, id) => walk.data.steps[walk.step].matrices.some((matrix) => matrix.cells.flat().some((cell) => cell.id === id));
const same = (a, b) => a.rows.join("\n") === b.rows.join("\n") && a.columns.join("\n") === b.columns.join("\n");

function make(tag, options = {}, ...children) {
  const { tone, ...rest } = options;
  const element = Object.assign(document.createElement(tag), rest);
  if (tone) element.style.setProperty("--tone", tone);
  element.append(...children);
  return element;
}

// "W_Q" and "e^{0.5}" with their subscripts and superscripts.
function typeset(text, marks = /([_^])(?:\{([^}]*)\}|(\S))/g) {
  const pieces = [];
  let end = 0;
  for (const found of text.matchAll(marks)) {
    pieces.push(text.slice(end, found.index), make(found[1] === "_" ? "sub" : "sup", {}, found[2] ?? found[3]));
    end = found.index + found[0].length;
  }
  return [...pieces, text.slice(end)];
}

// A sentence may hold tokens as they were typed: of it, only the names of matrices and sizes are set as such.
const MATRICES = /(?<=\bW|√d)(_)(?:\{([^}]*)\}|([A-Zk]))/g;

function go(root, walk, step) {
  if (!(step in walk.data.steps) || step === walk.step || isLocked(walk, step)) return;
  const before = result(walk);
  walk.step = step;
  Object.assign(walk, { guess: null, guessed: null, asked: null });
  // A cell that was looked at stays, as long as the same rows and columns stand there.
  if (!(walk.moved && same(before, result(walk)))) {
    walk.cell = [...walk.data.steps[step].start];
    walk.moved = false;
  }
  draw(root, walk);
  walk.tell();
}

function look(root, walk, cell) {
  if (!holds(result(walk), cell)) return;
  Object.assign(walk, { cell, moved: true, asked: null });
  draw(root, walk);
  walk.tell();
}

function press(root, walk, event) {
  const inField = event.composedPath()[0]?.tagName === "INPUT";
  if (event.ctrlKey || event.metaKey || event.altKey || (inField && event.key !== "Enter")) return;
  const [row, column] = walk.cell;
  const sideways = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
  const down = { ArrowUp: -1, ArrowDown: 1 }[event.key];
  if (sideways) event.shiftKey ? look(root, walk, [row, column + sideways]) : go(root, walk, walk.step + sideways);
  else if (down) look(root, walk, [row + down, column]);
  else if (event.key === "Enter" && asks(walk) && event.composedPath()[0]?.tagName !== "BUTTON") reveal(root, walk);
  else if (event.key === "f" || event.key === "F") fullScreen(root);
  else return;
  event.preventDefault();
}

function fullScreen(root) {
  const turned = document.fullscreenElement ? document.exitFullscreen() : root.requestFullscreen?.();
  turned?.catch(() => (root.querySelector(".hint").textContent = "This browser does not fill the screen from here."));
}

const asks = (walk) => walk.step === walk.data.hidden;
// What comes after the weights would tell them.
const isLocked = (walk, step) => walk.data.hidden !== null && step > walk.data.hidden;

function reveal(root, walk) {
  // A guess that is no share is asked for again, in the browser's own words.
  if (root.querySelector(".answers input")?.reportValidity() === false) return;
  Object.assign(walk, { guessed: [...walk.cell], waits: true });
  walk.show(walk.data.key);
}

function draw(root, walk) {
  const step = walk.data.steps[walk.step];
  const focused = root.getRootNode().activeElement?.dataset?.keep;
  root.dataset.step = walk.step;
  root.tabIndex = 0;
  root.setAttribute("role", "group");
  root.setAttribute("aria-label", `Step ${walk.step + 1} of ${walk.data.steps.length}: ${step.title}. Arrow keys move.`);
  root.replaceChildren(
    wayThrough(root, walk),
    make("div", { className: "title" }, make("b", {}, step.title), make("span", { className: "formula" }, ...typeset(step.formula))),
    // The sentence may have the number in it that somebody is to guess.
    make("p", { className: "told" }, ...(asks(walk) ? [`Guess first: the scores are ${isStack(step) ? "above" : "on the left"}.`] : typeset(step.sentence, MATRICES))),
    equation(root, walk, step),
    ...(asks(walk) ? [question(root, walk, step)] : [...verdict(walk, step), written(root, walk, step), ...again(walk)]),
    make("p", { className: "hint" }, HINT),
  );
  fit(root, walk);
  if (focused) root.querySelector(`[data-keep="${focused}"]:not(:disabled)`)?.focus({ preventScroll: true });
}

// The largest digits with which a step stands in one line; on a phone its matrices stand one below the other.
function fit(root, walk) {
  const sizes = ["large", "medium", "small"].slice(isMixed(walk.data.steps[walk.step]) ? 1 : 0);
  const matrices = [...root.querySelectorAll(".matrix")];
  const [first, last] = [matrices[0], matrices.at(-1)];
  const isWhole = () => matrices.every((each) => each.scrollWidth <= each.clientWidth + 1);
  const isLine = () => first === last || root.querySelector(".stack") || last.offsetLeft >= first.offsetLeft + first.offsetWidth;
  const largest = (fits) => sizes.find((size) => ((root.className = `compute ${size}`), fits()));
  const isNarrow = root.clientWidth < NARROW;
  root.className = `compute ${largest(() => isWhole() && (isNarrow || isLine())) ?? largest(isWhole) ?? "small"}`;
}

function wayThrough(root, walk) {
  const way = make("div", { className: "way" });
  walk.data.steps.forEach((step, index) => {
    const kind = index === walk.step ? "now" : index < walk.step ? "passed" : "";
    const disabled = isLocked(walk, index);
    const title = disabled ? `${step.title}: reveal the weights first` : step.title;
    const button = make("button", { className: kind, title, disabled, onclick: () => go(root, walk, index) }, ...typeset(step.symbol));
    if (index === walk.step) button.setAttribute("aria-current", "step");
    button.dataset.keep = `step${index}`;
    way.append(button);
  });
  const move = (name, by, label) => {
    const disabled = !(walk.step + by in walk.data.steps) || isLocked(walk, walk.step + by);
    const button = make("button", { className: "move", disabled, onclick: () => go(root, walk, walk.step + by) }, name);
    button.setAttribute("aria-label", label);
    button.dataset.keep = label;
    return button;
  };
  way.append(make("span", { className: "moves" }, move("← Back", -1, "Back"), move("Next →", 1, "Next")));
  return way;
}

function tone(walk, step, index) {
  const { tones } = walk.data;
  return index === step.matrices.length - 1 ? tones.at(-1) : tones[index % (tones.length - 1)];
}

// Rows one under the other: their columns meet, and there is room for large digits.
const isStack = (step) => step.matrices.length > 1 && step.matrices.every((matrix) => matrix.rows.length === 1) && step.matrices[0].columns.length > 3;

// One row times a matrix: the row stands upright beside the rows that it weighs, and what they add up to below them.
const isMixed = (step) => step.matrices.length === 3 && step.signs[0] === "×" && step.matrices[0].rows.length === 1 && step.matrices[1].rows.length > 1;

function mixed(root, walk, step, lit) {
  const [given, matrix, sum] = step.matrices;
  const paint = (row, tone) => (row.style.setProperty("--tone", tone), row);
  const name = (each, index, options = {}) =>
    make("th", { className: "name", tone: tone(walk, step, index), ...options }, make("i", {}, ...typeset(each.label)), make("span", {}, each.shape));
  const cell = (each, index, row, column) => paint(square(root, walk, each, [row, column], each.cells[row][column], index === 2, lit), tone(walk, step, index));
  const column = (text) => make("th", { className: /^\d/.test(text) ? "column" : "column word", title: text, dir: "auto" }, text);
  const rows = matrix.rows.map((text, row) => {
    const line = make("tr", {}, make("th", { className: "row", title: text, dir: "auto" }, text), cell(given, 0, 0, row));
    if (!row) line.append(make("th", { className: "sign", rowSpan: matrix.rows.length }, step.signs[0]));
    line.append(...matrix.columns.map((_, at) => cell(matrix, 1, row, at)));
    return line;
  });
  return make("table", { className: "mixed" },
    make("tr", {}, make("th"), name(given, 0), make("th"), name(matrix, 1, { colSpan: matrix.columns.length })),
    make("tr", {}, make("th"), column(given.rows[0]), make("th"), ...matrix.columns.map(column)),
    ...rows,
    make("tr", { className: "gap" }),
    make("tr", {}, make("th"), name(sum, 2), make("th", { className: "sign" }, step.signs[1]), ...sum.columns.map((_, at) => cell(sum, 2, 0, at))),
  );
}

function equation(root, walk, step) {
  const place = make("div", { className: isStack(step) ? "equation stack" : "equation" });
  const chosen = result(walk).cells[walk.cell[0]]?.[walk.cell[1]]?.id;
  const lit = new Set(asks(walk) ? [] : walk.data.origins[chosen]?.from);
  if (isMixed(step)) {
    place.append(make("div", { className: "matrix" }, mixed(root, walk, step, lit)));
    return place;
  }
  step.matrices.forEach((matrix, index) => {
    if (index || isStack(step)) place.append(make("div", { className: "sign" }, index ? isStack(step) ? step.signs[index - 1].replace("→", "↓") : step.signs[index - 1] : ""));
    place.append(table(root, walk, matrix, index === step.matrices.length - 1, tone(walk, step, index), lit));
  });
  return place;
}

function table(root, walk, matrix, isResult, colour, lit) {
  const words = matrix.columns.map((name) => !/^\d/.test(name));
  const head = make("tr", {}, make("th"));
  matrix.columns.forEach((name, column) => head.append(make("th", { className: words[column] ? "column word" : "column", title: name, dir: "auto" }, name)));
  const body = matrix.rows.map((name, row) => {
    const line = make("tr", {}, make("th", { className: "row", title: name, dir: "auto" }, name));
    matrix.cells[row].forEach((cell, column) => line.append(square(root, walk, matrix, [row, column], cell, isResult, lit)));
    if (matrix.totals.length) line.append(make("td", { className: "total" }, `= ${matrix.totals[row]}`));
    return line;
  });
  const name = make("div", { className: "name" }, make("i", {}, ...typeset(matrix.label)), make("span", {}, matrix.shape));
  return make("div", { className: "matrix", tone: colour }, name, make("table", {}, head, ...body));
}

function square(root, walk, matrix, [row, column], cell, isResult, lit) {
  const classes = [];
  const isHere = walk.cell[0] === row && (walk.cell[1] === column || (asks(walk) && walk.data.predict === "most"));
  const perBlock = matrix.columns.length / matrix.blocks;
  if (matrix.blocks > 1 && column && column % perBlock === 0) classes.push("block");
  if (cell.masked) classes.push("masked");
  if (isResult && asks(walk)) classes.push("hidden");
  if (lit.has(cell.id)) classes.push("from");
  if (isResult ? isHere && !walk.asked : walk.asked === cell.id) classes.push("chosen");
  const square = make("td", { className: classes.join(" "), title: cell.exact ?? "" }, cell.text);
  square.dataset.id = cell.id;
  if (cell.shade) Object.assign(square.style, { background: lit.has(cell.id) ? "" : cell.shade, color: cell.ink });
  square.onclick = () => {
    if (isResult) return look(root, walk, [row, column]);
    walk.asked = cell.id;
    draw(root, walk);
    walk.tell();
  };
  return square;
}

function written(root, walk, step) {
  const matrix = result(walk);
  const [row, column] = walk.cell;
  const id = walk.asked ?? matrix.cells[row][column].id;
  const cell = step.matrices.flatMap((each) => each.cells.flat()).find((each) => each.id === id);
  const origin = walk.data.origins[id];
  const line = make("div", { className: "sum" });
  line.setAttribute("aria-live", "polite");
  const name = walk.asked ? "" : [matrix.rows[row], matrix.columns[column]].filter(Boolean).join(" · ");
  if (name) line.append(make("span", { className: "place" }, name));
  if (!origin) line.append(cell?.text === "…" ? "The others, which are not shown one by one." : `${cell?.text ?? ""}  is given.`);
  const inStep = new Map(step.matrices.map((each, index) => [each.name, index]));
  for (const [text, of] of origin?.sum ?? []) {
    if (!of) line.append(...typeset(text));
    else {
      const own = of === id.split(":").slice(0, -2).join(":");
      const colour = inStep.has(of) ? tone(walk, step, inStep.get(of)) : "transparent";
      line.append(make("span", { className: own ? "number result" : "number", tone: colour }, ...typeset(text)));
    }
  }
  if (cell?.exact) line.append(make("span", { className: "exact" }, `exactly ${cell.exact}`));
  if (walk.asked && origin) line.append(make("button", { className: "goto", onclick: () => go(root, walk, origin.step) }, `Step ${origin.step + 1}`));
  return line;
}

function question(root, walk, step) {
  const matrix = result(walk);
  const [row, column] = walk.cell;
  const place = make("div", { className: "question" });
  const answers = make("div", { className: "answers" });
  const show = make("button", { className: "reveal", onclick: () => reveal(root, walk) }, "Reveal");
  if (walk.data.predict === "most") {
    place.append(`Which token gets most of the attention of “${matrix.rows[row]}”?`);
    matrix.columns.forEach((name, index) => {
      if (!isChoice(step, row, index)) return;
      const guessed = walk.guess === index;
      const choose = () => {
        walk.guess = index;
        draw(root, walk);
      };
      const button = make("button", { className: guessed ? "guessed" : "", onclick: choose }, name);
      button.dataset.keep = `guess${index}`;
      answers.append(button);
    });
  } else {
    place.append(`How much of the attention of “${matrix.rows[row]}” goes to “${matrix.columns[column]}”?`);
    const field = make("input", { type: "number", min: 0, max: 1, step: "any", placeholder: "0 to 1", value: walk.guess ?? "" });
    field.setAttribute("aria-label", "Your guess, from 0 to 1");
    field.oninput = () => (walk.guess = field.value);
    answers.append(field);
  }
  answers.append(show);
  place.append(answers);
  return place;
}

// A key by itself that can be seen: not those that stand for "8 more".
const isChoice = (step, row, column) => !step.matrices.at(-1).cells[row][column].masked && step.matrices[0].cells[row][column].text !== "…";

// After a guess: was it right, and why.
function verdict(walk, step) {
  if (!walk.guessed || !result(walk).weights || walk.guess === null || walk.guess === "") return [];
  const matrix = result(walk);
  const [row, column] = walk.guessed;
  if (walk.data.predict === "weight") {
    const truth = Number(matrix.cells[row][column].text);
    const off = Math.abs(truth - Number(walk.guess));
    const told = off < 0.005 ? "Exactly right." : `You said ${Number(walk.guess).toFixed(2)}: ${off.toFixed(2)} ${truth > walk.guess ? "too little" : "too much"}.`;
    return [make("div", { className: "question" }, `${told} “${matrix.columns[column]}” gets ${matrix.cells[row][column].text}.`)];
  }
  const exact = matrix.cells[row].map((cell, index) => (isChoice(step, row, index) ? cell.value : -1));
  const best = exact.indexOf(Math.max(...exact));
  const score = step.matrices[0].cells[row][best].text;
  const told = walk.guess === best ? "Right:" : `You said “${matrix.columns[walk.guess]}”, but`;
  return [make("div", { className: "question" }, `${told} “${matrix.columns[best]}” gets most, ${matrix.cells[row][best].text}: its score ${score} is the largest of the row.`)];
}

// For another row, or another class.
function again(walk) {
  const isAsking = walk.data.steps.findIndex((step) => step.matrices.at(-1)?.weights) === walk.step;
  if (walk.data.predict === "off" || !isAsking) return [];
  const hide = () => {
    Object.assign(walk, { guess: null, guessed: null });
    walk.show("");
  };
  const button = make("button", { className: "again", onclick: hide }, "Hide the weights again");
  button.dataset.keep = "again";
  return [button];
}
