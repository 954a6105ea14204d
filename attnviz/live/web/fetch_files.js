// ONNX Runtime and the tokenizers, fetched with the first model. WebAssembly travels compressed, whatever the server does.

import { make } from "../../figures/drawing/elements.js";

/**
 * @typedef {{ ort: any, Tokenizer: any }} Runtime
 * @typedef {(loaded: number, total: number, text?: string) => void} Progress  text: what is written so far
 */

/** @param {string} base of what runs models @param {number} bytes of the compressed WebAssembly @param {Progress} onProgress @returns {Promise<Runtime>} */
export async function openRuntime(base, bytes, onProgress) {
  assertCompiles();
  const vendor = new URL("vendor/", base);
  const [ort, { Tokenizer }, wasmBinary] = await Promise.all([
    importFrom(new URL("onnxruntime-web/ort.js", vendor)),
    importFrom(new URL("tokenizers/tokenizers.js", vendor)),
    fetchUnpacked(new URL("onnxruntime-web/ort.wasm.gz", vendor), bytes, onProgress),
  ]);
  // One thread: more need a page that is isolated, and phones end it.
  Object.assign(ort.env.wasm, { wasmBinary, numThreads: 1 });
  return { ort, Tokenizer };
}

/** What cuts a text into sentences. @param {string} base of what runs models @returns {Promise<(language: string, text: string) => { text: string }[]>} */
export async function openSegmenter(base) {
  const vendor = new URL("vendor/sentencex-wasm/", base);
  const [{ get_sentence_boundaries, initSync }, module] = await Promise.all([
    importFrom(new URL("sentencex.js", vendor)),
    fetchUnpacked(new URL("sentencex.wasm.gz", vendor)),
  ]);
  initSync({ module });
  return get_sentence_boundaries;
}

/** Fetches a file; the error's message names one of the sentences below. @param {string | URL} url */
export async function fetchFile(url) {
  const response = await fetch(url).catch(() => null);
  if (!response) throw new Error(navigator.onLine ? "download" : "offline");
  if (!response.ok) throw new Error(response.status === 404 ? "missing" : "server");
  return response;
}

/** @param {URL} script @returns {Promise<any>} */
export const importFrom = (script) => import(script.href).catch(async () => Promise.reject(new Error(await whyNoScript(script))));

/** Names the sentence that says why a script did not start. @param {URL} script */
export async function whyNoScript(script) {
  try {
    const { headers } = await fetchFile(script);
    return /javascript/.test(headers.get("content-type") ?? "") ? "policy" : "type";
  } catch (error) {
    return /** @type {Error} */ (error).message;
  }
}

/** Compiles the smallest WebAssembly there is: a policy that forbids it forbids all. */
function assertCompiles() {
  try {
    new WebAssembly.Module(Uint8Array.of(0, 97, 115, 109, 1, 0, 0, 0));
  } catch {
    throw new Error("policy");
  }
}

/** Fetches a file that travels compressed, whatever the server does. @param {URL} url @param {number} [bytes] @param {Progress} [onProgress] */
export async function fetchUnpacked(url, bytes = 0, onProgress = () => {}) {
  const response = await fetchFile(url);
  if (!response.body) throw new Error("download");
  let loaded = 0;
  onProgress(0, bytes);
  const counter = new TransformStream({
    transform(part, controller) {
      loaded += part.length;
      onProgress(Math.min(loaded, bytes), bytes);
      controller.enqueue(part);
    },
  });
  const content = await new Response(response.body.pipeThrough(counter)).arrayBuffer().catch(() => Promise.reject(new Error("download")));
  const [first, second] = new Uint8Array(content, 0, 2);
  // A server that says that the file is compressed has had the browser unpack it.
  if (first !== 0x1f || second !== 0x8b) return content;
  const unpacked = new Blob([content]).stream().pipeThrough(new DecompressionStream("gzip"));
  return new Response(unpacked).arrayBuffer().catch(() => Promise.reject(new Error("version")));
}

// What the site says, one sentence each.

/** @type {Record<string, string>} */
const SENTENCES = {
  "no text": "There is nothing to read yet: type a sentence first.",
  "no question": "There is no question yet: type one about the passage.",
  "no passage": "There is no passage to look in yet: paste one.",
  "too long": "This text is longer than the address of a page can hold, 16,000 letters: shorten it, or open it in the app.",
  "app only": "This link asks for something that only the app can do, such as edits: here is the picture without it.",
  alike: "The app also says how alike the model finds the two sentences.",
  beam: "The app also shows the other translations of the search, and its tree.",
  left: "Nothing was run: press Run to fetch the model again, or choose an example.",
  "no picture": "This picture could not be fetched: check the connection, and reload the page.",
  "no model": "This page of the site does not run this model: look at the examples, or open the link in the app.",
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

/** What the app shows of a picture besides, in a sentence; empty: nothing. @param {string} page @param {Record<string, string>} prompt @param {Record<string, any>} values */
export function shownInTheApp(page, { pair }, { decoding }) {
  if (page === "encode" && pair) return sentenceOf("alike");
  return page === "translate" && decoding === "Beam" ? sentenceOf("beam") : "";
}

// Hands a file to the person.

/** @param {string} name @param {Blob} content */
export function saveFile(name, content) {
  const link = Object.assign(document.createElement("a"), { href: URL.createObjectURL(content), download: name });
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 60_000);
}

// Where a picture is mounted: its style and that of the page do not meet.

/** @typedef {{ default: { Picture: new (root: HTMLElement, host: object) => any, STYLE: string } }} Script */

/** Makes a root in a shadow of its own, with its style. @param {HTMLElement} place @param {string} kind the class of the root @param {string} style */
export function shadowed(place, kind, style) {
  const shadow = place.attachShadow({ mode: "open" });
  const sheet = new CSSStyleSheet();
  sheet.replaceSync(style);
  shadow.adoptedStyleSheets = [sheet];
  const root = make("div", { class: kind });
  shadow.append(root);
  return { shadow, root: /** @type {HTMLElement & { walk?: { seq: number } }} */ (root) };
}

/** Mounts the picture of a script. @param {HTMLElement} place @param {string} kind the class of its root @param {URL} script */
export async function mountPicture(place, kind, script) {
  const { default: { Picture, STYLE } } = /** @type {Script} */ (await importFrom(script));
  return { picture: new Picture(shadowed(place, kind, STYLE).root, { pick() {}, want() {} }) };
}
