// The host in a file of its own: the packages are in the page, every head with them, and nothing is ever asked for.

import { make } from "../drawing/elements.js";
import { counted, grouped } from "../drawing/numbers.js";
import { readPackage } from "../drawing/mount.js";
import { Explorer } from "./explorer.js";

/** @import { Overview } from "./head_store.js" */

for (const place of document.querySelectorAll(".attnviz")) mountPage(/** @type {HTMLElement} */ (place));

/** @param {HTMLElement} place */
function mountPage(place) {
  const root = make("div", { class: "explorer" });
  const packages = place.querySelectorAll("script[data-package]");
  const overviews = Array.from(packages, (script) => /** @type {Overview} */ (readPackage(decode(script.textContent))));
  const explorer = new Explorer(root, { pick() {}, want() {} });
  /** @param {number} index */
  const open = (index) => {
    const overview = overviews[index];
    const { queries, keys, layers, heads } = overview;
    const tokens = overview.kind === "cross" ? `${grouped(queries.length)} × ${grouped(keys.length)} tokens` : counted(keys.length, "token");
    explorer.state.fact = `${tokens} · ${counted(layers * heads, "head")}`;
    explorer.open(overview);
    explorer.layOut();
  };
  const [kind = "cross", layer = 0, head = 0] = JSON.parse(place.dataset.opens ?? "[]");
  explorer.update({ layer, head, fullScale: true, theme: String(place.dataset.theme) });
  place.append(root);
  const first = Math.max(overviews.findIndex((overview) => overview.kind === kind), 0);
  if (overviews.length > 1) root.before(kinds(overviews, first, open));
  open(first);
}

/** Which of the maps of an encoder-decoder is shown. @param {Overview[]} overviews @param {number} first @param {(index: number) => void} open */
function kinds(overviews, first, open) {
  const options = overviews.map(({ kind }, index) => make("option", { value: index, selected: index === first }, kind));
  const select = make("select", {}, ...options);
  select.addEventListener("change", () => open(Number(select.value)));
  return make("label", { class: "kinds" }, "Attention ", select);
}

/** @param {string} text */
function decode(text) {
  if (typeof Uint8Array.fromBase64 === "function") return Uint8Array.fromBase64(text);
  return Uint8Array.from(atob(text), (character) => character.charCodeAt(0));
}
