// The answer of a phone is sent again and again until the server has it, or says that it does not take it.

import { pause } from "./server_requests.js";

/** @typedef {import("./phone_session.js").Phone} Phone */

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
