// What a phone says while it waits, and that it joins once.

import assert from "node:assert/strict";
import { test } from "node:test";
import { FakeElement, all } from "../../../figures/fake_page.js";
import { classPicture, revealed } from "../../../../../attnviz/ui/classroom/phone/class_picture.js";
import { Phone, screens } from "../../../../../attnviz/ui/classroom/phone/phone_session.js";

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

test("guesses stand in the legend of a picture where there are some", () => {
  const question = { words: ["a"], marked: [], choices: ["a"], rows: ["L0"], columns: ["H0"] };
  for (const kind of ["token", "number", "head", "choice"]) {
    const legend = (answered) => all(classPicture({ question: { ...question, kind }, truth: { right: ["a"], weights: [0.5], guesses: [], answered }, own: null, scale: ["#000000", "#ffffff"] }))
      .find(({ className }) => className === "legend").textContent;
    assert.match(legend(2), /guesses|the class/);
    assert.doesNotMatch(legend(0), /guesses|the class/);
  }
});

test("what is true is said from left to right, whichever word it begins with", () => {
  const truth = { right: ["a"], weights: [0.5], guesses: [], answered: 0, sentence: "“\u2068قطة\u2069” gives “a” 5 %.", if_wrong: "Schau noch einmal." };
  const parts = all(revealed({ question: { kind: "token", words: ["a"], choices: ["a"] }, truth, own: null, scale: ["#000000", "#ffffff"] }));
  const directed = parts.filter(({ tag }) => tag === "bdi").map(({ textContent }) => textContent);
  assert.deepEqual(directed.filter((each) => each !== "a"), ["Schau noch einmal."]);
});

test("nobody is thanked for answers that they did not give", () => {
  assert.doesNotMatch(screens({ pending: null }, { state: "ended" }, null).body[0].textContent, /answer/);
});

test("who presses Join twice joins once, and may try again where that was refused", async () => {
  const [asked, answers] = [[], []];
  const line = { join: (code, more) => { asked.push(more); return new Promise((_, refuse) => answers.push(refuse)); } };
  const phone = Object.assign(Object.create(Phone.prototype), { line, code: "ABCD", say: () => {}, refused: () => {}, view: null, isJoining: false });
  const press = () => phone.join({ nickname: "Mira" });
  press();
  press();
  answers[0](new Error("busy"));
  await new Promise((next) => setTimeout(next));
  press();
  assert.equal(asked.length, 2);
});

test("a phone whose class is over shows another one from its first question on, and sends it no old answer", async () => {
  Object.assign(globalThis, { HTMLElement: FakeElement, location: { search: "" }, history: { replaceState() {} }, matchMedia: () => ({ addEventListener() {} }) });
  document.hasFocus = () => false;
  const news = (version, number, ask) => ({ token: ask, view: { version, state: "open", number, question: { kind: "text", ask, words: [], marked: [] } }, own: { number, answer: null } });
  const [sent, joins] = [[], { OLDC: [news(20, 1, "old")], NEWC: [news(2, 1, "new")] }];
  const line = {
    join: async (code) => joins[code].shift() ?? Promise.reject(Object.assign(new Error("gone"), { reason: "unknown" })),
    answer: (...asked) => (sent.push(asked), new Promise(() => {})),
    listen: (_, __, ears) => (Object.assign(line, ears), () => {}),
  };
  const settled = () => new Promise((next) => setTimeout(next));
  const phone = new Phone(new FakeElement("main"), line, { code: "OLDC", invite: "", scales: {}, view: null });
  phone.begin();
  await settled();
  phone.give("mine");
  line.refuse(Object.assign(new Error(), { reason: "forbidden" }));
  await settled();
  assert.equal(phone.screen, "code");
  const [form, box] = ["form", "input"].map((name) => all(phone.root).find(({ tag }) => tag === name));
  box.value = "NEWC";
  form.submit({ preventDefault() {} });
  await settled();
  assert.match(phone.root.textContent, /new/);
  assert.deepEqual([sent.length, phone.token], [1, "new"]);
});
