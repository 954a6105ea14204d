// A head by its coordinates.

/** L3·H1, or L3 for the mean of a layer. @param {number} layer @param {number | null} head */
export const nameOfHead = (layer, head) => (head === null ? `L${layer}` : `L${layer}·H${head}`);
