// The screens of a phone: what it asks, what was sent, what came of it, and the forms to join a class.

/** @typedef {import("./phone_session.js").Phone} Phone */

import { answering } from "./answering.js";
import { element, percent } from "./elements.js";
import { LAST, memory } from "./local_storage.js";
import { revealed } from "./revealed.js";

/** @param {{ light: string[], dark: string[] }} scales */
const scaleNow = (scales) => (matchMedia("(prefers-color-scheme: dark)").matches ? scales.dark : scales.light);

/** @param {Phone} phone @param {ClassView} view @param {string | null} answered */
export function screens(phone, view, answered) {
  const { question, truth, state } = view;
  if (state === "ended") return { title: "The class has ended", body: [element("p", {}, "Thank you for your answers.")] };
  if (!question) return { title: "You are in", body: [element("p", {}, "The first question comes when the teacher asks it. Keep this page open.")] };
  const title = question.ask;
  const comes = question.step?.reveals === false ? "Your teacher has the right answers." : "The answer comes when the teacher reveals it.";
  if (state === "revealed" && truth) return { title, body: [revealed({ question, truth, own: answered, scale: scaleNow(phone.scales) })] };
  if (answered !== null) {
    const given = question.kind === "number" ? percent(Number(answered)) : answered;
    const sent = element("p.verdict", {}, phone.pending ? "Sending: " : "Sent: ", element("bdi", {}, given));
    return { title, body: [sent, element("p", {}, comes)] };
  }
  if (state !== "open") return { title, body: [...about(question), element("p", {}, `This question is closed. ${comes}`)] };
  return open(phone, question);
}

/** @param {Phone} phone @param {ClassQuestion} question */
function open(phone, question) {
  phone.chosen = null;
  const send = /** @type {HTMLButtonElement} */ (
    element("button.send", { type: "button", disabled: true, onclick: () => phone.chosen !== null && phone.give(phone.chosen) }, "Send")
  );
  const choose = (/** @type {string | null} */ answer) => {
    phone.chosen = answer;
    send.disabled = answer === null;
  };
  return { title: question.ask, body: [...about(question), answering(question, choose)], foot: [send] };
}

/** Which head is meant, and what the lesson says, folded: it stands on the wall. @param {ClassQuestion} question */
const about = ({ ask, step }) => [
  step?.head && !ask.includes(step.head) && element("p.faint", {}, `In ${step.head}.`),
  step?.text && element("details", {}, element("summary", {}, step.title), ...step.text.split(/\n+/).map((part) => element("p", {}, part))),
].filter((each) => each instanceof HTMLElement);

/** @param {Phone} phone */
export function codeForm(phone) {
  const attributes = { name: "code", maxlength: 9, autocomplete: "off", autocapitalize: "characters", spellcheck: "false", required: true };
  const box = /** @type {HTMLInputElement} */ (element("input.code", { ...attributes, value: phone.code || memory.read(LAST) || "" }));
  const submit = (/** @type {Event} */ event) => {
    event.preventDefault();
    phone.code = box.value.replace(/[^a-z]/gi, "").toUpperCase();
    if (phone.code.length !== 4) return phone.say("A code has four letters.");
    // The same page is one of the app's at its root.
    history.replaceState(null, "", `?${new URLSearchParams(location.search).has("join") ? "join" : "code"}=${phone.code}`);
    phone.invite = "";
    return phone.begin();
  };
  const label = element("label", {}, "Four letters, as on the projector", box);
  return { title: "Join a class", body: [element("form", { onsubmit: submit }, label, element("button.send", {}, "Join"))] };
}

/** @param {Phone} phone */
export function nickname(phone) {
  const box = /** @type {HTMLInputElement} */ (element("input", { name: "nickname", maxlength: 20, autocomplete: "off", required: true }));
  const submit = (/** @type {Event} */ event) => {
    event.preventDefault();
    phone.join({ nickname: box.value });
  };
  const label = element("label", {}, "A nickname, for the class", box);
  const without = element("button.link", { type: "button", onclick: () => phone.join({ nickname: "" }) }, "Join without one");
  return { title: "Who are you?", body: [element("form", { onsubmit: submit }, label, element("button.send", {}, "Join"), without)] };
}
