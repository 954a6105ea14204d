// Packages as Python packs them (packages.py), and the heads unpacked from them.

export const MASKED = 65535;
export const THUMB_MASKED = 255;
// Codes of this many cells stay unpacked: 64 MB. What was looked at longest ago goes first.
const CELLS_KEPT = 32e6;

export function readPackage(data) {
  const bytes = data instanceof Uint8Array ? data : new Uint8Array(data);
  const body = 4 + new DataView(bytes.buffer, bytes.byteOffset, 4).getUint32(0, true);
  const header = JSON.parse(new TextDecoder().decode(bytes.subarray(4, body)));
  const chunks = new Map();
  for (const [name, [start, size]] of Object.entries(header.chunks)) {
    chunks.set(name, bytes.subarray(body + start, body + start + size));
  }
  return { ...header, chunks };
}

async function inflate(bytes) {
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate"));
  return new Uint8Array(await new Response(stream).arrayBuffer());
}

// "3:1" is L3·H1, "3:mean" the mean over the heads of layer 3.
export const headName = (layer, head) => `${layer}:${head ?? "mean"}`;
export const headTitle = (layer, head) => (head === null ? `L${layer}, mean of all heads` : `L${layer}·H${head}`);

// The heads of one map under one view. A head that is not here is asked for, and waited for.
export class HeadStore {
  constructor(overview, ask) {
    Object.assign(this, { overview, ask, chunks: new Map(overview.chunks), unpacked: new Map(), waiting: new Map() });
    this.thumbs = inflate(overview.chunks.get("thumbs"));
  }

  // Asks again for what has not come: of two messages that a host is sent at once, the first may be lost.
  add(chunks) {
    for (const [name, chunk] of chunks) {
      this.chunks.set(name, chunk);
      this.waiting.get(name)?.resolve();
      this.waiting.delete(name);
    }
    if (this.waiting.size) this.askAll();
  }

  askAll() {
    this.ask(Array.from(this.waiting.values(), ({ place }) => place));
  }

  has(layer, head) {
    return this.chunks.has(headName(layer, head));
  }

  // The head if it is unpacked already, to draw without waiting.
  ready(layer, head) {
    return this.unpacked.get(headName(layer, head))?.value ?? null;
  }

  head(layer, head) {
    const name = headName(layer, head);
    const kept = this.unpacked.get(name) ?? { value: null };
    this.unpacked.delete(name);
    this.unpacked.set(name, kept);
    kept.promise ??= this.unpack(layer, head).then((value) => {
      kept.value = value;
      this.forgetOldest();
      return value;
    });
    // What failed is tried again when it is next asked for.
    kept.promise.catch(() => this.unpacked.delete(name));
    return kept.promise;
  }

  async unpack(layer, head) {
    const name = headName(layer, head);
    if (!this.chunks.has(name)) {
      if (!this.waiting.has(name)) this.waiting.set(name, { ...Promise.withResolvers(), place: [layer, head] });
      this.askAll();
      await this.waiting.get(name).promise;
    }
    const chunk = this.chunks.get(name);
    const bytes = await inflate(chunk.subarray(1));
    const cells = bytes.length / 2;
    const codes = new Uint16Array(cells);
    const { queries, keys, signed = false } = this.overview;
    // Of a difference the codes begin at -1.
    const zero = signed ? 10 ** chunk[0] : 0;
    let highest = 0;
    let anyMasked = false;
    for (let cell = 0; cell < cells; cell++) {
      const code = bytes[cell] | (bytes[cells + cell] << 8);
      codes[cell] = code;
      if (code === MASKED) anyMasked = true;
      else if (Math.abs(code - zero) > highest) highest = Math.abs(code - zero);
    }
    const sizes = { nQueries: queries.length, nKeys: keys.length };
    return new Head({ layer, head, codes, decimals: chunk[0], highest, anyMasked, signed, zero, ...sizes });
  }

  forgetOldest() {
    let cells = 0;
    for (const { value } of this.unpacked.values()) cells += value?.codes.length ?? 0;
    for (const [name, { value }] of this.unpacked) {
      if (cells <= CELLS_KEPT || this.unpacked.size === 1) return;
      if (!value) continue;
      cells -= value.codes.length;
      this.unpacked.delete(name);
    }
  }
}

class Head {
  constructor(parts) {
    Object.assign(this, parts, { one: 10 ** parts.decimals });
  }

  masked(query, key) {
    return this.codes[query * this.nKeys + key] === MASKED;
  }

  // A masked cell has a weight of exactly 0.
  weight(query, key) {
    const code = this.codes[query * this.nKeys + key];
    return code === MASKED ? 0 : (code - this.zero) / this.one;
  }

  tell(query, key) {
    return this.masked(query, key) ? "masked" : this.write(this.weight(query, key));
  }

  // A weight with its digits, a difference with its sign.
  write(weight) {
    return `${this.signed && weight > 0 ? "+" : ""}${weight.toFixed(this.decimals)}`;
  }

  // The largest weights, of a difference the furthest from 0, as [query, key, weight], the largest first.
  strongest(count) {
    const candidates = [];
    let least = 0;
    for (let cell = 0; cell < this.codes.length; cell++) {
      const size = Math.abs(this.codes[cell] - this.zero);
      if (size <= least || this.codes[cell] === MASKED) continue;
      candidates.push([cell, size]);
      if (candidates.length < 8 * count) continue;
      candidates.sort((one, other) => other[1] - one[1]).length = count;
      least = candidates.at(-1)[1];
    }
    candidates.sort((one, other) => other[1] - one[1]);
    const link = ([cell]) => [Math.floor(cell / this.nKeys), cell % this.nKeys, (this.codes[cell] - this.zero) / this.one];
    return candidates.slice(0, count).map(link);
  }

  // The strongest link of one query, or of one key, as [query, key]; null where all is masked.
  strongestOf(axis, index) {
    let [place, largest] = [null, -1];
    const count = axis === "queries" ? this.nKeys : this.nQueries;
    for (let other = 0; other < count; other++) {
      const [query, key] = axis === "queries" ? [index, other] : [other, index];
      const size = Math.abs(this.weight(query, key));
      if (this.masked(query, key) || size <= largest) continue;
      largest = size;
      place = [query, key];
    }
    return place;
  }
}
