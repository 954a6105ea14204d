// Describes answers, translations and selections as the site's worker does: cases as one line of JSON in, what is drawn and said of each out.

import { Buffer } from "node:buffer";
import process from "node:process";
import { text } from "node:stream/consumers";
import { describeFound, describeHeadOf, matrixOf } from "../../../attnviz/live/web/answer_words.js";
import { powerOfTen, twoDigits } from "../../../attnviz/live/web/labels.js";
import { weightsOf } from "../../../attnviz/live/web/models/map_weights.js";
import { choose, unitsOf } from "../../../attnviz/live/web/models/selection.js";
import { drawnPart } from "../../../attnviz/figures/answer_spans.js";
import { describeSelectors, describeSelection } from "../../../attnviz/live/web/selectors.js";
import { AlignmentHeads, describeTranslation } from "../../../attnviz/live/web/translation_picture.js";
import { describeLikelihood } from "../../../attnviz/live/web/wording.js";

function opened(map) {
  const bytes = Buffer.from(map.weights, "base64");
  const weights = new Float32Array(bytes.buffer.slice(bytes.byteOffset, bytes.byteOffset + bytes.length));
  const size = weights.length / map.layers;
  const layers = Array.from({ length: map.layers }, (_, layer) => weights.subarray(layer * size, (layer + 1) * size));
  return { ...map, ...weightsOf(layers, map.heads) };
}

const { answers, drawn, heads, likely, small, translations, selections } = JSON.parse(await text(process.stdin));
const found = answers.map(({ maps, found: own }) => describeFound(own, maps.map(opened), "m"));
const seen = heads.map(({ maps, answer, asked }) => describeHeadOf(maps.map(opened), answer, asked));
const matrices = heads.map(({ maps, answer, asked }, at) => matrixOf(maps.map(opened), answer.place, seen[at], asked.view));
const written = translations.map(({ output, draft, cross, card, asked }) => {
  const { described, weights, ...chosen } = describeTranslation(output, draft, opened(cross), card, asked);
  const heads = new AlignmentHeads(opened(cross), draft, card, { words: true, ...asked });
  const followed = heads.followed({ query: null, key: null, ...asked });
  return { described, ...chosen, followed, weights: Buffer.from(weights).toString("base64") };
});
const kept = selections.map(({ text: passage, map, sentences, amount, card }) => {
  const units = unitsOf(passage, map.queries, sentences);
  const read = { sentences, ...card };
  const chosen = describeSelection(passage, choose(opened(map), units, sentences, { ...amount, selects: card.selects }), card);
  return { ...chosen, all: describeSelectors(passage, opened(map), read, amount, 1, 2) };
});
process.stdout.write(JSON.stringify({ found, seen, matrices, written, kept, likely: likely.map((each) => describeLikelihood(...each)), drawn: drawn.map((each) => drawnPart(...each)), small: small.map((value) => [powerOfTen(value), twoDigits(value)]) }));
