// A picture's numbers in words, as attnviz/analysis/wording.py says them: a test compares both.

import { cutText, isolated, make, visibleText } from "../../figures/drawing/elements.js";
import { isWord } from "../../figures/explorer/word_weights.js";
import { strongestLink, summarize } from "./head_metrics.js";
import { LETTER_OF_BYTE } from "./models/letter_of_byte.js";
import { decimals, grouped, percent, percentVisible, raised, signed } from "../../figures/drawing/numbers.js";

/** @import { HeadMatrix, Token } from "./head_view.js" */

/**
 * @typedef {[text: string, strength: 0 | 1 | 2]} Part  1 is strong, 2 a token, which is quoted, too
 * @typedef {Part[]} Sentence
 */

// A share of the attention from which on a head is called by it.
export const MOSTLY = 0.5;
/** @type {Record<"previous" | "following" | "itself" | "special" | "first", [tokens: string, remark: string]>} */
const PATTERNS = {
  previous: ["the token before", ", wherever it stands: a previous-token head"],
  following: ["the token after", ", wherever it stands: a next-token head"],
  itself: ["the token itself", ""],
  special: ["special tokens", ", usually a sign that it finds nothing to do here (Clark et al. 2019)"],
  first: ["the very first token", ", where a decoder parks attention that it has no other use for (Xiao et al. 2023)"],
};

/** @param {string} text @returns {Part} */
export const quoted = (text) => [text && cutText(visibleText(text)), 2];
/** @param {string} text @returns {Part} */
export const textPart = (text) => [text, 0];

/** How large one weight is, and which link between words is the head's strongest.
 * @param {HeadMatrix} matrix @param {string} name @param {[query: number, key: number]} cell @returns {Sentence} */
export function describeLink(matrix, name, [query, key]) {
  const { weights, queries, keys } = matrix;
  const [subject, object] = [quoted(queries[query].text), quoted(keys[key].text)];
  if (!matrix.visible(query, key)) return [subject, textPart(" cannot look at "), object, textPart(": this cell is masked.")];
  /** @type {Sentence} */
  const lead = [[name, 1], textPart(" sends "), ...linkOf(matrix, query, key), textPart(` with weight ${percentVisible(weights[query * keys.length + key])}`)];
  const link = strongestLink(matrix);
  if (!link) return [...lead, textPart(".")];
  if (link.query === query && link.key === key) return [...lead, textPart(": its strongest link between different words.")];
  return [...lead, textPart("; its strongest link between different words is "), ...linkOf(matrix, link.query, link.key), textPart(` (${percent(link.weight)}).`)];
}

/** @param {HeadMatrix} matrix @param {number} query @param {number} key @returns {Sentence} */
const linkOf = ({ queries, keys }, query, key) => [...ofToken(queries, query), textPart(" to "), ...ofToken(keys, key)];

/** A token in a sentence; one of several of a word is called a token, for a headline counts the whole word.
 * @param {Token[]} tokens @param {number} place @returns {Sentence} */
function ofToken(tokens, place) {
  const { text, segment, word = null } = tokens[place];
  const parts = word === null ? [] : tokens.filter((each) => each.segment === segment && each.word === word);
  return [...(parts.length > 1 ? [textPart("the token ")] : []), quoted(text)];
}

// What a text is read as where the vocabulary has no piece for it.
const UNKNOWN = ["[UNK]", "<unk>"];

/** What happened to a text before the model read it: what stands before the model's name, and what follows one, or several.
 * @param {Record<string, string>} prompt @param {{ cut: number | null, cutPair: number | null, isEnglish: boolean }} trace @param {Token[]} keys @param {number} most tokens
 * @returns {[before: string, one: string, several: string][]} */
export function textNotices({ text, pair }, { cut, cutPair, isEnglish }, keys, most) {
  const [can, shown] = [" can read: expect guesses.", " in this text: the picture shows only the tokens that"];
  /** @type {[name: string, text: string, at: number | null][]} */
  const texts = [["text", text, cut], ["second sentence", pair, cutPair]];
  const limits = texts.flatMap(([name, whole, at]) =>
    at === null ? [] : [`${grouped(most)} tokens at most: the ${name} was cut after character ${grouped(at)} of ${grouped([...whole].length)}.`],
  );
  const names = [...new Set(keys.flatMap(({ text: own, special, piece }) => (!special && UNKNOWN.includes(piece ?? "") ? [own] : [])))].map((own) => `“${isolated(quoted(own)[0])}”`);
  const unknown = `${names.slice(0, 5).join(", ")}${names.length > 5 ? " and others" : ""}`;
  return [
    ...(isEnglish ? [] : [/** @type {[string, string, string]} */ (["This does not look like English, the only language that ", can, can])]),
    ...(keys.every(({ special }) => special) ? [/** @type {[string, string, string]} */ (["", ` finds no word${shown} it adds to every text.`, ` find no word${shown} they add to every text.`])] : []),
    ...limits.map((limit) => /** @type {[string, string, string]} */ (["", ` reads ${limit}`, ` read ${limit}`])),
    ...(names.length ? [/** @type {[string, string, string]} */ (["", ` does not know ${unknown}: it reads a placeholder instead.`, ` do not know ${unknown}: they read a placeholder instead.`])] : []),
  ];
}

/** What models say of their texts; several that say the same say it together. @param {{ notices: [before: string, one: string, several: string][] }[]} traces @param {string[]} names */
export function joinNotices(traces, names) {
  /** @type {Map<string, string[]>} */
  const speakers = new Map();
  traces.forEach(({ notices }, place) => notices.forEach((notice) => {
    const key = JSON.stringify(notice);
    speakers.set(key, [...(speakers.get(key) ?? []), names[place]]);
  }));
  const sentences = [...speakers].map(([key, own]) => {
    const [before, one, several] = JSON.parse(key);
    return `${before}${new Intl.ListFormat("en-GB").format(own)}${own.length === 1 ? one : several}`;
  });
  return sentences.join(" ");
}

/** Where most of a head's attention goes, or how far it is spread. @param {HeadMatrix} matrix @returns {Sentence} */
export function describeHead(matrix) {
  const shares = summarize(matrix);
  const names = /** @type {(keyof typeof PATTERNS)[]} */ (Object.keys(PATTERNS));
  const name = names.reduce((best, other) => (shares[other] > shares[best] ? other : best));
  const [tokens, remark] = PATTERNS[name];
  if (shares[name] >= MOSTLY) {
    const share = percent(shares[name]);
    return [textPart(`${share[0].toUpperCase()}${share.slice(1)} of its attention goes to ${tokens}${remark}.`)];
  }
  const width = decimals(2 ** shares.entropy, 1);
  return [textPart(`Its attention has the entropy of an even spread over ${width} tokens (${decimals(shares.entropy, 1)} bits).`)];
}

/** How much attention goes to hidden tokens; empty where it is nothing. @param {HeadMatrix} matrix */
export function describeHidden({ hidden }) {
  return hidden < 0.0005 ? "" : `Hidden tokens hold ${percent(hidden)} of the attention; rows sum to the rest.`;
}

// What an alignment says, as attnviz/analysis/translation_alignment.py says it; a test compares both.

/**
 * @typedef {[text: string, special: number, ...rest: any[]]} AlignedWord
 * @typedef {{ queries: AlignedWord[], keys: AlignedWord[], weight(query: number, key: number): number, strongestOf(query: number): number }} Alignment
 * @typedef {{ query: number, key: number, weight: number }} WordLink
 */

// From this weight on a link counts as the source of a word; small words are often off by one, and need a firmer one.
const [SURE, FIRM] = [0.4, 0.5];

/** Tell words and emoji from punctuation and special tokens. @param {AlignedWord} word */
const hasMeaning = ([text, special]) => isWord({ text, special: Boolean(special) }) || (!special && /[\p{Extended_Pictographic}\p{RI}]/u.test(text));

/** Words that changed their order, one word that became several, or that order was kept. @param {Alignment} alignment @returns {Sentence} */
export function describeAlignment(alignment) {
  const { queries, keys } = alignment;
  const links = queries
    .map((_, query) => ({ query, key: alignment.strongestOf(query), weight: alignment.weight(query, alignment.strongestOf(query)) }))
    .filter(({ query, key, weight }) => weight >= SURE && hasMeaning(queries[query]) && hasMeaning(keys[key]));
  if (!links.length) return [textPart("No word of the translation looks mainly at one word of the source.")];
  const sentence = [...describeOrder(alignment, links), ...describeSplit(alignment, links)];
  if (sentence.length) return sentence;
  if (links.filter(({ weight }) => weight >= FIRM).length > 1) return [textPart("The clearly linked words stand in the same order in both languages.")];
  // One word has no order.
  const { query, key } = links.reduce((best, each) => (each.weight > best.weight ? each : best));
  return [textPart("The clearest link is from "), quoted(queries[query][0]), textPart(" to "), quoted(keys[key][0]), textPart(".")];
}

/** The two neighbours, in the translation, that most surely stand in the other order in the source.
 * @param {Alignment} alignment @param {WordLink[]} links @returns {Sentence} */
function describeOrder({ queries, keys }, links) {
  const firm = links.filter(({ weight }) => weight >= FIRM);
  /** @type {[WordLink, WordLink][]} */
  const crossing = firm.slice(1).flatMap((two, index) => (two.key < firm[index].key ? [[firm[index], two]] : []));
  if (!crossing.length) return [];
  const least = (/** @type {[WordLink, WordLink]} */ [one, two]) => Math.min(one.weight, two.weight);
  const [one, two] = crossing.reduce((best, pair) => (least(pair) > least(best) ? pair : best));
  return [
    quoted(queries[one.query][0]), textPart(" stands before "), quoted(queries[two.query][0]), textPart(", but "),
    quoted(keys[one.key][0]), textPart(" after "), quoted(keys[two.key][0]), textPart(": the order changed. "),
  ];
}

/** The source word that most words of the translation look at, if they are several.
 * @param {Alignment} alignment @param {WordLink[]} links @returns {Sentence} */
function describeSplit({ queries, keys }, links) {
  const becomes = new Map();
  for (const link of links) becomes.set(link.key, [...(becomes.get(link.key) ?? []), link]);
  const [key, several] = [...becomes].reduce((best, each) => (each[1].length > best[1].length ? each : best));
  if (several.length < 2) return [];
  const last = several.length - 1;
  const names = several.flatMap((/** @type {WordLink} */ { query }, /** @type {number} */ index) => {
    return [textPart(index === 0 ? "" : index === last ? " and " : ", "), quoted(queries[query][0])];
  });
  return [...names.slice(1), textPart(last === 1 ? " both" : " all"), textPart(` look ${several.every((/** @type {WordLink} */ { weight }) => weight >= MOSTLY) ? "mostly" : "most"} at `), quoted(keys[key][0]), textPart(".")];
}

// How likely a translation that was given is to a model, beside its own.

/** Compares the probabilities of a translation that was given and of the model's own. @param {number} given ln p @param {number} own ln p @returns {Sentence} */
export function describeLikelihood(given, own) {
  const worse = own - given;
  const figures = textPart(`log p ${signed(given)} against ${signed(own)}.`);
  if (Math.abs(worse) < 0.01) return [textPart("The given text is as likely to this model as its own: "), figures];
  const factor = /** @type {Part} */ ([`${timesOf(Math.abs(worse))} ${worse > 0 ? "less" : "more"} likely`, 1]);
  return [textPart("To this model the given text is "), factor, textPart(" than its own: "), figures];
}

/** How likely a translation is to its model, and how well the model translates. @param {number} logProbability @param {number} [bleu] */
export function describeScore(logProbability, bleu) {
  const figures = [`log p of this translation: ${signed(logProbability)}`];
  return [...figures, ...(bleu === undefined ? [] : [`BLEU on held-out sentences: ${decimals(bleu, 1)}`])].join(" · ");
}

/** e to the power of a difference, as one says it. @param {number} difference */
function timesOf(difference) {
  if (difference === Infinity) return "infinitely";
  if (difference > Math.log(1e6)) return `10${raised(Math.round(difference / Math.LN10))} times`;
  const times = Math.exp(difference);
  return times >= 10 ? `${grouped(Math.round(times))} times` : `${times.toFixed(1)} times`;
}

// Tokens that could stand in a text, as attnviz/analysis/next_and_why.py names them; a test compares both.

/** Gives labels to what a language model says of a text. @param {any} writing as models/write.js makes it */
export function withLabels({ tokens, next, ...rest }) {
  return {
    ...rest,
    tokens: tokens.map((/** @type {[string, string | null, number]} */ [gap, text, share]) => [gap, text === null ? "" : visibleText(text), share]),
    next: next.map((/** @type {Named[]} */ all) => {
      const labels = candidateLabels(all);
      return all.map(([piece, text, , score], at) => [piece, text, labels[at], score]);
    }),
  };
}

/** A candidate: its piece, its text, whether it goes on with the word before, and ln p. @typedef {[string, string, boolean, number]} Named */

/** Each by a name of its own: spaces are seen where two would read alike. @param {Named[]} candidates */
function candidateLabels(candidates) {
  const names = candidates.map(candidateLabel);
  const spaced = names.map((name, at) => (names.indexOf(name) === names.lastIndexOf(name) ? name : spacedLabel(candidates[at], name)));
  return spaced.map((name, at) => (spaced.indexOf(name) < at ? candidates[at][0] : name));
}

/** @param {Named} candidate @param {string} name */
function spacedLabel([, text], name) {
  if (text.includes("\ufffd")) return (text.startsWith(" ") ? "␣ " : "") + name;
  return cutText(visibleText(text.replace(/ +/g, (run) => (run.length === 1 ? "␣" : `␣×${run.length}`))));
}

/** @param {Named} candidate */
function candidateLabel([piece, text, isJoined]) {
  if (!text) return piece;
  if (text.includes("\ufffd")) {
    const codes = Array.from(piece.replace(/^\u0120+/, ""), (letter) => LETTER_OF_BYTE.indexOf(letter).toString(16).toUpperCase().padStart(2, "0"));
    return `part of a letter (${codes.join(" ")})`;
  }
  return (isJoined ? "…" : "") + cutText(visibleText(text.replace(/^ +| +$/g, "")));
}

// Sentences in large type; a token in them is text, never markup.

/** @param {Element} place @param {Sentence[]} sentences */
export function tell(place, sentences) {
  place.replaceChildren(...sentences.map((sentence) => make("p", {}, ...sentence.map(drawPart))));
}

/** @param {Part} part */
function drawPart([text, strength]) {
  if (!strength) return text;
  return strength === 2 ? make("strong", {}, "“", make("bdi", {}, text), "”") : make("strong", { dir: "auto" }, text);
}
