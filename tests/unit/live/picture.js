// Makes overviews, heads and sentences of maps as the site's worker does: of maps under views, what is drawn and said.

import { ExplorerState } from "../../../attnviz/figures/explorer/explorer_state.js";
import { Head } from "../../../attnviz/figures/explorer/head_store.js";
import { firstCell, largestOf } from "../../../attnviz/live/web/head_metrics.js";
import { Lens } from "../../../attnviz/live/web/head_view.js";
import { nameOfHead } from "../../../attnviz/figures/drawing/elements.js";
import { headChunks, overviewOf } from "../../../attnviz/live/web/map_package.js";
import { endsOf, asCsv, drawMatrix } from "../../../attnviz/live/web/svg_and_csv.js";
import { WordLinks } from "../../../attnviz/live/web/word_links.js";
import { describeAlignment, describeHead, describeHidden, describeLink } from "../../../attnviz/live/web/wording.js";
import { base64, openedMap } from "./maps.js";

// Nothing, a head, a mean, a word, and what it looks at; the positions are in any map.
const QUESTIONS = [
  { place: null, query: null, key: null }, { place: { layer: 0, head: 0 }, query: null, key: null }, { place: { layer: 0, head: null }, query: null, key: null },
  { place: null, query: 2, key: null }, { place: null, query: 2, key: 1 }, { place: { layer: 0, head: 0 }, query: 1, key: 2 },
];

function alignmentOf({ weights, queries, keys }) {
  const words = (tokens) => tokens.map(({ text, special }) => [text, Number(special)]);
  return { queries: words(queries), keys: words(keys), weight: (query, key) => weights[query * keys.length + key], strongestOf: (query) => largestOf({ weights, keys }, query) };
}

export default (cases) => cases.map(({ map, view, theme }) => {
  const own = openedMap(map);
  const overview = overviewOf(own, view);
  let answer = { overview: null };
  if (overview) {
    const places = [];
    for (let layer = 0; layer < own.layers; layer++) for (const head of [...Array(own.heads).keys(), null]) places.push([layer, head]);
    const lens = new Lens(own, view);
    const told = places.map(([layer, head]) => {
      const matrix = lens.matrix(layer, head);
      const sentences = [describeLink(matrix, nameOfHead(layer, head), firstCell(matrix)), describeHead(matrix)];
      return { sentences, hidden: describeHidden(matrix), alignment: describeAlignment(alignmentOf(matrix)) };
    });
    const { visible, ...first } = lens.matrix(0, 0);
    const masked = Array.from(first.weights, (_, cell) => !visible(Math.floor(cell / first.keys.length), cell % first.keys.length));
    const { chunks, ...header } = overview;
    const heads = Object.fromEntries([...headChunks(own, view, places)].map(([name, chunk]) => [name, base64(chunk)]));
    // The explorer has no weights, but their digits, in whichever host.
    const explorer = new ExplorerState();
    explorer.open(overview, () => {});
    const opens = [...headChunks(own, view, places).values()].map((chunk, at) => explorer.firstCell(new Head(...places[at], overview, chunk[0], chunk.subarray(1))));
    const links = new WordLinks(own, view);
    const questions = QUESTIONS.map((question) => links.first(question));
    const rows = [...links.words.queries.keys()].map((word) => base64(new Uint8Array(links.table([word]).buffer)));
    const drawing = { table: { ...first, masked }, model: "t", kind: own.kind, layer: 0, head: 0, isFull: false, theme };
    answer = { overview: header, links: questions, rows, thumbs: base64(chunks.get("thumbs")), heads, told, opens, csv: asCsv({ ...first, masked }, { layer: 0, head: 0 }),
      svg: drawMatrix(drawing, base64),
      ends: [true, false].map((isFull) => endsOf({ ...first, masked }, isFull)) };
  }
  return answer;
});
