// A front that keeps the app's own routes to itself is told from one that passes them on, and from a server that is down.

import assert from "node:assert/strict";
import test from "node:test";

import { isForeign, openInApp, refusesPhones } from "../../../../../attnviz/ui/classroom/phone/server_connection.js";

/** @param {number} status @param {string} type @param {string} body */
const says = (status, type, body) => () => new Response(body, { status, headers: { "content-type": type } });
const redirected = () => Object.defineProperty(Response.error(), "status", { value: 0 });
const [PHONE, STREAMLIT, OTHER] = ['<main id="phone">', '<div id="root">', "<h1>A school</h1>"].map((body) => says(200, "text/html", body));
const [OURS, MISSING, DOWN] = [says(403, "application/json", '{"reason":"forbidden"}'), says(404, "text/html", "none"), says(502, "text/html", "down")];
const AWAY = () => { throw new TypeError("no line"); };

/** @param {Record<string, () => Response>} answers by the end of an address */
function behind(answers) {
  globalThis.fetch = async (address) => {
    const [, answer] = Object.entries(answers).find(([end]) => String(address).endsWith(end)) ?? [];
    assert.ok(answer, String(address));
    return answer();
  };
}

test("the wall tells which fronts refuse phones", async () => {
  Object.assign(globalThis, { location: { pathname: "/school/class", search: "" } });
  for (const page of [PHONE, STREAMLIT, DOWN, AWAY, MISSING, redirected, OTHER]) {
    behind({ "/school/join": page });
    assert.equal(await refusesPhones(), [MISSING, redirected, OTHER].includes(page));
  }
});

test("a phone opens the app where the app is there, and nothing else answers for it", async () => {
  const went = [];
  const location = { pathname: "/school/join/KRTF", search: "?invite=a%26b", replace: (address) => went.push(address) };
  Object.assign(globalThis, { location });
  behind({ "/school/_stcore/health": MISSING });
  await openInApp("KRTF");
  assert.deepEqual(went, []);
  behind({ "/school/_stcore/health": says(200, "text/html", "ok") });
  await openInApp("KRTF");
  assert.deepEqual(went, ["/school/?join=KRTF&invite=a%26b"]);
  assert.deepEqual([MISSING, OTHER, redirected, OURS, DOWN].map((answer) => isForeign(answer())), [true, true, true, false, false]);
});
