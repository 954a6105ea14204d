// The line to the server where its own routes are not passed on: the same page is one of the app's, and requests are messages of
// Streamlit's. Python is asked again every other second, and answers each request once.

import { Phone } from "./phone_session.js";
import { Refusal } from "./server_connection.js";

// Milliseconds: for an answer of the server, and after which the line is taken for down.
const PATIENT = 10_000;
const QUIET = 12_000;

/**
 * @typedef {{ error: string, reason: string }} Refused
 * @typedef {object} Told
 * @property {string} code of the address, with the invitation and the colours of weights
 * @property {string} invite
 * @property {string[]} scale
 * @property {Record<string, any>} done what came of each request, by its name
 * @property {string} listens the token for which Python listens
 * @property {ClassNews | Refused | null} heard
 */
/** @typedef {[name: string, act: "join" | "answer", code: string, token: string, body: object]} Asked */

/** @implements {ClassLine} */
class MessageLine {
  /** @param {(sent: { listens: string[], asked: Asked[] }) => void} send */
  constructor(send) {
    this.send = send;
    this.own = Math.random().toString(36).slice(2);
    this.count = 0;
    /** @type {Map<string, { asked: Asked, resolve: (told: any) => void, reject: (error: Error) => void }>} */
    this.waiting = new Map();
    /** @type {ClassEars | null} */
    this.ears = null;
    this.listens = ["", ""];
    this.quiet = 0;
  }

  /** @param {string} code @param {{ nickname?: string, invite?: string }} more @returns {Promise<ClassNews>} */
  join(code, more) {
    return this.ask("join", code, "", more);
  }

  /** @param {string} code @param {string} token @param {number} number @param {string} answer */
  answer(code, token, number, answer) {
    return this.ask("answer", code, token, { number, answer });
  }

  /** @param {string} code @param {string} token @param {ClassEars} ears */
  listen(code, token, ears) {
    [this.listens, this.ears] = [[code, token], ears];
    this.tell();
    return () => {
      if (this.ears === ears) this.ears = null;
    };
  }

  /** @param {Asked[1]} act @param {string} code @param {string} token @param {object} body @returns {Promise<any>} */
  ask(act, code, token, body) {
    this.count += 1;
    const name = `${this.own}${this.count}`;
    return new Promise((resolve, reject) => {
      this.waiting.set(name, { asked: [name, act, code, token, body], resolve, reject });
      setTimeout(() => this.waiting.delete(name) && reject(new DOMException("", "TimeoutError")), PATIENT);
      this.tell();
    });
  }

  /** Says all that is not answered yet: of two messages Streamlit may keep only the last. */
  tell() {
    this.send({ listens: this.listens, asked: [...this.waiting.values()].map(({ asked }) => asked) });
  }

  /** @param {Told} told */
  hear({ done, listens, heard }) {
    for (const [name, came] of Object.entries(done)) {
      const asked = this.waiting.get(name);
      this.waiting.delete(name);
      if (came.error) asked?.reject(new Refusal(came.error, came.reason));
      else asked?.resolve(came);
    }
    const { ears } = this;
    clearTimeout(this.quiet);
    this.quiet = setTimeout(() => this.ears?.isUp(false), QUIET);
    if (!ears) return;
    ears.isUp(true);
    // Python has forgotten it: its session is a new one.
    if (listens !== this.listens[1]) this.tell();
    else if (heard && "error" in heard) this.refused(heard, ears);
    else if (heard) ears.tell(heard);
  }

  /** @param {Refused} heard @param {ClassEars} ears */
  refused({ error, reason }, ears) {
    if (reason === "busy") return;
    this.ears = null;
    ears.refuse(new Refusal(error, reason));
  }
}

/** @type {WeakMap<Element, MessageLine>} */
const lines = new WeakMap();

/** @param {StreamlitComponent<Told>} component */
export default function ({ data, parentElement, setTriggerValue }) {
  const root = /** @type {HTMLElement} */ (parentElement.querySelector("#phone"));
  const send = (/** @type {unknown} */ sent) => setTriggerValue("sent", sent);
  const known = lines.get(root);
  const line = known ?? new MessageLine(send);
  line.send = send;
  if (!known) {
    lines.set(root, line);
    const scales = { light: data.scale, dark: data.scale };
    new Phone(root, line, { code: data.code, invite: data.invite, scales, view: null }).begin();
  }
  line.hear(data);
}
