// What Streamlit's own page does not do: Enter runs what was typed, a page opens another at an address of its choice, and the
// menu's sections are read aloud as groups.

const BOXES = "[class*=st-key-prompt]";
// Below this width Streamlit lays its menu over the page.
const PHONE = 768;
// So long, in ms, a page that is asked for waits until the run has begun that takes what was typed.
const LONGEST = 1000;
const MENU = "[data-testid=stSidebarNavItems]";
const LINKS = `${MENU} a, [class*=st-key-card-] a`;
/** @typedef {string | number | null} Turn */

/** @type {Turn} */
let gone = null;
let listens = false;
// The box whose text no run has taken yet.
/** @type {Element | null} */
let unsent = null;

/** @param {StreamlitComponent<[Turn, string, string, boolean, string] | []>} component */
export default function ({ data }) {
  listen();
  const [turn, ...where] = data.length ? data : [gone, "", "", false, ""];
  if (turn === gone) return;
  gone = turn;
  go(...where);
}

function listen() {
  if (listens) return;
  listens = true;
  document.addEventListener("keydown", enter, true);
  document.addEventListener("input", (event) => closest(event, BOXES) && (unsent = /** @type {Element} */ (event.target)), true);
  new MutationObserver(taken).observe(document.body, { subtree: true, attributeFilter: ["data-test-script-state"] });
  new MutationObserver(group).observe(document.body, { subtree: true, childList: true });
  group();
  document.addEventListener("click", closeMenu);
  document.addEventListener("click", follow, true);
  // Before Streamlit asks for the page that the browser went to: what is being typed is sent first.
  window.addEventListener("popstate", () => /** @type {HTMLElement | null} */ (document.activeElement)?.blur?.(), true);
}

/** @param {Event} event @param {string} selector @returns {HTMLElement | null | undefined} */
const closest = (event, selector) => /** @type {Element} */ (event.target).closest?.(selector);

// Streamlit sends a text when its box is left, and a run takes it.
function taken() {
  const isRunning = document.querySelector("[data-test-script-state=running]");
  if (isRunning && document.activeElement !== unsent) unsent = null;
}

// Streamlit puts a section's links, which are items of a list, into a `div` of the list, where no item may be.
function group() {
  const items = document.querySelectorAll(`:is(${MENU}, ${MENU} li):not([role])`);
  if (!items.length) return;
  for (const each of items) each.setAttribute("role", "none");
  for (const title of document.querySelectorAll(`${MENU} header`)) {
    title.parentElement?.setAttribute("role", "group");
    title.parentElement?.setAttribute("aria-label", title.querySelector("p")?.innerText ?? "");
  }
}

// A page is asked for once a run has taken what was typed on this one: of two messages at once the server reads the later alone.
/** @param {MouseEvent} event */
function follow(event) {
  const link = closest(event, LINKS);
  if (!unsent || !link || !event.isTrusted || event.ctrlKey || event.metaKey || event.shiftKey || event.altKey) return;
  event.preventDefault();
  event.stopImmediatePropagation();
  const since = performance.now();
  const go = () => {
    if (unsent && performance.now() - since < LONGEST) return setTimeout(go, 10);
    unsent = null;
    link.click();
  };
  go();
}

/** @param {ParentNode | null | undefined} root @param {string} selector */
const press = (root, selector) => /** @type {HTMLElement | null | undefined} */ (root?.querySelector(selector))?.click();

/** On a phone the menu would lie on the page that it has opened. @param {Event} event */
function closeMenu(event) {
  if (innerWidth >= PHONE || !closest(event, `${MENU} a`)) return;
  setTimeout(() => press(document, "[data-testid=stSidebarCollapseButton] button"));
}

// Enter runs and Shift+Enter makes a line, in every box; an input method takes Enter for itself.
/** @param {KeyboardEvent} event */
function enter(event) {
  const box = /** @type {HTMLElement} */ (event.target);
  // In Safari the Enter that ends a composition comes after it, with this code.
  const isComposing = event.isComposing || event.keyCode === 229;
  if (event.key !== "Enter" || event.shiftKey || event.ctrlKey || event.metaKey || event.altKey || isComposing) return;
  if (box.tagName !== "TEXTAREA" && !box.closest(BOXES)) return;
  if (!["TEXTAREA", "INPUT"].includes(box.tagName) || box.closest("[role=combobox], [data-baseweb=select]")) return;
  event.preventDefault();
  event.stopPropagation();
  // Streamlit takes a text when its box is left.
  box.blur();
  unsent = null;
  press(box.closest(BOXES), "[class*=st-key-run-] button");
  box.focus();
}

// A new entry of the browser's history, or the present one with its whole address; Streamlit then opens it as on Back.
// `here` is the page that says so.
/** @param {string} page @param {string} query @param {boolean} replace @param {string} here */
function go(page, query, replace, here, tries = 0) {
  const { pathname } = location;
  const at = pathname.lastIndexOf("/") + 1;
  // The menu's link is on its way into the address.
  if (replace && pathname.slice(at) !== here && tries < 100) return setTimeout(go, 10, page, query, replace, here, tries + 1);
  const address = pathname.slice(0, at) + page + (query ? `?${query}` : "");
  if (replace) history.replaceState({}, "", address);
  else history.pushState({}, "", address);
  dispatchEvent(new PopStateEvent("popstate"));
}
