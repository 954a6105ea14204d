/** How a byte-level vocabulary (Radford et al. 2019) writes each byte: one that is no visible letter as a letter from U+0100 on. */
export const LETTER_OF_BYTE = (() => {
  const isShown = (/** @type {number} */ byte) => (byte >= 33 && byte <= 126) || (byte >= 161 && byte <= 172) || byte >= 174;
  let others = 256;
  return Array.from({ length: 256 }, (_, byte) => String.fromCharCode(isShown(byte) ? byte : others++));
})();
