// What is said of a cell: in the note beside the pointer, and to a screen reader.

import { make, word } from "./paint.js";

const SAY_AFTER = 150;

// The two lines of the note: the tokens, and the weight.
export function describeCell({ queries, keys }, head, query, key) {
  const name = ([text, , piece]) => (piece ? [make("strong", {}, word(text)), " (", word(piece), ")"] : [make("strong", {}, word(text))]);
  const masked = head.masked(query, key);
  const value = masked ? "masked: it cannot look there" : [head.signed ? "change " : "weight ", make("strong", {}, head.tell(query, key))];
  return [[...name(queries[query]), " → ", ...name(keys[key])], value];
}

// Says to a screen reader only what one rests on.
export class LiveRegion {
  constructor() {
    this.element = make("p", { class: "live", "aria-live": "polite" });
  }

  say(text) {
    clearTimeout(this.saying);
    this.saying = setTimeout(() => (this.element.textContent = text), SAY_AFTER);
  }

  sayCell({ queries, keys }, head, query, key) {
    this.say(`“${queries[query][0]}” to “${keys[key][0]}”, ${head.tell(query, key)}`);
  }
}
