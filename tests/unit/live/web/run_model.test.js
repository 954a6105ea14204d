// Pictures that came with a site: what is read of their files, and what the worker is asked.

import assert from "node:assert/strict";
import test from "node:test";
import { deflateSync } from "node:zlib";

import { FakeElement } from "../../figures/fake_page.js";
import { ExplorerPanel, cellShown } from "../../../../attnviz/live/web/explorer_panel.js";
import { Lens } from "../../../../attnviz/live/web/head_view.js";
import { mapOfFiles, overviewOf } from "../../../../attnviz/live/web/map_package.js";
import { END, beamSearch } from "../../../../attnviz/live/web/models/decoding.js";
import { Source, WordVectors } from "../../../../attnviz/live/web/models/model_files.js";
import { KEPT_OPTIONS, SitePicture, exampleOfText, isReadyPicture, optionsOf, remarkOf, writeOn } from "../../../../attnviz/live/web/run_model.js";
import { describeAlignment, describeLink } from "../../../../attnviz/live/web/wording.js";
import { unaskedLink } from "../../../../attnviz/live/web/write_panel.js";

test("heads of a long text come from the worker, all of them, where no word is asked about", async () => {
  const view = { words: false, hideSpecial: false };
  const asked = [];
  const background = { ask: async (work) => void asked.push(work) };
  const opened = (more) => new SitePicture({ name: "a", maps: [{ kind: "encoder", file: "a.pack", layers: ["a-0.heads"] }], ...more }, new URL("http://localhost/"), background);
  const picture = opened();
  await picture.overview("encoder", view);
  await picture.heads("encoder", view, [[0, 1]]);
  assert.deepEqual(asked, ["open", "overview", "heads"]);
  globalThis.fetch = async () => ({ ok: false });
  await assert.rejects(opened({ link: {} }).overview("encoder", view));
  assert.equal(asked.length, 3);
});

test("what the worker has forgotten of a picture that came with a site is opened again", async () => {
  const asked = [];
  const background = {
    async ask(work) {
      asked.push(work);
      if (work === "weights" && asked.length < 3) throw new Error("gone");
      if (work === "steps") throw new Error("memory");
      return work;
    },
  };
  const picture = new SitePicture({ name: "a", maps: [] }, new URL("http://localhost/"), background);
  assert.equal(await picture.table({}), "weights");
  assert.deepEqual(asked, ["open", "weights", "open", "weights"]);
  await assert.rejects(picture.ask("steps", {}), /memory/);
  assert.equal(asked.length, 5);
});

test("a model that the worker does not have is loaded before all of it is said to be kept", async () => {
  const answers = [];
  globalThis.self = { postMessage: ({ error, made }) => answers.push([error, made]) };
  globalThis.fetch = async () => ({ ok: false, status: 404 });
  await import("../../../../attnviz/live/web/worker.js");
  await globalThis.self.onmessage({ data: { id: 1, work: "complete", asked: { name: "minilm", modelFiles: "http://localhost/" } } });
  assert.deepEqual(answers, [["missing", undefined]]);
});

test("an example is the picture of an address that means its language, and its translation where it has one", () => {
  const example = (into, target) => ({ models: [into], prompt: { text: "the", ...(target && { target }) }, opens: {}, into });
  const examples = [example("French", "le"), example("German")];
  const readyFor = (prompt, values = {}) => examples.map((each) => isReadyPicture({ page: "translate", fields: ["text"], examples }, each, prompt, values)).indexOf(true);
  assert.deepEqual([{ text: "the" }, { text: "the", target: "le" }, { text: "the", target: "la" }].map((prompt) => readyFor(prompt)), [-1, 0, -1]);
  assert.deepEqual([{ into: "German" }, { models: ["German"] }, { into: "French" }].map((values) => readyFor({ text: "the" }, values)), [1, 1, -1]);
});

test("what to notice of an example is said of every model of which it is true", () => {
  const examples = [{ models: ["a"], prompt: { text: "the" }, model: "a", remark: "of a" }, { models: ["a", "b"], prompt: { text: "two" }, word: "deux", remark: "of deux" }];
  const saidOf = (prompt, models, written, hero = 1) => {
    const aligned = { models: written.map((translation) => ({ translation })) };
    return remarkOf(exampleOfText({ examples }, prompt), { said: { models, output: "" }, aligned: written.length ? aligned : null }, { hero });
  };
  assert.deepEqual([["a"], ["b"]].map((models) => saidOf({ text: "the" }, models, [])), ["of a", ""]);
  assert.deepEqual([1, 2].map((hero) => saidOf({ text: "two" }, ["b", "c"], ["deux", "dos"], hero)), ["of deux", ""]);
  assert.deepEqual([{ text: "the", pair: "two" }, { text: "no" }].map((prompt) => saidOf(prompt, ["a"], [])), ["", ""]);
});

test("what is left of a model counts no file that the browser keeps of another visit", async () => {
  const files = [{ file: "a", bytes: 1 }, { file: "b", bytes: 2 }];
  const vectors = new WordVectors({ width: 1, rows_per_file: 1, files }, { base: "http://localhost/" });
  assert.equal(await vectors.left(), 3);
  globalThis.caches = { match: async (url) => (url === "http://localhost/a" ? {} : undefined) };
  assert.equal(await vectors.left(), 2);
  delete globalThis.caches;
});

test("p of a translation is the model's own, whatever else it may not write", async () => {
  // What follows each token; token 4 is the likeliest at first, and not to be written.
  const shares = { 1: [0.1, 0.1, 0.1, 0.25, 0.45], 3: [0.1, 0.1, 0.4, 0.1, 0.3], 4: [0.2, 0.2, 0.2, 0.2, 0.2] };
  const decoder = { next: async (tokens) => ({ scores: Float32Array.from(tokens.flatMap((token) => shares[token].map(Math.log))), after: decoder }), select: () => decoder };
  const [best] = await beamSearch(decoder, { width: 1, longest: 5, never: [0, 1, 4] });
  assert.deepEqual(best.tokens, [3, END]);
  assert.ok(Math.abs(best.logProbability - Math.log(0.25 * 0.4)) < 1e-6);
});

test("what did not come of a model is named in words", async () => {
  const meta = { width: 1, rows_per_file: 1, files: [{ file: "minilm/words/7.gz", bytes: 3, size: 3, sha256: "" }] };
  const broken = new ReadableStream({ pull: (stream) => stream.error(new Error("reset")) });
  const answers = [() => Promise.reject(new Error("offline")), async () => new Response("", { status: 404 }), async () => new Response(broken), async () => new Response("long")];
  const saidOf = (work) => work.then(() => "", ({ name, message }) => `${name}: ${message}`);
  const said = await Promise.all(answers.flatMap((get) => {
    const source = new Source("http://localhost/", get, () => {});
    return [saidOf(new WordVectors(meta, source).of([0])), saidOf(source.all(meta.files))];
  }));
  const ends = ["could not be fetched: check the connection, and press Run again.", "is no longer on the server: reload the page, for the site may have been published anew.",
    "came only in part: press Run again.", "is of another version than this page: reload the page."];
  assert.deepEqual(said, ends.flatMap((end) => ["The part of the model that knows some words of this text", "The model"].map((what) => `ModelError: ${what} ${end}`)));
});

const THUMBS = [1, 2, 3, 4, 5, 6, 7, 8, 9];

/** A map as it comes with a site, of the tokens a, b and c, and what its only head is said to link hardest. */
function shippedMap(weights, link) {
  const codes = Uint8Array.from([...weights.map((each) => (each * 10_000) & 255), ...weights.map((each) => (each * 10_000) >> 8)]);
  const chunk = [4, ...deflateSync(codes)], thumbs = deflateSync(Uint8Array.from(THUMBS));
  const places = ["a", "b", "c"].map((_, at) => [2 * at, 2 * at + 1, 0, at]), tokens = ["a", "b", "c"].map((text) => [text, 0, ""]);
  const header = { kind: "encoder", layers: 1, heads: 1, causal: false, queries: tokens, keys: tokens, notes: [{ link }],
    places: { queries: places, keys: places }, rows: 3, columns: 3,
    chunks: { "0:0": [0, chunk.length], thumbs: [chunk.length, thumbs.length] } };
  return mapOfFiles({ kind: "encoder", file: "a" }, async () => packed(header, ...chunk, ...thumbs));
}

function packed(header, ...chunks) {
  const bytes = new TextEncoder().encode(JSON.stringify(header));
  return Uint8Array.of(...new Uint8Array(Uint32Array.of(bytes.length).buffer), ...bytes, ...chunks).buffer;
}

test("a word of a translation that travels looks at the word that was asked, or where it looks most", async () => {
  const words = ["le", "chat", "</s>"].map((text) => [text, text === "</s>" ? 1 : 0]);
  const model = { slot: 1, queries: words.slice(0, 2), keys: words, rows: [0, 1], columns: [0, 1, 2] };
  const weights = new Uint8Array(Float32Array.of(0.7, 0.2, 0.1, 0.1, 0.3, 0.6).buffer);
  const file = packed({ models: [model], cells: { 1: [0, 2] }, firstRows: { 1: 1 }, chunks: { 1: [0, weights.length] } }, ...weights);
  globalThis.fetch = async () => new Response(file);
  const picture = new SitePicture({ name: "a", maps: [{ kind: "cross" }] }, new URL("http://localhost/"), {});
  const asked = [{}, { query1: 2 }, { query1: 2, key1: 0 }, { query1: 2, key1: 3 }, { query1: 3, key1: 0 }, { key1: 1 }, {}];
  const cells = await Promise.all(asked.map(async (values) => (await picture.alignments(values)).cells[1]));
  assert.deepEqual(cells, [[0, 2], [1, 1], [1, 0], [1, 1], [0, 2], [0, 2], [0, 2]]);
  // What did not come is fetched again.
  const late = new SitePicture({ name: "a", maps: [{ kind: "cross" }] }, new URL("http://localhost/"), {});
  globalThis.fetch = async () => ({ ok: false });
  await assert.rejects(late.alignments({}));
  globalThis.fetch = async () => new Response(file);
  assert.deepEqual((await late.alignments({})).cells[1], [0, 2]);
});

test("of weights that are alike in the digits that travel the strongest is the one that was", async () => {
  const matrix = new Lens(await shippedMap([0, 1, 0, 0, 0, 1, 1, 0, 0], [1, 2, 1]), {}).matrix(0, 0);
  const said = (cell) => describeLink(matrix, "L0·H0", cell).map(([text]) => text).join("");
  assert.equal(said([1, 2]), "L0·H0 sends b to c with weight 100\u00a0%: its strongest link between different words.");
  assert.match(said([0, 2]), /with weight under 1\u00a0%; its strongest link between different words is b to c/);
});

test("a token that is a part of a word is called a token", () => {
  const tokens = [{ text: "un", segment: 0, word: 0 }, { text: "seen", segment: 0, word: 0 }, { text: "[SEP]", word: null }, { text: "un", segment: 1, word: 0 }];
  const said = (cell) => describeLink({ weights: new Float32Array(16).fill(0.5), queries: tokens, keys: tokens, visible: () => true, link: null }, "L0", cell).map(([text]) => text).join("");
  assert.equal(said([1, 3]), "L0 sends the token seen to un with weight 50\u00a0%.");
  assert.equal(said([2, 0]), "L0 sends [SEP] to the token un with weight 50\u00a0%.");
});

test("small pictures are those that came, where a view shows all of a map, and not of the digits that travel", async () => {
  const map = await shippedMap([0.5, 0.5, 0, 0, 1, 0, 1, 0, 0], [1, 2, 1]);
  const [all, hidden] = [{}, { hideSpecial: true }].map((view) => overviewOf({ ...map, queries: map.queries.map((each, at) => ({ ...each, special: !at })) }, view));
  assert.deepEqual([[...all.chunks.get("thumbs")], all.notes], [THUMBS, [{ link: [1, 2, 1] }]]);
  assert.deepEqual([...hidden.chunks.get("thumbs")], [0, 254, 0, 254, 0, 0]);
});

test("a word that a text does not have is not asked about on Write", () => {
  const [writing, link] = [{ pieces: ["a", "b", "a"], next: [[], [], [["b"]]] }, { query: 2, key: 1 }];
  const shown = (values, said = { writing, link }) => unaskedLink({ said }, values, false);
  assert.deepEqual([{ query: 2, key: 0 }, { query: 3, key: 0, keys: "1" }].map((values) => shown(values)), [{ query: 2, key: 0 }, {}]);
  assert.deepEqual([{ query: 3, key: 0 }, {}].map((values) => shown(values, { writing })), Array(2).fill({ query: 2, key: 1 }));
});

test("a link that a picture does not show whole is not chosen", () => {
  const overview = { at: [[0, 1, 4], [0, 1, 4]], queries: [["a"], ["bc"], ["d"]], keys: [["a"], ["bc"], ["d"]] };
  const cells = [[4, 1], [4, 2], [4, null], [9, 1], [null, null]].map(([query, key]) => cellShown(overview, query, key));
  assert.deepEqual(cells, [{ query: 2, key: 1 }, ...Array(4).fill({ query: null, key: null })]);
});

test("further words are asked about behind a first one alone", async () => {
  globalThis.CSSStyleSheet = class { replaceSync() {} };
  const asked = [];
  globalThis.Asked = class { host = {}; state = { store: { isComplete: true } }; open() {} update = ({ words }) => asked.push([words.queries, words.keys]); };
  const place = Object.assign(new FakeElement("div"), { attachShadow: () => new FakeElement("shadow") });
  const panel = new ExplorerPanel(place, new URL("data:text/javascript,export default { Picture: Asked, STYLE: '' }"), () => {});
  const overview = { layers: 1, heads: 1, queries: [["a"], ["b"]], keys: [["a"], ["b"]] };
  for (const [isAsked, isLink] of [[true, true], [true, false], [false, false]]) {
    const picture = { maps: [{ kind: "encoder", tokens: [2, 2] }], linked: { query: 0, key: 0, isAsked, isLink }, overview: () => overview };
    await panel.show(picture, { kind: "encoder", layer: 0, head: 0, view: {}, slot: "", isFull: true }, { queries: "1", keys: "1" });
  }
  assert.deepEqual(asked, [[[1], [1]], [[1], []], [[], []]]);
});

test("a character that nobody sees is no word of a translation", () => {
  const said = (name) => describeAlignment({ queries: [["est", 0]], keys: [[name, 0]], weight: () => 1, strongestOf: () => 0 }).map(([text]) => text).join("");
  assert.deepEqual(["is", "U+200D", "😀", "🇫🇷", "!"].map((name) => said(name).startsWith("The clearest link")), [true, false, true, true, false]);
});

test("what was written takes nobody away from the picture that they have gone on to", async () => {
  const went = [];
  const page = { values: {}, picture: { said: { prompt: { text: "a" } } }, config: { models: ["m"], page: "write" }, modelFiles: new URL("http://localhost/"),
    parts: { busy: new FakeElement("div") }, go: (values) => went.push(values.written), say() {}, fail: () => went.push("failed") };
  const { picture } = page;
  for (const [next, made] of [[picture, () => ["b"]], [{}, () => ["b"]], [{}, () => Promise.reject(new Error("left"))]]) {
    page.background = { ask: async () => made(Object.assign(page, { picture: next })) };
    await writeOn(Object.assign(page, { picture }));
  }
  assert.deepEqual(went, ["b"]);
});

test("a bar stays while something else is under way, and what was said before does not", async () => {
  const [busy, said] = [Object.assign(new FakeElement("div"), { hidden: true }), []];
  const page = { values: {}, picture: { said: { prompt: { text: "a" } } }, config: { models: ["m"], page: "write" }, modelFiles: new URL("http://localhost/"),
    parts: { busy }, go() {}, say: (text) => said.push(text), fail() {} };
  const ends = [];
  const background = { ask: () => new Promise((resolve) => ends.push(resolve)) };
  const runs = [writeOn({ ...page, background }), writeOn({ ...page, background })];
  await new Promise((go) => setTimeout(go, 200));
  assert.deepEqual(said, ["", ""]);
  for (const [at, isHidden] of [false, true].entries()) {
    ends[at]([]);
    await runs[at];
    assert.equal(busy.hidden, isHidden);
  }
});

test("another text is run as the one before was", () => {
  const read = new Set(), values = new Proxy({}, { get: (_, name) => void read.add(name) });
  for (const page of ["translate", "summarize"]) optionsOf({ page, amount: {} }, values);
  // What was written goes on from the text before.
  read.delete("written");
  assert.ok(read.size > 5);
  assert.deepEqual([...read].filter((name) => !KEPT_OPTIONS.includes(name)), []);
});

test("the picture that was asked for last stays, though another one comes later", async () => {
  globalThis.CSSStyleSheet = class { replaceSync() {} };
  const opened = [];
  globalThis.Opened = class { host = {}; state = {}; open = (overview) => opened.push(overview.name); update() {} };
  const place = Object.assign(new FakeElement("div"), { attachShadow: () => new FakeElement("shadow") });
  const panel = new ExplorerPanel(place, new URL("data:text/javascript,export default { Picture: Opened, STYLE: '' }"), () => {});
  const overview = (name) => ({ name, layers: 1, heads: 1, queries: [], keys: [] });
  const comes = Promise.withResolvers();
  const picture = (made) => ({ maps: [{ kind: "encoder", tokens: [1, 1] }], linked: null, overview: () => made });
  const shown = { kind: "encoder", layer: 0, head: 0, view: {}, slot: "", isFull: true };
  const first = panel.show(picture(comes.promise), shown, {});
  await panel.show(picture(overview("last")), shown, {});
  comes.resolve(overview("late"));
  assert.deepEqual([await first, opened], [true, ["last"]]);
});

test("a head that does not come is said in its picture, and nothing of one that is looked at no more", async () => {
  globalThis.CSSStyleSheet = class { replaceSync() {} };
  const told = [];
  globalThis.Failing = class { host = {}; state = {}; open() {} update() {} fail = ({ message }) => told.push(message); };
  const place = Object.assign(new FakeElement("div"), { attachShadow: () => new FakeElement("shadow") });
  const panel = new ExplorerPanel(place, new URL("data:text/javascript,export default { Picture: Failing, STYLE: '' }"), () => {});
  const shown = { kind: "encoder", layer: 0, head: 0, view: {}, slot: "", isFull: true };
  const picture = (heads) => ({ maps: [{ kind: "encoder", tokens: [1, 1] }], linked: null, heads, overview: () => ({ layers: 1, heads: 1, queries: [], keys: [] }) });
  const comes = Promise.withResolvers();
  await panel.show(picture(() => comes.promise), shown, {});
  const { picture: { host } } = await panel.mounted;
  host.want([[0, 0]]);
  await panel.show(picture(() => Promise.reject(new Error("no network"))), shown, {});
  comes.reject(new Error("late"));
  host.want([[0, 0]]);
  await new Promise((resolve) => setTimeout(resolve));
  assert.deepEqual(told, ["no network"]);
});
