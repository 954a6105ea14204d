// The strongest links as a table: what a screen reader reads instead of the picture, and what anybody can copy.

import { make, word } from "../drawing/elements.js";
import { headTitle } from "./head_names.js";
import { View } from "./view.js";

/**
 * @import { Head } from "./head_store.js"
 * @import { Parts } from "./view.js"
 */

const STRONGEST = 10;

export class StrongestLinks extends View {
  /** @type {Head | null} */
  head = null;

  /** @param {Parts} parts */
  constructor(parts) {
    super(parts);
    this.summary = make("summary", {}, "Strongest links, as a table");
    this.body = make("tbody");
    const columns = ["Who looks", "At whom", "Weight"].map((name) => make("th", { scope: "col" }, name));
    this.caption = make("caption");
    const table = make("table", {}, this.caption, make("thead", {}, make("tr", {}, ...columns)), this.body);
    this.element = make("details", { class: "links" }, this.summary, table);
  }

  draw() {
    const { current: head, overview: { queries, keys } } = this.state;
    if (!head || this.head === head) return;
    this.head = head;
    const title = `${head.signed ? "Largest changes in" : "Strongest links of"} ${headTitle(head.layer, head.head)}`;
    this.summary.textContent = `${title}, as a table`;
    this.caption.textContent = title;
    const rows = head.strongest(STRONGEST).map(([query, key, weight]) => {
      const cells = [word(queries[query][0]), word(keys[key][0])].map((name) => make("td", {}, name));
      return make("tr", {}, ...cells, make("td", { class: "number" }, head.write(weight)));
    });
    this.body.replaceChildren(...rows);
  }
}
