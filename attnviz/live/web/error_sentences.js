// What the site says, one sentence each.

/** @type {Record<string, string>} */
const SENTENCES = {
  "no text": "There is nothing to read yet: type a sentence first.",
  "no question": "There is no question yet: type one about the passage.",
  "no passage": "There is no passage to look in yet: paste one.",
  "too long": "This text is longer than the address of a page can hold, 16,000 letters: shorten it, or open it in the app.",
  "app only": "This link asks for something that only the app can do, such as edits: here is the picture without it.",
  left: "Nothing was run: press Run to fetch the model again, or choose an example.",
  "no picture": "This picture could not be fetched: check the connection, and reload the page.",
  "no model": "This model is not part of this site: choose another one, or open the link in the app.",
  "no webassembly": "This browser has no WebAssembly, which the model needs: the examples can be seen, and other texts in another browser.",
  "no room": "This browser has no room left to keep the model: it works, and is fetched again at the next visit.",
  version: "The model's file is of another version of this site: reload the page to fetch the right one.",
  offline: "There is no connection: what was opened before can be seen, and the rest when it is back.",
  missing: "The server has a file of this page no more: reload the page, for the site may have been published anew.",
  server: "The server refused a file of this page: try again later, or tell whoever runs it.",
  type: "The server sends scripts as another type than text/javascript, and the browser refuses them: whoever runs it can mend that.",
  policy: "The Content-Security-Policy that the server sends forbids what the model needs: whoever runs it can allow 'self' and 'wasm-unsafe-eval'.",
  memory: "There is not enough memory for that: close other tabs, or run a shorter text.",
  download: "The model could not be fetched: check the connection, and press Run again. The examples can be seen without it.",
  gone: "This picture is no longer in memory: press Run to compute it again.",
};

/** @param {string} name */
export function sentenceOf(name) {
  return SENTENCES[name] ?? "This text could not be read: reload the page, and press Run again.";
}
