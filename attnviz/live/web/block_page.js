// A page whose pictures were all written when the site was built: what stands on it is a function of its address.

import { make } from "../../figures/drawing/elements.js";
import { Palette } from "../../figures/drawing/palette.js";
import { THEMES } from "../../figures/drawing/themes.js";
import { drawMatrices } from "../../figures/matrix.js";
import { groupAt, isOfTheApp, readAddress, writeAddress } from "./address.js";
import { fetchUnpacked, sentenceOf } from "./fetch_files.js";

/**
 * @import { Type, Values } from "./address.js"
 * @typedef {[values: Values, places: number[][], pressed: string[]]} State  of each place the numbers of its parts; where the buttons lead that are pressed
 * @typedef {{ texts: string[], states: State[] }} Group
 * @typedef {{ page: string, parameters: Record<string, Type>, renamed: Record<string, string>, appOnly: string[], groups: Values[], needs: string[][], free: string[], opening: { values: Values, parts: string[], pressed: string[] },
 *   choices: ChoiceRow[], unasked: string[], modelsFolder: string }} BlockConfig
 * @typedef {{ name: string, buttons: [label: string, values: Values][], where: Values }} ChoiceRow  buttons that are there where the page shows the values of `where`
 */

const PLACES = ["above", "picture", "below"];
const DARK_BLOCKS = matchMedia("(prefers-color-scheme: dark)");

export class BlockPage {
  #turn = 0;
  /** @type {Map<number, Promise<Group>>} */
  #groups = new Map();

  /** @param {BlockConfig} config @param {URL} files where scripts and pictures stand */
  constructor(config, files) {
    this.config = config;
    this.files = files;
    this.modelFiles = new URL(`../${config.modelsFolder}/`, files);
    /** @type {Values} */
    this.values = {};
    const sheet = new CSSStyleSheet();
    const style = fetch(new URL(`${config.page}.css`, files)).then((answer) => answer.text()).then((text) => sheet.replace(text));
    this.roots = PLACES.map((id) => {
      const shadow = /** @type {HTMLElement} */ (document.getElementById(id)).attachShadow({ mode: "open" });
      shadow.adoptedStyleSheets = [sheet];
      shadow.addEventListener("click", (event) => this.#click(event));
      return shadow;
    });
    this.ready = style.catch(() => {});
    addEventListener("popstate", () => void this.show());
    DARK_BLOCKS.addEventListener("change", () => this.roots.forEach(drawRecords));
  }

  /** What a person chose. @param {Values} changed @param {{ redraw?: boolean }} [options] */
  change(changed, { redraw = true } = {}) {
    return this.#go({ ...this.values, ...changed }, redraw);
  }

  /** @param {Values} values @param {boolean} [redraw] */
  async #go(values, redraw = true) {
    this.values = values;
    const address = location.pathname + (await writeAddress(this.config.parameters, values));
    history[redraw ? "pushState" : "replaceState"](null, "", address);
    if (redraw) return this.show();
    dispatchEvent(new Event("attnviz-address"));
  }

  async show() {
    const turn = ++this.#turn;
    const [values] = await Promise.all([readAddress(this.config, location.search), this.ready]);
    try {
      const { shown, parts, pressed, isHere } = await this.#find(values);
      if (turn !== this.#turn) return;
      this.values = values;
      parts.forEach((part, at) => mountBlocks(this.roots[at], part, pressed));
      this.#say(isHere && !isOfTheApp(this.config, location.search) ? "" : sentenceOf("app only"));
      this.#drawChoices({ ...shown, ...values });
      /** @type {HTMLElement} */ (document.getElementById("hero")).dataset.drawn = String(turn);
      dispatchEvent(new Event("attnviz-address"));
    } catch (error) {
      const { message } = /** @type {Error} */ (error);
      if (turn === this.#turn) this.#say(sentenceOf(message === "download" ? "no picture" : message));
    }
  }

  /** What the address asks for, else what the page shows unasked. @param {Values} values */
  async #find(values) {
    const { groups, opening, free, unasked } = this.config;
    const given = Object.fromEntries(Object.entries(values).filter(([name]) => !free.includes(name)));
    const { found, asked } = groupAt(this.config, given);
    const own = groups[Math.max(found, 0)];
    if (found === 0 && isSame(opening.values, { ...opening.values, ...asked })) return { shown: { ...own, ...opening.values }, parts: opening.parts, pressed: opening.pressed, isHere: true };
    const { texts, states } = await this.#group(Math.max(found, 0));
    const state = [asked, within(asked, states, unasked)].map((one) => states.find(([each]) => isSame(each, { ...states[0][0], ...one }))).find(Boolean);
    const [shown, places, pressed] = state ?? states[0];
    return { shown: { ...own, ...shown }, parts: places.map((each) => each.map((at) => texts[at]).join("")), pressed, isHere: found >= 0 && Boolean(state) };
  }

  /** @param {number} number @returns {Promise<Group>} */
  #group(number) {
    const known = this.#groups.get(number) ?? fetchUnpacked(new URL(`pictures/${this.config.page}-${number}.gz`, this.files)).then((content) => JSON.parse(new TextDecoder().decode(content)));
    this.#groups.set(number, known);
    return known.catch((error) => {
      this.#groups.delete(number);
      throw error;
    });
  }

  /** @param {string} text */
  #say(text) {
    const notice = /** @type {HTMLElement} */ (document.getElementById("notice"));
    Object.assign(notice, { textContent: text, hidden: !text });
  }

  /** @param {Values} shown */
  #drawChoices(shown) {
    const { choices, groups } = this.config;
    const place = /** @type {HTMLElement} */ (document.getElementById("chips"));
    const focused = /** @type {HTMLElement | null} */ (document.activeElement)?.dataset.choice;
    const isShown = (/** @type {Values} */ values) => Object.entries(values).every(([each, value]) => String(shown[each]) === String(value));
    place.replaceChildren(...choices.filter(({ where }) => isShown(where)).map(({ name, buttons }) => make("div", { role: "group", "aria-label": name }, ...buttons.map(([label, values]) => {
      const isOn = isShown(values);
      const isOther = Object.keys(values).some((each) => each in groups[0]);
      // What is pressed again is let go of, but for the picture that it is part of.
      const rest = Object.fromEntries(Object.entries(values).filter(([each]) => each in groups[0]));
      const onclick = () => void (isOther ? this.#go(isOn ? rest : values) : this.change(isOn ? Object.fromEntries(Object.keys(values).map((each) => [each, null])) : values));
      return make("button", { type: "button", "aria-pressed": String(isOn), "data-choice": label, onclick }, label);
    }))));
    if (focused) /** @type {HTMLElement | null} */ (place.querySelector(`[data-choice="${CSS.escape(focused)}"]`))?.focus();
  }

  /** @param {Event} event */
  #click(event) {
    const go = /** @type {HTMLElement | null} */ (/** @type {Element} */ (event.target).closest("[data-go]"))?.dataset.go;
    if (go === undefined) return;
    if (go.startsWith("../")) return location.assign(go);
    void this.change(Object.fromEntries(new URLSearchParams(go)));
  }
}

/** @param {Values} one @param {Values} other */
const isSame = (one, other) => Object.keys({ ...one, ...other }).every((name) => String(one[name]) === String(other[name]));

/** Reads a place that is not there as the last one, or on some pages as not asked for; of several places, "3.7", those that are there. @param {Values} asked @param {State[]} states @param {string[]} unasked */
function within(asked, states, unasked) {
  const last = (/** @type {string} */ name) => Math.max(...states.map(([each]) => each[name]));
  /** @param {string} name @param {string} value */
  const there = (name, value) => value.split(".").filter((place) => states.some(([each]) => each[name] === place)).join(".");
  /** @param {string} name @param {any} value */
  const read = (name, value) => (typeof value === "number" ? Math.min(value, last(name)) : /^[0-9.]+$/.test(value) ? there(name, value) : value);
  const kept = Object.entries(asked).filter(([name]) => !unasked.includes(name));
  return Object.fromEntries(kept.map(([name, value]) => [name, read(name, value)]));
}

/** Mounts HTML that Python has made and escaped; what had the focus keeps it. @param {ShadowRoot} root @param {string} body
 * @param {string[]} pressed where the buttons lead that are pressed */
function mountBlocks(root, body, pressed) {
  if (mountedBlocks.get(root) !== body) replaceBlocks(root, body);
  for (const each of root.querySelectorAll("[data-go][aria-pressed]")) each.setAttribute("aria-pressed", String(pressed.includes(/** @type {HTMLElement} */ (each).dataset.go ?? "")));
}

/** @param {ShadowRoot} root @param {string} body */
function replaceBlocks(root, body) {
  mountedBlocks.set(root, body);
  const focused = /** @type {HTMLElement | null} */ (root.activeElement)?.dataset.go;
  root.innerHTML = body;
  for (const each of root.querySelectorAll("[data-style]")) /** @type {HTMLElement} */ (each).style.cssText = /** @type {HTMLElement} */ (each).dataset.style ?? "";
  drawRecords(root);
  if (focused) /** @type {HTMLElement | null} */ (root.querySelector(`[data-go="${CSS.escape(focused)}"]`))?.focus({ preventScroll: true });
}

/** @type {WeakMap<ShadowRoot, string>} */
const mountedBlocks = new WeakMap();

/** Draws the matrices that are written as records. @param {ShadowRoot} root */
function drawRecords(root) {
  for (const each of root.querySelectorAll("[data-record]")) {
    const place = /** @type {HTMLElement} */ (each), { matrices, hint } = JSON.parse(place.dataset.record ?? "");
    place.replaceChildren(...drawMatrices(matrices, new Palette(THEMES[DARK_BLOCKS.matches ? "dark" : "light"]), { hint, pick: null }));
  }
}
