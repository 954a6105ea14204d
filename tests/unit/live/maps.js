// Maps and bytes as tests write them: weights as float32 in base64.

import { weightsOf } from "../../../attnviz/live/web/models/attention_weights.js";

export function openedMap(map) {
  const { buffer } = Uint8Array.from(atob(map.weights), (letter) => letter.charCodeAt(0));
  const weights = new Float32Array(buffer);
  const size = weights.length / map.layers;
  const layers = Array.from({ length: map.layers }, (_, layer) => weights.subarray(layer * size, (layer + 1) * size));
  return { ...map, ...weightsOf(layers, map.heads) };
}

export const base64 = (bytes) => btoa(Array.from(bytes, (each) => String.fromCharCode(each)).join(""));
