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

// Packages as Python packs them (attnviz/figures/explorer): a header, and chunks by name.

/** @typedef {Uint8Array<ArrayBuffer>} Bytes */

/** @param {Bytes | ArrayBuffer} data @returns {Record<string, any> & { chunks: Map<string, Bytes> }} */
export function readPackage(data) {
  const bytes = data instanceof Uint8Array ? data : new Uint8Array(data);
  const body = 4 + new DataView(bytes.buffer, bytes.byteOffset, 4).getUint32(0, true);
  const header = JSON.parse(new TextDecoder().decode(bytes.subarray(4, body)));
  const places = /** @type {[string, [number, number]][]} */ (Object.entries(header.chunks));
  return { ...header, chunks: new Map(places.map(([name, [start, size]]) => [name, bytes.subarray(body + start, body + start + size)])) };
}

/** Unpacks a chunk. @param {Bytes} bytes */
export async function inflate(bytes) {
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate"));
  return new Uint8Array(await new Response(stream).arrayBuffer());
}

// A part of a picture: what is shown, what a person can do, and where it is drawn. Nothing else of the picture is in its reach.

/** @template State, Actions */
export class PictureView {
  /** @param {{ state: State, actions: Actions, surface: Surface }} parts */
  constructor({ state, actions, surface }) {
    this.state = state;
    this.actions = actions;
    this.surface = surface;
  }
}
