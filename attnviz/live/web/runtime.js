// ONNX Runtime and the tokenizers, fetched with the first model. WebAssembly travels compressed, whatever the server does.

/**
 * @typedef {{ ort: any, Tokenizer: any }} Runtime
 * @typedef {(loaded: number, total: number) => void} Progress
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
    fetchUnpacked(new URL("sentencex.wasm.gz", vendor), 0, () => {}),
  ]);
  initSync({ module });
  return get_sentence_boundaries;
}

/** Fetches a file; the error's message names a sentence of error_sentences.js. @param {string | URL} url */
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

/** @param {URL} url @param {number} bytes @param {Progress} onProgress */
async function fetchUnpacked(url, bytes, onProgress) {
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
