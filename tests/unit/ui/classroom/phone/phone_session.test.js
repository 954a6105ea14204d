// What a phone says while it waits.

import assert from "node:assert/strict";
import { test } from "node:test";
import "../../../figures/fake_page.js";
import { screens } from "../../../../../attnviz/ui/classroom/phone/phone_session.js";

const waiting = (question) => screens({ pending: null }, { state: "open", question: { ask: "?", ...question } }, "a").body[1].textContent;

test("a share is read back as it was given", () => {
  const [sent] = screens({ pending: null }, { state: "open", question: { ask: "?", kind: "number" } }, "57.5 %").body;
  assert.equal(sent.textContent, "Sent: 57.5\u00A0%");
});

test("no answer is promised to a question that may have none", () => {
  assert.match(waiting({ kind: "token" }), /^The answer comes/);
  assert.match(waiting({ kind: "text" }), /^Your teacher goes on/);
  assert.match(waiting({ kind: "token", step: { reveals: false } }), /^Your teacher has/);
});
