// Around the picture: the tabs, the order of the heads, and the strongest links as a table.

import { KINDS } from "./grid.js";
import { make, word } from "./paint.js";
import { ORDERS } from "./ranking.js";
import { headTitle } from "./store.js";

export const TABS = { grid: "Grid", matrix: "Matrix", arcs: "Arcs", text: "Text" };
const STRONGEST = 10;

export class Bar {
  constructor(explorer) {
    this.explorer = explorer;
    this.tabs = make("div", { class: "tabs", role: "tablist", "aria-label": "View" });
    this.tabs.addEventListener("keydown", (event) => this.key(event));
    this.order = make("select", { onchange: () => this.arrange() });
    this.ordered = make("label", { class: "order" }, "Heads ", this.order);
    this.kind = make("select", { "aria-label": "Heads drawn", onchange: () => this.arrange() });
    this.kind.append(...Object.entries(KINDS).map(([value, text]) => make("option", { value }, text)));
    this.kinds = make("span", { class: "order" }, this.kind);
    this.fact = make("span", { class: "fact" });
    const title = "Switch heads off, cut links, hide words, and see what the model says then";
    this.edit = make("button", { type: "button", class: "edit", title, onclick: () => explorer.editing.turn() }, "Edit");
    this.element = make("div", { class: "bar" }, this.tabs, this.ordered, this.kinds, this.fact, this.edit);
  }

  arrange() {
    this.explorer.look({ order: this.order.value, kind: this.kind.value });
  }

  // Other maps know other orders.
  orders() {
    const { orders, order } = this.explorer;
    if (this.order.options.length !== orders.length) {
      this.order.replaceChildren(...orders.map((name) => make("option", { value: name }, ORDERS[name].label)));
    }
    this.order.value = order;
  }

  names() {
    const { views, extra = [] } = this.explorer;
    return [...views.map((view) => [view, TABS[view]]), ...extra.map((name) => [name, name])];
  }

  draw() {
    const { state, overview, stage, follows } = this.explorer;
    const names = this.names();
    const wanted = names.map(([view]) => view).join();
    if (this.drawn !== wanted) {
      this.drawn = wanted;
      this.tabs.replaceChildren(...names.map(([view, text]) => this.tab(view, text)));
    }
    this.tabs.hidden = names.length < 2 || follows;
    for (const tab of this.tabs.children) {
      const chosen = tab.dataset.view === state.view;
      tab.setAttribute("aria-selected", chosen);
      tab.tabIndex = chosen ? 0 : -1;
      if (chosen && names.length > 1) {
        stage.setAttribute("role", "tabpanel");
        stage.setAttribute("aria-labelledby", tab.id);
      }
    }
    this.ordered.hidden = state.view !== "grid" || overview.heads === 1 || follows || this.explorer.orders.length < 2;
    this.orders();
    this.kinds.hidden = state.view !== "grid" || this.tabs.hidden || Boolean(overview.signed);
    this.edit.hidden = !this.explorer.editing.isOffered;
    this.edit.setAttribute("aria-pressed", this.explorer.editing.on);
    this.kind.value = state.kind;
    this.fact.textContent = this.explorer.fact ?? "";
    this.element.hidden = this.tabs.hidden && this.ordered.hidden && !this.fact.textContent && this.edit.hidden;
  }

  tab(view, text) {
    const { id } = this.explorer;
    const attributes = { type: "button", role: "tab", id: `${id}-${view}`, "data-view": view };
    if (view in TABS) attributes["aria-controls"] = `${id}-stage`;
    return make("button", { ...attributes, onclick: () => this.explorer.show(view) }, text);
  }

  key(event) {
    const step = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
    if (!step) return;
    event.preventDefault();
    const tabs = [...this.tabs.children];
    const next = tabs[(tabs.indexOf(event.target) + step + tabs.length) % tabs.length];
    next.focus();
    this.explorer.show(next.dataset.view);
  }
}

// What a screen reader reads instead of the picture, and what anybody can copy.
export class LinksTable {
  constructor(explorer) {
    this.explorer = explorer;
    this.summary = make("summary", {}, "Strongest links, as a table");
    this.body = make("tbody");
    const columns = ["Who looks", "At whom", "Weight"].map((name) => make("th", { scope: "col" }, name));
    this.caption = make("caption");
    this.table = make("table", {}, this.caption, make("thead", {}, make("tr", {}, ...columns)), this.body);
    this.element = make("details", { class: "links" }, this.summary, this.table);
  }

  draw() {
    const head = this.explorer.current();
    if (!head || this.head === head) return;
    this.head = head;
    const { queries, keys } = this.explorer.overview;
    const title = `${head.signed ? "Largest changes in" : "Strongest links of"} ${headTitle(head.layer, head.head)}`;
    this.summary.textContent = `${title}, as a table`;
    this.caption.textContent = title;
    const rows = head.strongest(STRONGEST).map(([query, key, weight]) =>
      make(
        "tr",
        {},
        make("td", {}, word(queries[query][0])),
        make("td", {}, word(keys[key][0])),
        make("td", { class: "number" }, head.write(weight)),
      ),
    );
    this.body.replaceChildren(...rows);
  }
}
