// Pictures that came with a site: what is read of their files, and what the worker is asked.

import assert from "node:assert/strict";
import test from "node:test";

import { SitePicture, isReadyPicture } from "../../../../attnviz/live/web/run_model.js";

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

test("an example with a translation of its own is the picture of an address that gives it", () => {
  const example = { models: ["a"], prompt: { text: "the", target: "le" }, opens: {}, into: "French" };
  const isReady = (prompt) => isReadyPicture({ page: "translate", fields: ["text"] }, example, prompt, {});
  assert.deepEqual([{ text: "the" }, { text: "the", target: "le" }, { text: "the", target: "la" }].map(isReady), [false, true, false]);
});
