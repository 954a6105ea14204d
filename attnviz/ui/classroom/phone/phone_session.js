// A student's phone: which class it is in, what it shows now, and which answer it has given.

import { make } from "../../../figures/drawing/elements.js";
import { drawQuestion } from "../../../figures/lessons/question.js";
import { answerInWords, revealed } from "./class_picture.js";
import { LAST, memory, pause, Sending } from "./server_connection.js";

// Characters that the server takes.
const LONGEST_ANSWER = 200;

// The screens of a phone: what it asks, what was sent, what came of it, and the forms to join a class.

/** @param {{ light: string[], dark: string[] }} scales */
const scaleNow = (scales) => (matchMedia("(prefers-color-scheme: dark)").matches ? scales.dark : scales.light);

/** @param {Phone} phone @param {ClassView} view @param {string | null} answered */
export function screens(phone, view, answered) {
  const { question, truth, state } = view;
  if (state === "ended") return { title: "The class has ended", body: [make("p", {}, "Thank you for taking part.")] };
  if (!question) return { title: "You are in", body: [make("p", {}, "The first question comes when the teacher asks it. Keep this page open.")] };
  const title = question.ask;
  // What is written may be graded, or read by the teacher alone: the phone is not told.
  const later = question.kind === "text" ? "Your teacher goes on when the class is ready." : "The answer comes when the teacher reveals it.";
  const comes = question.step?.reveals === false ? "Your teacher has the right answers." : later;
  if (state === "revealed" && truth) return { title, body: [revealed({ question, truth, own: answered, scale: scaleNow(phone.scales) })] };
  if (answered !== null) {
    const sent = make("p.verdict", {}, phone.pending ? "Sending: " : "Sent: ", make("bdi", {}, answerInWords(question, answered)));
    return { title, body: [sent, make("p", {}, comes)] };
  }
  if (state !== "open") return { title, body: [...about(question), make("p", {}, `This question is closed. ${comes}`)] };
  return open(phone, question);
}

/** @param {Phone} phone @param {ClassQuestion} question */
function open(phone, question) {
  phone.chosen = "";
  const send = make("button.send", { type: "button", disabled: true, onclick: () => phone.chosen && phone.give(phone.chosen) }, "Send");
  const choose = (/** @type {string} */ answer) => {
    phone.chosen = answer;
    send.disabled = !answer;
  };
  return { title: question.ask, body: [...about(question), drawQuestion(question, choose, LONGEST_ANSWER)], foot: [send] };
}

/** Which head is meant, and what the lesson says, folded: it stands on the wall. @param {ClassQuestion} question */
const about = ({ ask, step }) => [
  step?.head && !ask.includes(step.head) && make("p.faint", {}, `In ${step.head}.`),
  step?.text && make("details", {}, make("summary", {}, step.title), ...step.text.split(/\n+/).map((part) => make("p", {}, part))),
].filter((each) => each instanceof HTMLElement);

/** @param {Phone} phone */
function codeForm(phone) {
  const attributes = { name: "code", maxlength: 9, autocomplete: "off", autocapitalize: "characters", spellcheck: "false", required: true };
  const box = make("input.code", { ...attributes, value: phone.code || memory.read(LAST) || "" });
  const submit = (/** @type {Event} */ event) => {
    event.preventDefault();
    phone.code = box.value.replace(/[^a-z]/gi, "").toUpperCase();
    if (phone.code.length !== 4) return phone.say("A code has four letters.");
    // The same page is one of the app's at its root.
    history.replaceState(null, "", `?${new URLSearchParams(location.search).has("join") ? "join" : "code"}=${phone.code}`);
    phone.invite = "";
    phone.forget();
    return phone.begin();
  };
  const label = make("label", {}, "Four letters, as on the projector", box);
  return { title: "Join a class", body: [make("form", { onsubmit: submit }, label, make("button.send", {}, "Join"))] };
}

/** @param {Phone} phone */
export function nickname(phone) {
  const box = make("input", { name: "nickname", maxlength: 20, autocomplete: "off", required: true });
  const submit = (/** @type {Event} */ event) => {
    event.preventDefault();
    phone.join({ nickname: box.value });
  };
  const label = make("label", {}, "A nickname, for the class", box);
  const without = make("button.link", { type: "button", onclick: () => phone.join({ nickname: "" }) }, "Join without one");
  return { title: "Who are you?", body: [make("form", { onsubmit: submit }, label, make("button.send", {}, "Join"), without)] };
}

export class Phone {
  /**
   * @param {HTMLElement} root
   * @param {ClassLine} line
   * @param {{ code: string, invite: string, scales: { light: string[], dark: string[] }, view: ClassView | null }} options
   */
  constructor(root, line, { code, invite, scales, view }) {
    this.root = root;
    this.line = line;
    this.invite = invite;
    this.scales = scales;
    this.code = code;
    this.token = "";
    /** What the server does not have yet. @type {{ number: number, answer: string } | null} */
    this.pending = null;
    this.sending = new Sending(this);
    /** What the page brought with it: drawn before this phone has joined. */
    this.view = view;
    /** @type {OwnAnswer | null} */
    this.own = null;
    this.chosen = "";
    this.notice = "";
    this.screen = "";
    this.isUp = true;
    this.isJoining = false;
    this.stop = () => {};
    const [header, notice, body, foot] = [make("header"), make("p.notice", { role: "status" }), make("div.body"), make("div.foot")];
    this.parts = { header, notice, body, foot };
    root.replaceChildren(header, notice, body, foot);
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => this.draw(true));
  }

  begin() {
    const kept = this.code && memory.read(`${LAST}-${this.code}`);
    if (kept?.token) {
      [this.token, this.pending, this.own] = [kept.token, kept.pending ?? null, kept.own ?? null];
      this.draw();
      this.listen();
      this.sending.begin();
    } else {
      this.draw();
      if (this.code) this.join();
    }
  }

  keep() {
    memory.write(`${LAST}-${this.code}`, { token: this.token, pending: this.pending, own: this.own });
    memory.write(LAST, this.code);
  }

  /** Another class counts its questions, and what is new, from the beginning. */
  forget() {
    Object.assign(this, { token: "", view: null, own: null, pending: null });
  }

  /** @param {{ nickname?: string }} [more] */
  join(more = {}) {
    // Who presses twice joins once.
    if (this.isJoining) return;
    this.isJoining = true;
    if (!this.view) this.say("Joining …");
    const joining = this.line.join(this.code, { ...more, ...(this.invite && { invite: this.invite }) });
    joining.finally(() => (this.isJoining = false)).then((news) => {
      this.say("");
      if (news.wants) return this.show("nickname", nickname(this));
      this.token = news.token ?? "";
      this.hear(news);
      this.keep();
      this.sending.begin();
      return this.listen();
    }).catch((error) => this.refused(error));
  }

  listen() {
    this.stop();
    this.stop = this.line.listen(this.code, this.token, {
      tell: (news) => this.hear(news),
      refuse: (error) => this.refused(error),
      isUp: (isUp) => {
        if (isUp === this.isUp) return;
        this.isUp = isUp;
        this.say(this.notice);
        if (isUp) this.sending.wake(null);
      },
    });
  }

  /** @param {ClassNews} news */
  hear({ view, own }) {
    if (own) this.take(own);
    if (view.version && this.view && view.version < this.view.version) return;
    this.view = view;
    if (this.pending && this.pending.number !== view.number) this.late();
    if (view.state === "ended") this.stop();
    this.draw();
  }

  /** News may have been written before the server had the answer that it has confirmed since. @param {OwnAnswer} own */
  take(own) {
    const isOlder = own.answer === null && this.own?.number === own.number;
    this.own = isOlder ? { ...own, answer: this.own?.answer ?? null } : own;
    this.keep();
  }

  /** @param {Error & { reason?: string }} error */
  refused(error) {
    const { reason } = error;
    if (reason === "forbidden" && this.token) {
      // The class is another one's by now, or its day is over.
      this.forget();
      memory.write(`${LAST}-${this.code}`, null);
      this.stop();
      return this.join();
    }
    if (!reason || reason === "busy" || error.name === "TimeoutError") {
      this.say(reason ? error.message : "No connection. Trying again …");
      return pause(2500).then(() => this.token || this.join()).catch(() => {});
    }
    this.say(error.message);
    if (reason === "invalid" && this.screen === "nickname") return undefined;
    this.show("code", codeForm(this));
    return undefined;
  }

  get answered() {
    if (this.pending?.number === this.view?.number) return this.pending?.answer ?? null;
    return this.own?.number === this.view?.number ? (this.own?.answer ?? null) : null;
  }

  /** @param {string} answer */
  give(answer) {
    if (!this.view) return;
    this.pending = { number: this.view.number, answer };
    this.keep();
    this.draw();
    this.sending.begin();
  }

  late() {
    this.pending = null;
    this.keep();
    this.say("Too late: the question was closed before your answer arrived.");
  }

  /** @param {string} sentence */
  say(sentence) {
    this.notice = sentence;
    const { notice } = this.parts;
    const shown = this.isUp ? sentence : "No connection. Your answer is kept, and sent when there is one.";
    if (notice.textContent !== shown) notice.textContent = shown;
  }

  /** Shows another screen. @param {string} screen @param {{ title?: string, body: Node[], foot?: Node[] }} what */
  show(screen, { title = "", body, foot = [] }) {
    const isNew = this.screen !== screen;
    this.screen = screen;
    const heading = make("h1", { tabindex: -1 }, make("bdi", {}, title));
    this.parts.body.replaceChildren(...(title ? [heading] : []), ...body);
    this.parts.foot.replaceChildren(...foot);
    // Who listens to the page hears the new question; a box that is being typed in keeps the keyboard.
    if (isNew && title && document.hasFocus() && !screen.startsWith("code")) heading.focus();
  }

  /** Draws what has to be seen now; the same screen only if `again`. @param {boolean} [again] */
  draw(again = false) {
    const { view, answered } = this;
    if (!view) return this.code ? undefined : this.show("code", codeForm(this));
    const { number, state } = view;
    const at = state === "open" && answered !== null ? `sent-${this.pending ? "not yet" : ""}` : state;
    const screen = `${at}-${number}`;
    const student = this.own?.student ? `${this.own.nickname || "Student"} ${this.own.nickname ? "" : this.own.student}` : "";
    this.parts.header.replaceChildren(make("span", {}, `Class ${this.code}`), make("bdi", {}, student));
    if (screen === this.screen && (!again || state === "open")) return undefined;
    if (state === "open" && screen !== this.screen && answered === null) this.say("");
    this.show(screen, screens(this, view, answered));
    return undefined;
  }
}
