// Says when a page has come to rest, by what it waits for and not by the clock: a run of the app's script that was asked for, is due
// or is under way, and a timer of the page that is about to ring. `window.slowly` lets one message of the server in with every frame,
// so that each state between two messages is drawn, however fast the machine is; what a place shows already needs no frame.
(() => {
  if ("rest" in window) return;
  // Fields of Streamlit's ForwardMsg and BackMsg, and a value of its ScriptFinishedStatus.
  const [BEGUN, DRAWN, ENDED, ASKED, EARLY] = [4, 5, 6, 11, 2];
  // A timer that rings later than this (ms) is no part of what was done last.
  const SOON = 1500;
  // To look in every frame would have every frame made (ms).
  const PAUSE = 30;
  const state = { asked: false, runs: true, unpacks: 0 };
  /** @type {Set<number>} */
  const timers = new Set();
  /** What each place of the page was told last. @type {Map<string, string>} */
  const told = new Map();
  const [begin, end] = [window.setTimeout, window.clearTimeout];

  /** The field that a message holds, the number in it, and its metadata. @param {Uint8Array} bytes @returns {[number, number, string]} */
  function fieldOf(bytes) {
    let [at, metadata] = [0, ""];
    const number = () => {
      let [value, shift] = [0, 0];
      for (;;) {
        const byte = bytes[at++];
        value |= (byte & 127) << shift;
        shift += 7;
        if (!(byte & 128)) return value;
      }
    };
    for (;;) {
      const tag = number();
      if (tag >> 3 > 2) return [tag >> 3, number(), metadata];
      const size = number();
      metadata = bytes.subarray(at, (at += size)).join();
    }
  }

  /** @param {ArrayBuffer} data */
  function received(data) {
    const [field, value] = fieldOf(new Uint8Array(data));
    if (field === BEGUN) [state.asked, state.runs] = [false, true];
    // The server began the next run before it had heard of the end of this one.
    if (field === ENDED && value !== EARLY) state.runs = false;
  }

  /** Whether a message draws what its place does not show yet. @param {Uint8Array} bytes */
  function isNew(bytes) {
    const [field, , place] = fieldOf(bytes);
    const [before, now] = [told.get(place), bytes.join()];
    told.set(place, now);
    return field !== DRAWN || before !== now;
  }

  class HeardSocket extends WebSocket {
    /** @type {ArrayBuffer[]} */
    held = [];

    /** @param {ConstructorParameters<typeof WebSocket>} all */
    constructor(...all) {
      super(...all);
      this.addEventListener("message", (event) => {
        if (!(event.data instanceof ArrayBuffer)) return;
        if ("slowly" in window && event.isTrusted) {
          event.stopImmediatePropagation();
          if (this.held.push(event.data) === 1) this.release();
        } else received(event.data);
      });
    }

    release() {
      requestAnimationFrame(() => begin(() => {
        do {
          this.dispatchEvent(new MessageEvent("message", { data: this.held[0] }));
          this.held.shift();
        } while (this.held.length && !isNew(new Uint8Array(this.held[0])));
        if (this.held.length) this.release();
      }));
    }

    /** @param {Parameters<WebSocket["send"]>[0]} data */
    send(data) {
      if (data instanceof Uint8Array && fieldOf(data)[0] === ASKED) state.asked = true;
      super.send(data);
    }
  }

  /** @param {(...all: unknown[]) => void} ring @param {number} delay @param {unknown[]} all */
  function setTimeout(ring, delay = 0, ...all) {
    const timer = begin(() => {
      timers.delete(timer);
      ring.apply(window, all);
    }, delay);
    if (delay <= SOON) timers.add(timer);
    return timer;
  }

  /** @param {number} timer */
  function clearTimeout(timer) {
    timers.delete(timer);
    end(timer);
  }

  const unpack = Response.prototype.arrayBuffer;
  Response.prototype.arrayBuffer = async function () {
    state.unpacks++;
    try {
      return await unpack.call(this);
    } finally {
      state.unpacks--;
    }
  };

  // A component whose script has yet to come stands there, and is empty.
  function isEmpty() {
    const roots = [...document.querySelectorAll("[data-testid=stBidiComponentIsolated]")].map(({ shadowRoot }) => shadowRoot);
    return roots.some((root) => root?.querySelector(":is(.explorer, .alignment, .compute, .markup, .tool):not([hidden]):empty"));
  }

  /** What a page of the app waits for, or a file that is opened from disk. */
  function waits() {
    const app = document.querySelector("[data-test-script-state]");
    if (!app && location.protocol.startsWith("http")) return "a page";
    if (app && state.asked) return "a run that was asked for";
    if (app && (state.runs || app.getAttribute("data-test-script-state") !== "notRunning")) return "a run";
    if (app && !document.querySelector("h1")) return "a title";
    if (document.querySelector("[data-testid=stSkeleton], .waiting")) return "what a skeleton keeps room for";
    if (timers.size) return "a timer";
    if (state.unpacks) return "numbers to unpack";
    return isEmpty() ? "a component" : "";
  }

  /** Waits until nothing is waited for, in so many frames on end; says what is still waited for after `patience` ms. @param {number} patience */
  async function rest(patience, frames = 6) {
    const began = performance.now();
    for (let calm = 0; calm < frames;) {
      const reason = waits();
      calm = reason ? 0 : calm + 1;
      if (reason && performance.now() - began > patience) return reason;
      await new Promise((go) => (reason ? begin(go, PAUSE) : requestAnimationFrame(go)));
    }
    return "";
  }
  Object.assign(window, { rest, setTimeout, clearTimeout, WebSocket: HeardSocket });
})();
