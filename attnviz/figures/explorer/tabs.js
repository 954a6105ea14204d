// Around the picture: the tabs, the order of the heads, how they are drawn, and whether clicks edit.

import { make } from "../drawing/elements.js";
import { ORDERS } from "./head_measures.js";
import { TABS } from "./explorer_state.js";
import { View } from "./view.js";
import { KINDS } from "./view_options.js";

/** @import { Parts } from "./view.js" */

export class Tabs extends View {
  drawn = "";

  /** @param {Parts} parts @param {HTMLElement} stage @param {string} id */
  constructor(parts, stage, id) {
    super(parts);
    this.stage = stage;
    this.id = id;
    this.tabs = make("div", { class: "tabs", role: "tablist", "aria-label": "View", onkeydown: (/** @type {KeyboardEvent} */ event) => this.key(event) });
    const order = () => this.actions.look({ order: /** @type {keyof typeof ORDERS} */ (this.order.value) });
    this.order = make("select", { onchange: order });
    this.ordered = make("label", { class: "order" }, "Heads ", this.order);
    const kind = () => this.actions.look({ kind: /** @type {keyof typeof KINDS} */ (this.kind.value) });
    this.kind = make("select", { "aria-label": "Heads drawn", onchange: kind });
    this.kind.append(...Object.entries(KINDS).map(([value, text]) => make("option", { value }, text)));
    this.kinds = make("span", { class: "order" }, this.kind);
    this.fact = make("span", { class: "fact" });
    const title = "Switch heads off, cut links, hide words, and see what the model says then";
    this.edit = make("button", { type: "button", class: "edit", title, onclick: () => this.actions.turnEditing() }, "Edit");
    this.element = make("div", { class: "bar" }, this.tabs, this.ordered, this.kinds, this.fact, this.edit);
  }

  draw() {
    const { state } = this;
    this.drawTabs([...state.views.map((view) => [view, TABS[/** @type {keyof typeof TABS} */ (view)]]), ...state.extra.map((name) => [name, name])]);
    const isGrid = state.view === "grid";
    this.ordered.hidden = !isGrid || state.overview.heads === 1 || state.orders.length < 2;
    // Other maps know other orders.
    if (this.order.options.length !== state.orders.length) {
      this.order.replaceChildren(...state.orders.map((name) => make("option", { value: name }, ORDERS[name].label)));
    }
    this.order.value = state.order;
    this.kinds.hidden = !isGrid || this.tabs.hidden || Boolean(state.overview.signed);
    this.kind.value = state.options.kind;
    this.edit.hidden = !state.canEdit;
    this.edit.setAttribute("aria-pressed", String(state.edits.on));
    this.fact.textContent = state.fact;
    this.element.hidden = state.isPlain || this.tabs.hidden && this.ordered.hidden && !this.fact.textContent && this.edit.hidden;
  }

  /** @param {string[][]} names each view with what stands on its tab */
  drawTabs(names) {
    const wanted = names.join();
    if (this.drawn !== wanted) {
      this.drawn = wanted;
      this.tabs.replaceChildren(...names.map(([view, text]) => this.tab(view, text)));
    }
    this.tabs.hidden = names.length < 2;
    for (const tab of /** @type {Iterable<HTMLElement>} */ (this.tabs.children)) {
      const isChosen = tab.dataset.view === this.state.view;
      tab.setAttribute("aria-selected", String(isChosen));
      tab.tabIndex = isChosen ? 0 : -1;
      if (isChosen && names.length > 1) {
        this.stage.setAttribute("role", "tabpanel");
        this.stage.setAttribute("aria-labelledby", tab.id);
      }
    }
  }

  /** @param {string} view @param {string} text */
  tab(view, text) {
    const attributes = { type: "button", role: "tab", id: `${this.id}-${view}`, "data-view": view };
    const controls = view in TABS ? { "aria-controls": this.stage.id } : {};
    return make("button", { ...attributes, ...controls, onclick: () => this.actions.show(view) }, text);
  }

  /** @param {KeyboardEvent} event */
  key(event) {
    const step = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
    if (!step) return;
    event.preventDefault();
    const tabs = /** @type {HTMLElement[]} */ ([...this.tabs.children]);
    const next = tabs[(tabs.indexOf(/** @type {HTMLElement} */ (event.target)) + step + tabs.length) % tabs.length];
    next.focus();
    this.actions.show(String(next.dataset.view));
  }
}
