// Texts in an address, as attnviz/text/url_text.py writes them: long ones are compressed.

const MARK = "~z~";
// Shorter ones can be read, and changed, by a person.
const READABLE = 300;
const LARGEST = 16_000;

/** Whether an address has room for a text. @param {string} text */
export const isInAddress = (text) => new TextEncoder().encode(text).length <= LARGEST;

/** How long a text is in an address as it was typed. @param {string} text */
const writtenLength = (text) => new TextEncoder().encode(text).reduce((sum, byte) => sum + (/[\w./~-]/.test(String.fromCharCode(byte)) ? 1 : 3), 0);

/** @param {string} text */
export async function packText(text) {
  const written = writtenLength(text);
  if (written <= READABLE && !text.startsWith(MARK)) return text;
  const data = await through(new TextEncoder().encode(text), new CompressionStream("deflate-raw"));
  const letters = Array.from(data, (byte) => String.fromCharCode(byte)).join("");
  const packed = MARK + btoa(letters).replaceAll("+", "-").replaceAll("/", "_").replace(/=+$/, "");
  return packed.length < written || text.startsWith(MARK) ? packed : text;
}

/** The text that was packed; null where it cannot be one. @param {string} written @returns {Promise<string | null>} */
export async function unpackText(written) {
  if (!written.startsWith(MARK)) return written;
  const data = written.slice(MARK.length).replace(/={1,2}$/, "");
  if (!/^[\w-]*$/.test(data)) return null;
  try {
    const letters = atob(data.replaceAll("-", "+").replaceAll("_", "/"));
    const bytes = Uint8Array.from(letters, (letter) => letter.charCodeAt(0));
    return new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(await through(bytes, new DecompressionStream("deflate-raw")));
  } catch {
    return null;
  }
}

/** A few bytes can stand for gigabytes: no more than a page writes is read.
 * @param {Uint8Array<ArrayBuffer>} bytes @param {CompressionStream | DecompressionStream} stream */
async function through(bytes, stream) {
  const reader = new Blob([bytes]).stream().pipeThrough(stream).getReader();
  const parts = [];
  let size = 0;
  for (let part = await reader.read(); !part.done; part = await reader.read()) {
    parts.push(part.value);
    size += part.value.length;
    if (size <= LARGEST) continue;
    await reader.cancel();
    throw new RangeError("too long");
  }
  return new Uint8Array(await new Blob(parts).arrayBuffer());
}
