// From one set of numbers to another, at once where a person asked for less motion.

import { clamp } from "./canvas.js";

const LASTS = 160;

export class Motion {
  #frame = 0;

  stop() {
    cancelAnimationFrame(this.#frame);
  }

  /**
   * @template {string} Name
   * @param {Record<Name, number>} from @param {Record<Name, number>} goal @param {(numbers: Record<Name, number>) => void} step
   */
  start(from, goal, step) {
    this.stop();
    if (matchMedia("(prefers-reduced-motion: reduce)").matches) return step(goal);
    const began = performance.now();
    const names = /** @type {Name[]} */ (Object.keys(goal));
    /** @param {number} now */
    const frame = (now) => {
      const share = clamp((now - began) / LASTS, 0, 1);
      const eased = share * (2 - share);
      if (share < 1) this.#frame = requestAnimationFrame(frame);
      const numbers = { ...goal };
      for (const name of names) numbers[name] = from[name] + (goal[name] - from[name]) * eased;
      step(numbers);
    };
    this.#frame = requestAnimationFrame(frame);
  }
}
