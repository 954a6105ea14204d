// Mounts HTML that Python has made and escaped. A click on what has data-pick hands its value to Python; pointing at a
// cell of a matrix, or going there with the arrow keys, reads it.

/** @typedef {HTMLElement & { shown?: string, listens?: boolean }} Place */

/** @param {StreamlitComponent<[string]>} component */
export default function (component) {
  const { data: [body], parentElement, setTriggerValue } = component;
  const place = /** @type {Place} */ (parentElement.querySelector(".markup"));
  // What did not change stays: a press that began on it ends on it, and what has the focus keeps it.
  if (place.shown !== body) show(place, body);
  place.onclick = (event) => {
    const picked = closest(event, "[data-pick]");
    if (picked) setTriggerValue("picked", picked.dataset.pick);
  };
  if (!place.listens) listen(place);
}

/** @param {Place} place */
function listen(place) {
  place.listens = true;
  /** @param {Event} event */
  const reach = (event) => read(place, closest(event, ".cells rect") ?? cursor(/** @type {HTMLElement} */ (event.target)));
  for (const name of ["pointerover", "focusin"]) place.addEventListener(name, reach);
  // Where a cell is chosen, that is read again as soon as no other is.
  for (const name of ["pointerleave", "focusout"]) place.addEventListener(name, () => read(place, place.querySelector(".cells .selected")));
  place.onkeydown = (event) => {
    const [step, target] = [STEPS[event.key], /** @type {HTMLElement} */ (event.target)];
    const isMatrix = target.matches(".cells"), isPick = isMatrix && (event.key === "Enter" || event.key === " ");
    if (!isPick && (!step || !target.matches(".cells, .board button"))) return;
    event.preventDefault();
    if (isPick) cursor(target)?.dispatchEvent(new MouseEvent("click", { bubbles: true }));
    else if (isMatrix) read(place, cursor(target, ...step));
    else neighbour(target, ...step).focus();
  };
}

/** @type {Record<string, [number, number]>} */
const STEPS = { ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1] };

/** @param {Event} event @param {string} selector @returns {HTMLElement | null} */
const closest = (event, selector) => /** @type {Element} */ (event.target).closest(selector);
/** @param {Element} root @param {string} selector @returns {HTMLElement[]} */
const all = (root, selector) => [...root.querySelectorAll(selector)].map((each) => /** @type {HTMLElement} */ (each));

// The cell of a matrix that was read last, or one so many rows and columns from it; where none was, the first.
/** @param {HTMLElement} matrix @returns {HTMLElement | null} */
function cursor(matrix, down = 0, across = 0) {
  if (!matrix.matches(".cells")) return null;
  const cells = all(matrix, "rect"), columns = Number(matrix.dataset.columns);
  const at = cells.findIndex((cell) => cell.classList.contains("read"));
  return at < 0 ? cells[0] : cells[moved(at, cells.length, columns, down, across)];
}

// The cell so many rows and columns from one of a board, or at its edge.
/** @param {HTMLElement} cell @param {number} down @param {number} across */
function neighbour(cell, down, across) {
  const board = /** @type {HTMLElement} */ (cell.parentElement);
  const cells = all(board, "button"), columns = Number(board.dataset.columns);
  return cells[moved(cells.indexOf(cell), cells.length, columns, down, across)];
}

/** @param {number} at @param {number} count @param {number} columns @param {number} down @param {number} across */
function moved(at, count, columns, down, across) {
  /** @param {number} place @param {number} size */
  const within = (place, size) => Math.min(Math.max(place, 0), size - 1);
  return within(Math.floor(at / columns) + down, count / columns) * columns + within((at % columns) + across, columns);
}

// Marks a cell, with those of the other matrices that stand for the same two tokens, and says what stands in them.
/** @param {Place} place @param {HTMLElement | null} cell */
function read(place, cell) {
  if (!cell) return;
  for (const each of place.querySelectorAll(".read")) each.classList.remove("read");
  const figures = all(place, "figure").map((figure) => {
    const own = figure.contains(cell) ? cell : cell.dataset.at && figure.querySelector(`[data-at="${cell.dataset.at}"]`);
    if (!own) return "";
    own.classList.add("read");
    return ` · ${figure.dataset.name} ${own.textContent.split(": ").at(-1)}`;
  });
  const reading = /** @type {Element} */ (place.querySelector(".reading"));
  reading.textContent = cell.textContent.slice(0, cell.textContent.lastIndexOf(": ")) + figures.join("");
}

/** @param {Place} place @param {string} body */
function show(place, body) {
  const { activeElement } = /** @type {ShadowRoot} */ (place.getRootNode());
  const picked = /** @type {HTMLElement | null} */ (place.contains(activeElement) ? activeElement?.closest("[data-pick]") : null);
  const focused = picked?.dataset.pick, isInMatrix = place.contains(activeElement) && activeElement?.matches(".cells");
  place.shown = body;
  place.innerHTML = body;
  if (focused !== undefined) all(place, `[data-pick="${CSS.escape(focused)}"]`)[0]?.focus({ preventScroll: true });
  if (isInMatrix) all(place, ".cells")[0]?.focus({ preventScroll: true });
  const [first] = all(place, "[data-first]");
  // Of a long passage the part with the answer, not its beginning.
  if (first?.offsetParent) first.offsetParent.scrollTop = Math.max(0, first.offsetTop - first.offsetParent.clientHeight / 2);
}
