// Mounts HTML that Python has made and escaped. A click on what has data-pick hands its value to Python; pointing at a
// cell of a matrix, or going there with the arrow keys, reads it.

export default function (component) {
  const { data, parentElement, setTriggerValue } = component;
  const place = parentElement.querySelector(".markup");
  // What did not change stays: a press that began on it ends on it, and what has the focus keeps it.
  if (place.shown !== data) show(place, data);
  place.onclick = (event) => {
    const picked = event.target.closest("[data-pick]");
    if (picked) setTriggerValue("picked", picked.dataset.pick);
  };
  if (!place.listens) listen(place);
}

function listen(place) {
  place.listens = true;
  const reach = (event) => read(place, event.target.closest(".cells rect") ?? cursor(event.target));
  for (const name of ["pointerover", "focusin"]) place.addEventListener(name, reach);
  place.onkeydown = (event) => {
    const step = STEPS[event.key];
    if (!step || !event.target.matches(".cells, .board button")) return;
    event.preventDefault();
    if (event.target.matches(".cells")) read(place, cursor(event.target, ...step));
    else neighbour(event.target, ...step).focus();
  };
}

const STEPS = { ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1] };

// The cell of a matrix that was read last, or one so many rows and columns from it; where none was, the first.
function cursor(matrix, down = 0, across = 0) {
  if (!matrix.matches(".cells")) return null;
  const cells = [...matrix.querySelectorAll("rect")], columns = Number(matrix.dataset.columns);
  const at = cells.findIndex((cell) => cell.classList.contains("read"));
  return at < 0 ? cells[0] : cells[moved(at, cells.length, columns, down, across)];
}

// The cell so many rows and columns from one of a board, or at its edge.
function neighbour(cell, down, across) {
  const cells = [...cell.parentElement.querySelectorAll("button")], columns = Number(cell.parentElement.dataset.columns);
  return cells[moved(cells.indexOf(cell), cells.length, columns, down, across)];
}

function moved(at, count, columns, down, across) {
  const within = (place, size) => Math.min(Math.max(place, 0), size - 1);
  return within(Math.floor(at / columns) + down, count / columns) * columns + within((at % columns) + across, columns);
}

// Marks a cell, with those of the other matrices that stand for the same two tokens, and says what stands in them.
function read(place, cell) {
  if (!cell) return;
  for (const each of place.querySelectorAll(".read")) each.classList.remove("read");
  const figures = [...place.querySelectorAll("figure")].map((figure) => {
    const own = figure.contains(cell) ? cell : cell.dataset.at && figure.querySelector(`[data-at="${cell.dataset.at}"]`);
    if (!own) return "";
    own.classList.add("read");
    return ` · ${figure.dataset.name} ${own.textContent.split(": ").at(-1)}`;
  });
  place.querySelector(".reading").textContent = cell.textContent.slice(0, cell.textContent.lastIndexOf(": ")) + figures.join("");
}

function show(place, data) {
  const active = place.getRootNode().activeElement;
  const focused = place.contains(active) ? active.closest("[data-pick]")?.dataset.pick : undefined;
  place.shown = data;
  place.innerHTML = data;
  if (focused !== undefined) place.querySelector(`[data-pick="${CSS.escape(focused)}"]`)?.focus({ preventScroll: true });
  const first = place.querySelector("[data-first]");
  // Of a long passage the part with the answer, not its beginning.
  if (first) first.offsetParent.scrollTop = Math.max(0, first.offsetTop - first.offsetParent.clientHeight / 2);
}
