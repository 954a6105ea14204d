// Where a picture is mounted: its style and that of the page do not meet.

import { make } from "../../figures/drawing/elements.js";
import { importFrom } from "./runtime.js";

/** @typedef {{ default: { Picture: new (root: HTMLElement, host: object) => any, STYLE: string } }} Script */

/** Mounts the picture of a script. @param {HTMLElement} place @param {string} kind the class of its root @param {URL} script */
export async function mountPicture(place, kind, script) {
  const { default: { Picture, STYLE } } = /** @type {Script} */ (await importFrom(script));
  const shadow = place.attachShadow({ mode: "open" });
  const sheet = new CSSStyleSheet();
  sheet.replaceSync(STYLE);
  shadow.adoptedStyleSheets = [sheet];
  const root = make("div", { class: kind });
  shadow.append(root);
  return { picture: new Picture(root, { pick() {}, want() {} }) };
}
