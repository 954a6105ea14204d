// The worker as the page sees it: one piece of work at a time has progress, and can be left.

import { whyNoScript } from "./runtime.js";

/** @typedef {{ resolve(made: any): void, reject(error: Error): void, onProgress?: (loaded: number, total: number) => void }} Waiting */

export class LeftError extends Error {}

// Its message is a sentence for the person.
export class SaidError extends Error {}

export class Background {
  /** @type {Worker | null} */
  #worker = null;
  /** @type {Map<number, Waiting>} */
  #waiting = new Map();
  #count = 0;

  /** @param {URL} script */
  constructor(script) {
    this.script = script;
  }

  /** @param {string} work @param {object} asked @param {Waiting["onProgress"]} [onProgress] @returns {Promise<any>} */
  ask(work, asked, onProgress) {
    const id = ++this.#count;
    return new Promise((resolve, reject) => {
      this.#waiting.set(id, { resolve, reject, onProgress });
      this.#open().postMessage({ id, work, asked });
    });
  }

  // What was under way is given up: a download cannot be stopped otherwise.
  leave() {
    this.#worker?.terminate();
    this.#worker = null;
    for (const { reject } of this.#waiting.values()) reject(new LeftError());
    this.#waiting.clear();
  }

  #open() {
    if (this.#worker) return this.#worker;
    const worker = new Worker(this.script, { type: "module" });
    worker.onmessage = ({ data }) => this.#receive(data);
    worker.onerror = () => {
      const waiting = [...this.#waiting.values()];
      this.#waiting.clear();
      this.#worker = null;
      void whyNoScript(this.script).then((name) => waiting.forEach(({ reject }) => reject(new Error(name))));
    };
    return (this.#worker = worker);
  }

  /** @param {{ id: number, progress?: [number, number], made?: any, error?: string, isSaid?: boolean }} message */
  #receive({ id, progress, made, error, isSaid }) {
    const waiting = this.#waiting.get(id);
    if (!waiting) return;
    if (progress) return waiting.onProgress?.(...progress);
    this.#waiting.delete(id);
    if (error === undefined) waiting.resolve(made);
    else waiting.reject(isSaid ? new SaidError(error) : new Error(error));
  }
}
