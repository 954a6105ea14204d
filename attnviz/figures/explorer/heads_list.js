// The first heads of the ranking by what is asked, each with a bar as long as its weight.

import { make } from "../drawing/elements.js";
import { percent } from "../drawing/percent.js";
import { View } from "./view.js";
import { headWords, names } from "./wording.js";

/** @import { Parts } from "./view.js" */

const SHOWN = 5;

export class HeadsList extends View {
  drawn = "";

  /** @param {Parts} parts */
  constructor(parts) {
    super(parts);
    this.caption = make("p", { class: "caption" });
    this.list = make("ol", { class: "first-heads" });
    this.element = make("div", { class: "pane first" }, this.caption, this.list);
  }

  draw() {
    const { state } = this;
    const { question, overview } = state;
    const table = state.store?.table(question.queries).value;
    if (!table || state.query === null) return;
    const ranked = table.ranked(question.keys).slice(0, SHOWN);
    const mark = JSON.stringify([question.queries, question.keys, state.headName, this.surface.colours.name]);
    if (mark === this.drawn) return;
    this.drawn = mark;
    const { words } = overview;
    const [who, whom] = [names(words, "queries", question.queries), names(words, "keys", question.keys)];
    this.caption.replaceChildren("Which heads link ", ...who, " to ", ...whom, state.rankedBy ? `? By ${state.rankedBy}.` : "?");
    this.list.replaceChildren(...ranked.map(({ layer, head, weight }) => {
      const isChosen = state.head !== null && state.isChosen(layer, head);
      const bar = make("span", { class: "bar-room", "aria-hidden": "true" }, make("i", { style: `width:${(100 * weight).toFixed(1)}%` }));
      const open = () => this.actions.openHead(layer, head);
      const button = make("button", { type: "button", "aria-pressed": String(isChosen), onclick: open },
        make("span", {}, headWords(layer, head)), bar, make("b", {}, percent(weight)));
      return make("li", {}, button);
    }));
  }
}
