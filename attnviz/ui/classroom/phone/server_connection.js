// The line to the server: requests of the app's own routes, and a stream of news that goes on whatever happens to the line.

// Whether what stands before the app passes on its own routes. Some hosts pass on only those of Streamlit, and answer the others
// themselves: with 404, with another page, with a redirect. There the phone's page is one of the app's, at /?join=CODE.

/** The address of the app itself, below which a host may have it. */
export const home = () => location.pathname.replace(/(join(\/[^/]*)?|class)\/?$/, "");

/** An answer that comes from no program of ours; a server that is down, or starts again, is not meant. @param {Response} answer */
export const isForeign = (answer) => answer.status < 500 && !/json|event-stream/.test(answer.headers.get("content-type") ?? "");

/** @param {string} address @returns {Promise<Response>} */
const ask = (address) => fetch(address, { cache: "no-store", redirect: "manual", signal: AbortSignal.timeout(10_000) });

/** Whether phones have to open the app: asked from the wall, which is behind the same front. */
export async function refusesPhones() {
  try {
    const page = await ask(`${home()}join`);
    const text = page.ok ? await page.text() : "";
    // Streamlit's own page opens the phone's at this address.
    return page.status < 500 && !/id="(root|phone)"/.test(text);
  } catch {
    return false;
  }
}

/** Opens the app's page for phones, if the app is there at all. @param {string} code */
export async function openInApp(code) {
  const health = await ask(`${home()}_stcore/health`);
  if (!health.ok || (await health.text()) !== "ok") return;
  const invite = new URLSearchParams(location.search).get("invite");
  location.replace(`${home()}?join=${code}${invite ? `&invite=${encodeURIComponent(invite)}` : ""}`);
}

// What a phone keeps of its class across a reload.

/** The class that this phone was in last. */
export const LAST = "attnviz-class";

/** What outlives a reload, where the browser keeps it. */
export const memory = {
  /** @param {string} key @returns {any} */
  read(key) {
    try {
      return JSON.parse(localStorage.getItem(key) ?? "null");
    } catch {
      return null;
    }
  },
  /** @param {string} key @param {unknown} value */
  write(key, value) {
    try {
      localStorage.setItem(key, JSON.stringify(value));
    } catch {
      // A private window keeps nothing: a reload is another student then.
    }
  },
};

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

// The answer of a phone is sent again and again until the server has it, or says that it does not take it.

/** @import { Phone } from "./phone_session.js" */

export class Sending {
  /** @param {Phone} phone */
  constructor(phone) {
    this.phone = phone;
    this.isOn = false;
    /** Ends the pause before an answer is sent again. @type {(value: unknown) => void} */
    this.wake = () => {};
  }

  begin() {
    const { phone } = this;
    if (this.isOn || !phone.token) return;
    this.isOn = true;
    const isOver = () => {
      this.isOn = false;
      phone.draw(true);
    };
    this.sendAll().then(isOver).catch((error) => {
      isOver();
      phone.refused(error);
    });
  }

  async sendAll() {
    const { phone } = this;
    for (let failed = 0; phone.pending; failed += 1) {
      const { number, answer } = phone.pending;
      try {
        const kept = (await phone.line.answer(phone.code, phone.token, number, answer)).answer;
        phone.own = { id: 0, student: 0, nickname: "", ...phone.own, number, answer: kept };
        phone.pending = null;
        phone.keep();
      } catch (error) {
        const reason = /** @type {{ reason?: string }} */ (error).reason;
        if (reason && reason !== "busy") return this.dropped(/** @type {Error} */ (error), reason);
        const again = pause(Math.min(500 * 2 ** failed, 8000) * (0.5 + Math.random()));
        await Promise.race([again, new Promise((go) => (this.wake = go))]);
      }
    }
  }

  /** @param {Error} error @param {string} reason */
  dropped(error, reason) {
    const { phone } = this;
    if (reason === "forbidden") throw error;
    if (reason === "closed") return phone.late();
    phone.pending = null;
    phone.keep();
    phone.say(error.message);
    // The server knows which answer it has.
    return phone.listen();
  }
}
