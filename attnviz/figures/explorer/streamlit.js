// The host in a Streamlit page. The same module is mounted twice: for the overview, which Streamlit sends once and keeps, and for
// the explorer, whose small package says what is looked at. They meet here, whichever comes first.

import { Explorer } from "./explorer.js";
import { readPackage } from "./store.js";

// Four models side by side, each now and before.
const SHELF_SIZE = 8;
const shelf = new Map();
const explorers = new WeakMap();
const open = new Set();

export default function mount(component) {
  const { data, parentElement, setTriggerValue } = component;
  const root = parentElement.querySelector(".explorer");
  const received = readPackage(data);
  if (received.layers) return shelve(received, root);
  let explorer = explorers.get(root);
  if (!explorer) {
    const host = {};
    explorer = new Explorer(root, host);
    root.explorer = explorer;
    explorers.set(root, explorer);
  }
  open.add(explorer);
  connect(explorer.host, explorer, setTriggerValue);
  explorer.received = received;
  settle(explorer);
  // Streamlit may call the clean-up of an earlier mount while the picture is still on the page.
  return () => {
    if (root.isConnected) return;
    explorer.destroy();
    open.delete(explorer);
    explorers.delete(root);
  };
}

function connect(host, explorer, setTriggerValue) {
  host.pick = (change) => setTriggerValue("picked", change);
  // The head in view comes with the answer to what was picked.
  host.want = (places) => {
    const { state, overview } = explorer;
    const heads = places.filter(([layer, head]) => layer !== state.layer || head !== state.head);
    if (heads.length) setTriggerValue("wanted", { of: overview.name, heads });
  };
}

function shelve(overview, root) {
  root.hidden = true;
  shelf.delete(overview.name);
  shelf.set(overview.name, overview);
  for (const name of shelf.keys()) if (shelf.size > SHELF_SIZE) shelf.delete(name);
  for (const explorer of open) settle(explorer);
}

// Hands an explorer what it received once the overview that it is about is here.
function settle(explorer) {
  const { received } = explorer;
  const overview = shelf.get(received?.overview);
  if (!overview) return;
  explorer.received = null;
  const { chunks, overview: name, ...settings } = received;
  if (explorer.overview?.name !== name) explorer.open(overview);
  explorer.store.add(chunks);
  explorer.update(settings);
}
