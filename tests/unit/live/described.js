// Describes answers, translations and selections as the site's worker does, and reads prompts: what is drawn and said of each case.

import { describeFound, describeHeadOf, matrixOf, windowNotices } from "../../../attnviz/live/web/answer_words.js";
import { numberedName } from "../../../attnviz/figures/explorer/word_weights.js";
import { decimals, powerOfTen, signed, significant, twoDigits, wholePercent } from "../../../attnviz/figures/drawing/numbers.js";
import { promptOf } from "../../../attnviz/live/web/models/load_model.js";
import { choose, unitsOf } from "../../../attnviz/live/web/models/summary_selection.js";
import { drawnPart } from "../../../attnviz/figures/answer_spans.js";
import { describeSelectors, describeSelection } from "../../../attnviz/live/web/selectors.js";
import { AlignmentHeads, describeTranslation, differences, translationNotices } from "../../../attnviz/live/web/alignments.js";
import { shownInTheApp } from "../../../attnviz/live/web/fetch_files.js";
import { describeLikelihood, describeScore, textNotices } from "../../../attnviz/live/web/wording.js";
import { base64, openedMap } from "./maps.js";

function prompted(given) {
  try {
    return promptOf(given);
  } catch (error) {
    return error.message;
  }
}

export default function ({ answers = [], different = [], cutPassages = [], drawn = [], heads = [], likely = [], named = [], numbers = [], prompts = [], scores = [], small = [], translations = [], selections = [], spoken = [], typed = [] }) {
  const found = answers.map(({ maps, found: own }) => describeFound(own, maps.map(openedMap), "m"));
  const seen = heads.map(({ maps, answer, asked }) => describeHeadOf(maps.map(openedMap), answer, asked));
  const matrices = heads.map(({ maps, answer, asked }, at) => matrixOf(maps.map(openedMap), answer.place, seen[at], asked.view));
  const written = translations.map(({ output, draft, cross, card, asked }) => {
    const { described, weights, ...chosen } = describeTranslation(output, draft, openedMap(cross), card, asked);
    const heads = new AlignmentHeads(openedMap(cross), draft, card, { words: true, ...asked });
    const followed = heads.followed({ query: null, key: null, ...asked });
    return { described, ...chosen, followed, weights: base64(weights) };
  });
  const kept = selections.map(({ text: passage, map, sentences, amount, card }) => {
    const units = unitsOf(passage, map.queries, sentences);
    const read = { sentences, ...card };
    const chosen = describeSelection(passage, choose(openedMap(map), units, sentences, { ...amount, selects: card.selects }), card);
    const all = describeSelectors(passage, openedMap(map), read, amount, { layer: 1, head: 2, view: { words: true } });
    return { ...chosen, shares: all[0].shares, all, cut: describeSelectors(passage, openedMap(map), read, amount, { layer: 1, head: 2, view: { words: false } })[0].passage.units };
  });
  return {
    found, seen, matrices, written, kept, prompts: prompts.map(prompted),
    notices: typed.map((each) => textNotices(...each)),
    spoken: spoken.map((each) => translationNotices(...each)),
    likely: likely.map((each) => describeLikelihood(...each.map(Number))),
    windows: cutPassages.map((each) => windowNotices(...each)),
    scores: scores.map(([logProbability, bleu]) => describeScore(Number(logProbability), bleu ?? undefined)),
    different: different.map(differences),
    named: named.map((texts) => texts.map((_, place) => numberedName(texts.map((text) => ({ text })), place))),
    drawn: drawn.map((each) => drawnPart(...each)),
    further: [["encode", {}, {}], ["encode", { pair: "b" }, {}], ["translate", {}, {}], ["translate", {}, { decoding: "Beam" }]].map((each) => shownInTheApp(...each)),
    small: small.map((value) => [powerOfTen(value), twoDigits(value)]),
    numbers: numbers.map(Number).map((value) => [
      signed(value), ...[0, 1, 2, 4].map((digits) => decimals(value, digits)), ...[2, 9].map((digits) => significant(value, digits)),
      Math.abs(value) < 1e18 ? wholePercent(value) : "",
    ]),
  };
}
