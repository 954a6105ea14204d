// All heads on a page whose main picture is another one: folded, and not drawn, until somebody opens it.

import { asHead } from "./controls.js";
import { ExplorerPanel } from "./explorer_panel.js";

/**
 * @import { Values } from "./address.js"
 * @import { SitePage } from "./site_page.js"
 * @import { Shown } from "./explorer_panel.js"
 * @import { ModelPicture } from "./model_picture.js"
 */

export class ExplorerFold {
  /** @type {ExplorerPanel | null} */
  #explorer = null;

  /** @param {SitePage} sitePage @param {string} slot how names in the address end */
  constructor(sitePage, slot) {
    this.sitePage = sitePage;
    this.name = `all${slot}`;
    this.details = /** @type {HTMLDetailsElement} */ (document.getElementById("all"));
    this.place = /** @type {HTMLElement} */ (document.getElementById("picture"));
    this.details.addEventListener("toggle", () => {
      if (this.details.open !== this.#isOpen) void sitePage.change({ [this.name]: this.details.open ? "open" : null });
    });
  }

  get #isOpen() {
    return this.sitePage.values[this.name] === "open";
  }

  /** @param {ModelPicture} picture @param {Shown} shown @param {Values} values */
  async show(picture, shown, values) {
    this.details.open = this.#isOpen;
    if (!this.#isOpen) return;
    this.#explorer ??= new ExplorerPanel(this.place, new URL("explorer.js", this.sitePage.files), (changed) => this.#change(changed));
    this.place.hidden = !(await this.#explorer.show(picture, shown, values));
  }

  /** @param {Values} changed */
  #change({ chosenHead, ...values }) {
    void this.sitePage.change({ ...values, ...(chosenHead === undefined ? {} : asHead(this.sitePage.config.page, chosenHead)) });
  }
}
