// How heads and numbers are written.

/** "3:1" is L3·H1, "3:mean" the mean over the heads of layer 3. @param {number} layer @param {number | null} head */
export const headName = (layer, head) => `${layer}:${head ?? "mean"}`;
/** @param {number} layer @param {number | null} head */
export const headTitle = (layer, head) => (head === null ? `L${layer}, mean of all heads` : `L${layer}·H${head}`);
/** A number with a true minus sign. @param {number} value @param {number} decimals */
export const number = (value, decimals) => value.toFixed(decimals).replace("-", "−");
