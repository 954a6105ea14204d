// ONNX Runtime and the tokenizers, fetched with the first model. WebAssembly travels compressed, whatever the server does.

/**
 * @typedef {{ ort: any, Tokenizer: any }} Runtime
 * @typedef {(loaded: number, total: number) => void} Progress
 */

/** @param {URL} root of the site @param {number} bytes of the compressed WebAssembly @param {Progress} onProgress @returns {Promise<Runtime>} */
export async function openRuntime(root, bytes, onProgress) {
  const vendor = new URL("vendor/", root);
  const [ort, { Tokenizer }, wasmBinary] = await Promise.all([
    importFrom(new URL("onnxruntime-web/ort.js", vendor)),
    importFrom(new URL("tokenizers/tokenizers.js", vendor)),
    fetchUnpacked(new URL("onnxruntime-web/ort.wasm.gz", vendor), bytes, onProgress),
  ]);
  // One thread: more need a page that is isolated, and phones end it.
  Object.assign(ort.env.wasm, { wasmBinary, numThreads: 1 });
  return { ort, Tokenizer };
}

/** What cuts a text into sentences. @param {URL} root of the site @returns {Promise<(language: string, text: string) => { text: string }[]>} */
export async function openSegmenter(root) {
  const vendor = new URL("vendor/sentencex-wasm/", root);
  const [{ get_sentence_boundaries, initSync }, module] = await Promise.all([
    importFrom(new URL("sentencex.js", vendor)),
    fetchUnpacked(new URL("sentencex.wasm.gz", vendor), 0, () => {}),
  ]);
  initSync({ module });
  return get_sentence_boundaries;
}

/** @param {URL} script @returns {Promise<any>} */
const importFrom = (script) => import(script.href).catch(() => Promise.reject(new Error("download")));

/** @param {URL} url @param {number} bytes @param {Progress} onProgress */
async function fetchUnpacked(url, bytes, onProgress) {
  const response = await fetch(url).catch(() => null);
  if (!response?.ok || !response.body) throw new Error("download");
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
