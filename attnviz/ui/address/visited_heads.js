// The sentences and heads of this visit, each with the query of its link. They never leave the browser: they stand in the tab's own
// storage, or in memory where the browser refuses that.

import { make } from "../../figures/drawing/elements.js";

const NAME = "attnviz-history";
const MOST = 60;
const MOST_HEADS = 8;
// In ms.
const MOMENT = 500;
/** @typedef {{ page: string, title: string, head: string, query: string }} Entry */

/** @type {Entry[]} */
let kept = [];
/** @type {number | undefined} */
let due;
// Where the browser went back or forward to last.
let sought = "";
addEventListener("popstate", () => (sought = location.href));

/** @param {StreamlitComponent<[string, string | null, Entry | null]>} component */
export default function ({ data: [page, query, shown], parentElement }) {
  putRight(page, query);
  kept = read();
  if (shown) {
    /** @param {Entry} entry */
    const isSame = ({ page, title, head }) => page === shown.page && title === shown.title && head === shown.head;
    kept = [shown, ...kept.filter((entry) => !isSame(entry))].slice(0, MOST);
    write();
  }
  draw(/** @type {HTMLElement} */ (parentElement.querySelector(".history")), shown);
}

// The last run before a visit may end after the visit is in the address, and write its own query there. Where the address is newer
// than this run, the browser went there meanwhile, or what the next run says comes within a moment.
/** @param {string} page @param {string | null} query */
function putRight(page, query) {
  clearTimeout(due);
  const { pathname, search } = location;
  const isHere = (pathname.slice(pathname.lastIndexOf("/") + 1) || "home") === page;
  if (query === null || !isHere || location.href === sought) return;
  if (String(new URLSearchParams(search)) === String(new URLSearchParams(query))) return;
  const isStill = () => location.pathname === pathname && location.search === search;
  due = setTimeout(() => isStill() && history.replaceState({}, "", query ? `${pathname}?${query}` : pathname), MOMENT);
}

/** @returns {Entry[]} */
function read() {
  try {
    const entries = JSON.parse(sessionStorage.getItem(NAME) ?? "[]");
    /** @param {Record<string, unknown>} entry */
    const isEntry = (entry) => ["page", "title", "head", "query"].every((name) => typeof entry[name] === "string");
    return entries.filter(isEntry);
  } catch {
    return kept;
  }
}

function write() {
  try {
    sessionStorage.setItem(NAME, JSON.stringify(kept));
  } catch {
    // A private window may refuse: then it lasts as long as the page.
  }
}

/** @param {HTMLElement} box @param {Entry | null} shown */
function draw(box, shown) {
  box.hidden = !kept.length;
  /** @type {Map<string, Entry[]>} */
  const texts = new Map();
  for (const entry of kept) {
    const name = `${entry.page} ${entry.title}`;
    texts.set(name, [...(texts.get(name) ?? []), entry]);
  }
  const list = make("ul", {}, ...[...texts.values()].map((entries) => item(entries, shown)));
  const forget = () => {
    kept = [];
    write();
    draw(box, null);
  };
  box.querySelector("div")?.replaceChildren(list, make("button", { type: "button", onclick: forget }, "Clear"));
}

/** A text, and the heads that it was seen in. @param {Entry[]} entries @param {Entry | null} shown */
function item(entries, shown) {
  const { page, title } = entries[0];
  const heads = entries.filter(({ head }) => head).slice(0, MOST_HEADS);
  const places = heads.length > 1 && make("span", {}, ...heads.map((entry) => way(entry, entry.head, shown)));
  return make("li", {}, make("small", {}, page[0].toUpperCase() + page.slice(1)), way(entries[0], title, shown), places);
}

/** @param {Entry} entry @param {string} text @param {Entry | null} shown */
function way({ page, query }, text, shown) {
  const { pathname } = location;
  const href = `${pathname.slice(0, pathname.lastIndexOf("/") + 1)}${page}${query ? `?${query}` : ""}`;
  const link = make("a", { href, dir: "auto", "aria-current": query === shown?.query && page === shown.page ? "page" : null }, text);
  link.addEventListener("click", (event) => {
    if (event.ctrlKey || event.metaKey || event.shiftKey || event.button) return;
    event.preventDefault();
    // Streamlit opens an address as on Back.
    history.pushState({}, "", link.href);
    dispatchEvent(new PopStateEvent("popstate"));
  });
  return link;
}
