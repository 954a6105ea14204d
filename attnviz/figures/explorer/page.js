// The host in a file of its own: the packages are in the page, every head with them, and nothing is ever asked for.

import { Explorer } from "./explorer.js";
import { make } from "./paint.js";
import { readPackage } from "./store.js";

for (const place of document.querySelectorAll(".attnviz")) mountPage(place);

function mountPage(place) {
  const root = make("div", { class: "explorer" });
  const overviews = Array.from(place.querySelectorAll("script[data-package]"), (script) => readPackage(decode(script.textContent)));
  const explorer = new Explorer(root, { pick() {}, want() {} });
  root.explorer = explorer;
  const open = (index) => {
    const overview = overviews[index];
    const { queries, keys, layers, heads } = overview;
    const tokens = overview.kind === "cross" ? `${queries.length} × ${keys.length} tokens` : `${keys.length} tokens`;
    explorer.fact = `${tokens} · ${layers * heads} head${layers * heads === 1 ? "" : "s"}`;
    explorer.open(overview);
  };
  const [kind = "cross", layer = 0, head = 0] = JSON.parse(place.dataset.opens ?? "[]");
  explorer.update({ ...explorer.state, layer, head, theme: place.dataset.theme });
  place.append(root);
  const first = Math.max(overviews.findIndex((overview) => overview.kind === kind), 0);
  if (overviews.length > 1) root.before(kinds(overviews, first, open));
  open(first);
}

// Which of the maps of an encoder-decoder is shown.
function kinds(overviews, first, open) {
  const options = overviews.map(({ kind }, index) => make("option", { value: index, selected: index === first }, kind));
  const select = make("select", {}, ...options);
  select.addEventListener("change", () => open(select.value));
  return make("label", { class: "kinds" }, "Attention ", select);
}

function decode(text) {
  if (Uint8Array.fromBase64) return Uint8Array.fromBase64(text);
  return Uint8Array.from(atob(text), (character) => character.charCodeAt(0));
}
