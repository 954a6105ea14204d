// Packages as Python packs them (attnviz/figures/explorer/packages.py): a header, and chunks by name.

/** @typedef {Uint8Array<ArrayBuffer>} Bytes */

/** @param {Bytes | ArrayBuffer} data @returns {Record<string, any> & { chunks: Map<string, Bytes> }} */
export function readPackage(data) {
  const bytes = data instanceof Uint8Array ? data : new Uint8Array(data);
  const body = 4 + new DataView(bytes.buffer, bytes.byteOffset, 4).getUint32(0, true);
  const header = JSON.parse(new TextDecoder().decode(bytes.subarray(4, body)));
  const places = /** @type {[string, [number, number]][]} */ (Object.entries(header.chunks));
  return { ...header, chunks: new Map(places.map(([name, [start, size]]) => [name, bytes.subarray(body + start, body + start + size)])) };
}
