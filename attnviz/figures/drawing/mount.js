// Pictures in a Streamlit page: one an element, from its first mount until the element has left the page.

/** @import { Surface } from "./surface.js" */

/** @type {Map<HTMLElement, any>} */
export const mounted = new Map();

/**
 * Finds the picture of an element, or makes it; and with it the clean-up that Streamlit asks for.
 * @template {{ surface: Surface }} Picture
 * @param {HTMLElement} root @param {(root: HTMLElement) => Picture} make
 * @returns {[Picture, () => void]}
 */
export function mountOnce(root, make) {
  const picture = mounted.get(root) ?? make(root);
  mounted.set(root, picture);
  return [picture, () => {
    // Streamlit may call the clean-up of an earlier mount while the picture is still on the page.
    if (root.isConnected) return;
    picture.surface.end();
    mounted.delete(root);
  }];
}
