// The line to the server: requests of the app's own routes, and a stream of news that goes on whatever happens to the line.

import { home, isForeign, openInApp } from "./blocked_routes.js";

// Milliseconds: for an answer of the server, for a stream's first word, for its next sign of life, between two questions where
// nothing streams, and after which a stream is tried again.
const PATIENCE = 10_000;
const FIRST = 6000;
const SILENCE = 25_000;
const ASK = 2500;
const AGAIN = 60_000;

/** A refusal has its reason; without one, the line is down. */
export class Refusal extends Error {
  /** @param {string} sentence @param {string} reason */
  constructor(sentence, reason) {
    super(sentence);
    this.reason = reason;
  }
}

/** @param {number} ms @returns {Promise<void>} */
export const pause = (ms) => new Promise((go) => setTimeout(go, ms));

/** @param {string} address @param {RequestInit} options */
async function request(address, options) {
  const answer = await fetch(address, { credentials: "same-origin", cache: "no-store", redirect: "manual", ...options });
  if (isForeign(answer)) await openInApp(address.split("/").at(-2) ?? "");
  else if (answer.ok) return answer;
  const { error, reason } = await answer.json().catch(() => ({ error: "The server does not answer.", reason: "busy" }));
  throw new Refusal(error, reason ?? "busy");
}

/** @param {string} address @param {object} body @param {string} [token] */
async function post(address, body, token = "") {
  const headers = { "Content-Type": "application/json", "Attnviz-Student": token };
  const options = { method: "POST", headers, body: JSON.stringify(body), signal: AbortSignal.timeout(PATIENCE) };
  return (await request(address, options)).json();
}

const path = (/** @type {string} */ code) => `${home()}class/${code}`;

/** @returns {ClassLine} */
export const webLine = () => ({
  join: (code, more) => post(`${path(code)}/join`, more),
  answer: (code, token, number, answer) => post(`${path(code)}/answer`, { number, answer }, token),
  listen: (code, token, ears) => new Listener(code, token, ears).begin(),
});

/** Streams where that works, asks where it does not. */
class Listener {
  /** @param {string} code @param {string} token @param {ClassEars} ears */
  constructor(code, token, { tell, isUp, refuse }) {
    this.path = path(code);
    this.headers = { "Attnviz-Student": token };
    this.tell = tell;
    this.isUp = isUp;
    this.refuse = refuse;
    this.isOver = false;
    this.mayStream = true;
    this.streamAgain = 0;
    this.streamsFailed = 0;
    this.abort = new AbortController();
  }

  begin() {
    // A phone that has slept, or changed its network, may hold a line that is dead and does not know it.
    const events = /** @type {[EventTarget, string][]} */ ([[window, "online"], [document, "visibilitychange"]]);
    const woken = () => document.visibilityState === "visible" && this.abort.abort("woken");
    for (const [target, name] of events) target.addEventListener(name, woken);
    this.run().catch((error) => this.isOver || this.refuse(error));
    return () => {
      this.isOver = true;
      for (const [target, name] of events) target.removeEventListener(name, woken);
      this.abort.abort("over");
    };
  }

  async run() {
    for (let failed = 0; !this.isOver; ) {
      this.abort = new AbortController();
      try {
        await (this.mayStream ? this.stream() : this.ask());
        failed = 0;
      } catch (error) {
        if (error instanceof Refusal && error.reason !== "busy") throw error;
        if (this.isOver) return;
        const { reason } = this.abort.signal;
        if (reason === "woken") continue;
        failed += 1;
        if (this.mayStream) this.streamsFailed += 1;
        // A proxy holds the stream back, or there are too many: asking works all the same.
        if (this.mayStream && (reason === "silent" || error instanceof Refusal)) this.streamAgain = Date.now() + AGAIN;
        this.mayStream = false;
        if (failed > 1) this.isUp(false);
        if (failed > 1) await pause(Math.min(1000 * failed, 4000));
      }
    }
  }

  async ask() {
    const { abort } = this;
    const timer = setTimeout(() => abort.abort("silent"), PATIENCE);
    const answer = await request(`${this.path}/state`, { headers: this.headers, signal: abort.signal });
    const news = await answer.json().finally(() => clearTimeout(timer));
    if (this.isOver) return;
    this.isUp(true);
    this.tell(news);
    this.mayStream = Date.now() >= this.streamAgain;
    // The line is back, and streams at once; where streams alone fail, there is no hurry.
    if (this.mayStream && this.streamsFailed < 2) return;
    await Promise.race([pause(ASK), new Promise((go) => abort.signal.addEventListener("abort", go))]);
  }

  async stream() {
    const { abort } = this;
    let timer = setTimeout(() => abort.abort("silent"), FIRST);
    try {
      const answer = await request(`${this.path}/stream`, { headers: this.headers, signal: abort.signal });
      const reader = /** @type {ReadableStream<Uint8Array>} */ (answer.body).getReader();
      const decoder = new TextDecoder();
      for (let text = ""; ; ) {
        const { done, value } = await reader.read();
        if (done || this.isOver) break;
        clearTimeout(timer);
        timer = setTimeout(() => abort.abort("silent"), SILENCE);
        this.isUp(true);
        this.streamsFailed = 0;
        text += decoder.decode(value, { stream: true });
        const events = text.split("\n\n");
        text = events.pop() ?? "";
        for (const event of events) if (event.startsWith("data: ")) this.tell(JSON.parse(event.slice(6)));
      }
    } finally {
      clearTimeout(timer);
    }
    // The server has ended the stream: it stops, or starts anew.
    await pause(300 + 700 * Math.random());
  }
}
