// The pieces of a text by its tokenizer, and where each stands in the text; offsets count code points.
//
// The library gives pieces without places. Here its own steps run one after the other, over characters that know where they came
// from: normalized one by one, cut into words, and words into pieces, whose lengths say which characters they are of.

/**
 * @typedef {{ id: number, piece: string, start: number, end: number, word: number }} Piece
 * @typedef {{ text: string, start: number, end: number }} Character what a character of the text has become, and where it stood
 * @import { Tokenizer } from "@huggingface/tokenizers"
 */

/**
 * Cut a text into pieces; `word` numbers the words that the tokenizer cut first.
 * @param {Tokenizer} tokenizer
 * @param {string} text
 * @returns {Piece[]}
 */
export function piecesOf(tokenizer, text) {
  /** @type {Piece[]} */
  const pieces = [];
  let word = 0;
  for (const { mark, content, at } of sections(tokenizer, text)) {
    if (mark !== undefined) {
      pieces.push({ id: mark, piece: content, start: at, end: at + [...content].length, word });
      word += 1;
      continue;
    }
    const characters = normalized(tokenizer, content, at);
    if (!characters.length) continue;
    for (const { piece, own } of words(tokenizer, characters)) {
      pieces.push(...piecesOfWord(tokenizer, piece, own, word));
      word += 1;
    }
  }
  return pieces;
}

/**
 * Whether Python takes a character for a space.
 * @param {string} letter
 */
export function isSpace(letter) {
  return (/\s/u.test(letter) && letter !== "\ufeff") || (letter >= "\u001c" && letter <= "\u001f") || letter === "\u0085";
}

/**
 * Widen spans so that every character that is no space is in one, as attnviz.text.tokens does.
 * @param {[number, number][]} spans
 * @param {string[]} letters
 * @param {boolean} isWhole whether the text was not cut: then that holds for its ends, too
 * @returns {[number, number][]}
 */
export function covering(spans, letters, isWhole) {
  const full = spans.filter(([start, end]) => start < end).sort((one, other) => one[0] - other[0] || one[1] - other[1]);
  /** @type {Map<number, number>} */
  const starts = new Map();
  /** @type {Map<number, number>} */
  const ends = new Map();
  let reach = 0;
  for (const [start, end] of full) {
    let first = start;
    // Without a space, all of a gap belongs to the token before it.
    const hasSpace = letters.slice(reach, start).some(isSpace);
    if (reach && hasSpace && !isSpace(letters[start])) while (first > reach && !isSpace(letters[first - 1])) first -= 1;
    if (reach) ends.set(reach, endOf(letters, reach, first));
    else if (isWhole) for (first = 0; first < start && isSpace(letters[first]); ) first += 1;
    if (!starts.has(start)) starts.set(start, first);
    reach = Math.max(reach, end);
  }
  if (reach && isWhole) ends.set(reach, endOf(letters, reach, letters.length));
  else for (let end = reach; reach && end < letters.length && /\p{M}/u.test(letters[end]); ) ends.set(reach, (end += 1));
  return spans.map(([start, end]) => (start < end ? [starts.get(start) ?? start, ends.get(end) ?? end] : [start, end]));
}

/**
 * Leave the spaces at the end of a part out.
 * @param {string[]} letters
 * @param {number} from
 * @param {number} to
 */
function endOf(letters, from, to) {
  let end = Math.max(from, to);
  while (end > from && isSpace(letters[end - 1])) end -= 1;
  return end;
}

/**
 * Divide a text at what the vocabulary has as a whole, such as [MASK].
 * @param {Tokenizer} tokenizer
 * @param {string} text
 */
export function sections(tokenizer, text) {
  const marks = [...tokenizer.get_added_tokens_decoder()].map(([id, { content }]) => /** @type {const} */ ([content, id]));
  const ids = new Map(marks);
  const escaped = [...ids.keys()].map((content) => content.replace(/[.*+?^${}()|[\]\\]/g, "\\$&"));
  let at = 0;
  return text.split(new RegExp(`(${escaped.join("|")})`, "u")).map((content) => {
    const section = { content, mark: ids.get(content), at };
    at += [...content].length;
    return section;
  });
}

// As BERT's own code counts them.
const IDEOGRAPH = /^[\u{20000}-\u{2a6df}\u{2a700}-\u{2b81f}\u{2b920}-\u{2ceaf}\u{2f800}-\u{2fa1f}]/u;

/**
 * Normalize a text so that each character knows where it came from.
 * @param {Tokenizer} tokenizer
 * @param {string} text
 * @param {number} at where the text begins
 * @returns {Character[]}
 */
function normalized(tokenizer, text, at) {
  const normalizer = /** @type {(text: string) => string} */ (/** @type {unknown} */ (tokenizer.normalizer));
  // The library takes a byte order mark for a space where it is a letter, and an ideograph beyond U+FFFF for a letter where it is apart.
  const keepsControls = normalizer("a\x01") !== "a";
  const normal = (/** @type {string} */ part) => {
    if (keepsControls && part === "\ufeff") return part;
    return IDEOGRAPH.test(part) ? normalizer("\u4e00").replace("\u4e00", normalizer(part)) : normalizer(part);
  };
  /** @type {Character[]} */
  const characters = [];
  // A letter with its marks is one; what is normalized alone would stay apart. Spaces become one.
  for (const given of text.match(/\p{White_Space}+|[\u1100-\u11ff]+|[^\p{White_Space}\p{M}]\p{M}*|\p{M}+/gu) ?? []) {
    const parts = /\p{M}/u.test(given) && given.normalize("NFC") === given ? [...given] : [given];
    for (const part of parts) {
      const end = at + [...part].length;
      // Of several spaces the last one counts, as in Python.
      if (/^\p{White_Space}/u.test(part) && (keepsControls || /[^\x85]/.test(part))) characters.push({ text: " ", start: end - 1, end });
      else for (const character of normal(part)) characters.push({ text: character, start: at, end });
      at = end;
    }
  }
  while (characters.at(-1)?.text === " ") characters.pop();
  return characters.slice(Math.max(0, characters.findIndex((character) => character.text !== " ")));
}

/**
 * Cut characters into words, as the tokenizer does before it looks for pieces.
 * @param {Tokenizer} tokenizer
 * @param {Character[]} characters
 */
function words(tokenizer, characters) {
  const cutter = /** @type {(text: string) => string[]} */ (/** @type {unknown} */ (tokenizer.pre_tokenizer));
  let at = 0;
  return cutter(characters.map(({ text }) => text).join("")).map((piece) => {
    /** @type {Character[]} */
    const own = [];
    for (const letter of piece) {
      while (at < characters.length && letter !== characters[at].text && characters[at].text === " " && letter !== "▁") at += 1;
      const stands = at < characters.length && (letter === characters[at].text || characters[at].text === " ");
      // A mark that the tokenizer sets before a text counts as its first character, as in Python.
      const { start, end } = characters[at] ?? { start: 0, end: 0 };
      own.push(stands ? characters[at] : { text: letter, start, end });
      at += stands ? 1 : 0;
    }
    return { piece, own };
  });
}

/**
 * Cut a word into pieces of the vocabulary.
 * @param {Tokenizer} tokenizer
 * @param {string} given
 * @param {Character[]} own
 * @param {number} word
 * @returns {Piece[]}
 */
function piecesOfWord(tokenizer, given, own, word) {
  const model = /** @type {any} */ (tokenizer.model);
  const names = /** @type {string[]} */ (model([given]));
  const prefix = model.config.continuing_subword_prefix ?? "";
  let at = 0;
  return names.map((piece, place) => {
    const start = at;
    if (piece !== model.unk_token) at += [...piece].length - (place && prefix ? prefix.length : 0);
    // A whole word that is not known; or, where pieces are letters at least, all letters that are not.
    else if (prefix) at = own.length;
    else for (at += 1; at < own.length && !model.tokens_to_ids.has(own[at].text); ) at += 1;
    const characters = own.slice(start, at);
    const id = model.tokens_to_ids.get(piece) ?? model.unk_token_id;
    return { id, piece, start: characters[0]?.start ?? 0, end: characters.at(-1)?.end ?? 0, word };
  });
}
