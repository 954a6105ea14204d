// The host in a Streamlit page. The same module is mounted twice: for the overview, which Streamlit sends once and keeps, and for
// the explorer, whose small package says what is looked at. They meet here, whichever comes first.

import { mounted, mountOnce, readPackage } from "../drawing/mount.js";
import { Explorer } from "./explorer.js";
import { OVERVIEWS_KEPT } from "./head_store.js";

/**
 * @import { Bytes } from "../drawing/mount.js"
 * @import { Settings } from "./explorer_state.js"
 * @import { HeadPlace, Overview } from "./head_store.js"
 * @typedef {Settings & { overview: string, chunks: Map<string, Bytes> }} Message
 */

/** @type {Map<string, Overview>} */
const shelf = new Map();
/** @type {WeakMap<Explorer, Message>} What an explorer received whose overview has not come. */
const waiting = new WeakMap();

/** @param {StreamlitComponent<Bytes>} component */
export default function mount({ data, parentElement, setTriggerValue }) {
  const root = /** @type {HTMLElement} */ (parentElement.querySelector(".explorer"));
  const received = readPackage(data);
  if (received.layers) return shelve(/** @type {Overview} */ (received), root);
  const [explorer, unmount] = mountOnce(root, () => new Explorer(root, { pick() {}, want() {} }));
  explorer.host.pick = (change) => setTriggerValue("picked", change);
  // The head in view comes with the answer to what was picked.
  explorer.host.want = (places) => {
    const { state } = explorer;
    const heads = places.filter(([layer, head]) => layer !== state.layer || head !== state.head);
    if (heads.length) setTriggerValue("wanted", { of: state.overview.name, heads });
  };
  waiting.set(explorer, /** @type {any} */ (received));
  settle(explorer);
  return unmount;
}

/** @param {Overview} overview @param {HTMLElement} root */
function shelve(overview, root) {
  root.hidden = true;
  shelf.delete(overview.name);
  shelf.set(overview.name, overview);
  for (const name of shelf.keys()) if (shelf.size > OVERVIEWS_KEPT) shelf.delete(name);
  for (const explorer of mounted.values()) settle(explorer);
}

/** Hands an explorer what it received once the overview that it is about is here. @param {Explorer} explorer */
function settle(explorer) {
  const received = waiting.get(explorer);
  const overview = received && shelf.get(received.overview);
  if (!overview) return;
  waiting.delete(explorer);
  const { chunks, overview: name, ...settings } = received;
  if (explorer.state.overview?.name !== name) explorer.open(overview);
  explorer.state.store?.add(chunks);
  explorer.update(settings);
}
