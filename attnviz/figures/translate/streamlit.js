// The host of the alignments in a Streamlit page.

import { mountOnce, readPackage } from "../drawing/mount.js";
import { Alignments } from "./alignments.js";

/** @import { Bytes } from "../drawing/mount.js" */

/** @param {StreamlitComponent<Bytes>} component */
export default function mount({ data, parentElement, setTriggerValue }) {
  const root = /** @type {HTMLElement} */ (parentElement.querySelector(".alignment"));
  const [alignments, unmount] = mountOnce(root, () => new Alignments(root, { pick() {} }));
  alignments.host.pick = (change) => setTriggerValue("picked", change);
  alignments.update(/** @type {any} */ (readPackage(data)));
  return unmount;
}
