// What Streamlit's own page does not do: Enter runs what was typed, and a page opens another at an address of its choice.

const BOXES = "[class*=st-key-prompt]";
// Below this width Streamlit lays its menu over the page.
const PHONE = 768;
// Streamlit sends what was typed in a task of its own, for the page that stands then.
const SENT = 20;
const LINKS = "[data-testid=stSidebarNavLink], [data-testid=stPageLink] a";
let gone = null;
let listens = false;

export default function ({ data }) {
  listen();
  const [turn, ...where] = data ? JSON.parse(data) : [gone];
  if (turn === gone) return;
  gone = turn;
  go(...where);
}

function listen() {
  if (listens) return;
  listens = true;
  document.addEventListener("keydown", enter, true);
  document.addEventListener("click", closeMenu);
  document.addEventListener("click", follow, true);
  // Before Streamlit asks for the page that the browser went to: what is being typed is sent first.
  window.addEventListener("popstate", () => document.activeElement?.blur?.(), true);
}

// A page is asked for once what was typed on this one has been sent: it would arrive at the other page, and be lost.
function follow(event) {
  const link = event.target.closest?.(LINKS);
  if (!link || !event.isTrusted || event.ctrlKey || event.metaKey || event.shiftKey || event.altKey) return;
  event.preventDefault();
  event.stopImmediatePropagation();
  setTimeout(() => link.click(), SENT);
}

// On a phone the menu would lie on the page that it has opened.
function closeMenu({ target }) {
  if (innerWidth >= PHONE || !target.closest?.("[data-testid=stSidebarNavLink]")) return;
  setTimeout(() => document.querySelector("[data-testid=stSidebarCollapseButton] button")?.click());
}

// Enter runs and Shift+Enter makes a line, in every box; an input method takes Enter for itself.
function enter(event) {
  const box = event.target;
  if (event.key !== "Enter" || event.shiftKey || event.ctrlKey || event.metaKey || event.altKey || event.isComposing) return;
  if (box.tagName !== "TEXTAREA" && !box.closest(BOXES)) return;
  if (!["TEXTAREA", "INPUT"].includes(box.tagName) || box.closest("[role=combobox], [data-baseweb=select]")) return;
  event.preventDefault();
  event.stopPropagation();
  // Streamlit takes a text when its box is left.
  box.blur();
  box.closest(BOXES)?.querySelector("[data-testid=stButton] button[kind=primary]")?.click();
  box.focus();
}

// A new entry of the browser's history, or the present one with its whole address; Streamlit then opens it as on Back.
function go(page, query, replace, tries = 0) {
  const { pathname } = location;
  const at = pathname.lastIndexOf("/") + 1;
  // The menu's link is on its way into the address.
  if (replace && pathname.slice(at) !== page && tries < 100) return setTimeout(go, 10, page, query, replace, tries + 1);
  const address = pathname.slice(0, at) + page + (query ? `?${query}` : "");
  if (replace) history.replaceState({}, "", address);
  else history.pushState({}, "", address);
  dispatchEvent(new PopStateEvent("popstate"));
}
