// Mounts HTML that Python has made and escaped. A click on what has data-pick hands its value to Python; arrow keys go over a board.

/** @typedef {HTMLElement & { shown?: string }} Place */

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
  place.onkeydown = (event) => {
    const [step, button] = [STEPS[event.key], closest(event, ".board button")];
    if (!step || !button || event.altKey || event.ctrlKey || event.metaKey) return;
    event.preventDefault();
    neighbour(button, ...step).focus();
  };
}

/** @type {Record<string, [down: number, across: number]>} */
const STEPS = { ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1] };

/** @param {Event} event @param {string} selector @returns {HTMLElement | null} */
const closest = (event, selector) => /** @type {Element} */ (event.target).closest(selector);
/** @param {Element} root @param {string} selector @returns {HTMLElement[]} */
const all = (root, selector) => [...root.querySelectorAll(selector)].map((each) => /** @type {HTMLElement} */ (each));

/** The cell so many rows and columns from one of a board, or at its edge. @param {HTMLElement} cell @param {number} down @param {number} across */
function neighbour(cell, down, across) {
  const board = /** @type {HTMLElement} */ (cell.parentElement);
  const cells = all(board, "button"), columns = Number(board.dataset.columns), at = cells.indexOf(cell);
  /** @param {number} place @param {number} size */
  const within = (place, size) => Math.min(Math.max(place, 0), size - 1);
  return cells[within(Math.floor(at / columns) + down, cells.length / columns) * columns + within((at % columns) + across, columns)];
}

/** @param {Place} place @param {string} body */
function show(place, body) {
  const { activeElement } = /** @type {ShadowRoot} */ (place.getRootNode());
  const picked = /** @type {HTMLElement | null} */ (place.contains(activeElement) ? activeElement?.closest("[data-pick]") : null);
  place.shown = body;
  place.innerHTML = body;
  if (picked) all(place, `[data-pick="${CSS.escape(picked.dataset.pick ?? "")}"]`)[0]?.focus({ preventScroll: true });
}
