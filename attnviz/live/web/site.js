// The site's own script: it reads what the page is and draws what its address says.

import { around, make } from "../../figures/drawing/elements.js";
import { isOfTheApp, readAddress, writeAddress, computeAddress, computeExamples, isInAddress } from "./address.js";
import { BlockPage } from "./block_page.js";
import { drawControls } from "./controls.js";
import { openLesson } from "./lesson.js";
import { panelOf } from "./panels.js";
import { exampleOfText, isReadyPicture, KEPT_OPTIONS, PROMPT, namesOf, optionsOf, remarkOf, runModel, SitePicture } from "./run_model.js";
import { whyNoScript, sentenceOf, shownInTheApp, fetchFile } from "./fetch_files.js";
import { drawToolbar } from "./toolbar.js";

/**
 * @import { Type, Values } from "./address.js"
 * @import { ModelPicture, Said } from "./run_model.js"
 * @import { Answer, Request, Verb } from "./worker.js"
 */

// The worker as the page sees it: one piece of work at a time has progress, and can be left.

/** @typedef {{ resolve(made: any): void, reject(error: Error): void, onProgress?: (loaded: number, total: number, text?: string) => void }} Waiting */

class LeftError extends Error {}

// Its message is a sentence for the person.
class SaidError extends Error {}

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

  /** @template {Verb} Name @param {Name} work @param {Request<Name>} asked @param {Waiting["onProgress"]} [onProgress] @returns {Promise<Answer<Name>>} */
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

  /** @param {{ id: number, progress?: [number, number, string?], made?: any, error?: string, isSaid?: boolean }} message */
  #receive({ id, progress, made, error, isSaid }) {
    const waiting = this.#waiting.get(id);
    if (!waiting) return;
    if (progress) return waiting.onProgress?.(...progress);
    this.#waiting.delete(id);
    if (error === undefined) waiting.resolve(made);
    else waiting.reject(isSaid ? new SaidError(error) : new Error(error));
  }
}

// A page of the site with what is typed, the examples and the picture. What stands on it is a function of its address.

/**
 * @typedef {{ label: string, models: string[], prompt: Record<string, string>, file: string, into: string, shapes?: [layers: number, heads: number][], source?: string,
 *   place?: Values, opens?: Values, remark?: string, model?: string, word?: string }} Example  of Compute: where its numbers are from, and which weight it has; of Encode:
 *   the link it opens; remark: what to notice, of one model where it is about one; word: of a translation what is looked at first
 * @typedef {{ page: string, parameters: Record<string, Type>, renamed: Record<string, string>, appOnly: string[], fields: string[], examples: Example[], first: Record<string, [layer: number, head: number | null]>,
 *   models: string[], modelsFolder: string, runtimeBytes: number, amount: { words: number, sentences: number, share: boolean } | null, measured?: { rouge: Record<string, number>, note: string }, about_bars?: string, about_shares?: string, rounded?: string, labels?: string[][], supervised?: string,
 *   weights?: Record<string, Record<string, number>>, about: Record<string, string> }} Config  first: of each
 *   kind of map the head that is looked at unasked; weights: what is looked at first, by the texts of examples; amount: how much is kept of a text unasked;
 *   labels: what each head does over many sentences

 * @typedef {{ show(picture: ModelPicture, values: Values, example: Example | null): Promise<void> }} Panel
 */

export class SitePage {
  #turn = 0;
  #lasting = "";
  // The picture that was computed again last.
  #lost = "";
  /** @type {Map<string, ModelPicture>} */
  #pictures = new Map();

  /** @param {Config} config @param {URL} files where scripts and pictures stand */
  constructor(config, files) {
    this.config = config;
    this.files = files;
    this.modelFiles = new URL(`../${config.modelsFolder}/`, files);
    this.background = new Background(new URL("worker.js", files));
    /** @param {string} id */
    const part = (id) => /** @type {HTMLElement} */ (document.getElementById(id));
    this.parts = { form: /** @type {HTMLFormElement} */ (part("typed")), chips: part("chips"), notice: part("notice"), hero: part("hero"),
      controls: part("controls"), hint: part("hint"), busy: part("busy") };
    /** @type {Values} */
    this.values = {};
    /** @type {Panel | null} */
    this.panel = null;
    /** @type {ModelPicture | null} */
    this.picture = null;
    this.#listen();
  }

  #listen() {
    const { form, chips } = this.parts;
    form.addEventListener("submit", (event) => {
      event.preventDefault();
      this.#run();
    });
    form.addEventListener("keydown", (event) => {
      // In Safari the Enter that ends a composition comes after it, with this code.
      const isComposing = event.isComposing || event.keyCode === 229;
      if (event.key !== "Enter" || event.shiftKey || isComposing || around(event, "summary")) return;
      event.preventDefault();
      this.#run();
    });
    chips.addEventListener("click", (event) => {
      const button = /** @type {HTMLElement | null} */ (/** @type {Element} */ (event.target).closest("button"));
      if (button) this.go(this.#asTyped(this.config.examples[Number(button.dataset.example)]));
    });
    // On a narrow screen the controls are folded.
    const options = /** @type {HTMLElement} */ (document.getElementById("options"));
    options.addEventListener("click", () => options.setAttribute("aria-expanded", String(options.getAttribute("aria-expanded") !== "true")));
    addEventListener("popstate", () => void this.show());
  }

  /** Another text, model or example: a new entry of the history. @param {Values} values */
  async go(values) {
    history.pushState(null, "", location.pathname + (await writeAddress(this.config.parameters, values)));
    await this.show();
  }

  /** Another way to look at the same picture. @param {Values} changed @param {{ redraw?: boolean }} [options] */
  async change(changed, { redraw = true } = {}) {
    Object.assign(this.values, changed);
    const query = await writeAddress(this.config.parameters, this.values);
    history.replaceState(null, "", location.pathname + query);
    dispatchEvent(new Event("attnviz-address"));
    if (redraw) await this.show();
  }

  async show() {
    const turn = ++this.#turn;
    const values = await readAddress(this.config, location.search);
    const prompt = this.#promptOf(values);
    const example = this.#exampleOf(prompt, values);
    if (turn !== this.#turn) return;
    this.values = values;
    this.#fill(prompt);
    const own = example ?? exampleOfText(this.config, prompt);
    this.#mark(own);
    const missing = this.#missing((name) => prompt[PROMPT[name]]);
    if (missing) return this.fail(new Error(`no ${missing}`));
    try {
      const picture = await this.#picture(prompt, values, example);
      if (turn !== this.#turn) return;
      this.picture = picture;
      this.parts.hero.hidden = false;
      await this.panel?.show(picture, values, example);
      if (turn !== this.#turn) return;
      this.parts.hero.dataset.drawn = String(turn);
      this.say(isOfTheApp(this.config, location.search) ? sentenceOf("app only") : "");
      this.parts.hint.replaceChildren([picture.said.notice, remarkOf(own, picture, values), shownInTheApp(this.config.page, prompt, values)].filter(Boolean).join(" "), ...(picture.keep ? [keepButton(picture.keep, picture.left)] : []));
      drawControls(this, picture);
      this.#lost = "";
      dispatchEvent(new Event("attnviz-address"));
    } catch (error) {
      if (turn === this.#turn) await this.#recover(/** @type {Error} */ (error));
    }
  }

  /** What the worker no longer has is computed again, once. @param {Error} error */
  async #recover(error) {
    const [key] = [...this.#pictures].find(([, picture]) => picture === this.picture) ?? [""];
    const isOver = error.message !== "gone" || this.#lost === key;
    this.#lost = isOver ? "" : key;
    if (isOver) return this.fail(error);
    this.#pictures.delete(key);
    await this.show();
  }

  /** Says something of the picture; what is said of the browser stays until there is other news. @param {string} text */
  say(text) {
    this.parts.notice.textContent = text || this.#lasting;
    this.parts.notice.hidden = !this.parts.notice.textContent;
  }

  /** @param {string} text */
  warn(text) {
    this.#lasting = text;
    this.say(this.parts.notice.textContent);
  }

  /** @param {Error} error */
  fail(error) {
    this.parts.hero.hidden = true;
    this.parts.hint.replaceChildren();
    this.say(error instanceof SaidError ? error.message : sentenceOf(error instanceof LeftError ? "left" : error.message));
    if (!(error instanceof LeftError)) console.warn(error);
  }

  #run() {
    /** @type {Values} */
    const values = {};
    for (const name of this.config.fields) values[name] = this.#box(name).value.trim();
    const missing = this.#missing((name) => values[name]);
    if (missing) return this.say(sentenceOf(`no ${missing}`));
    if (!this.config.fields.every((name) => isInAddress(values[name]))) return this.say(sentenceOf("too long"));
    for (const name of KEPT_OPTIONS) if (this.values[name]) values[name] = this.values[name];
    if (this.config.page === "compute") values.source = "model";
    // What somebody types here is fetched for: one translator, until they choose more.
    if (this.config.page === "translate") values.models ??= namesOf(this, values).slice(0, 1);
    void this.go(values);
  }

  /** The first box that must hold a text and has none. @param {(name: string) => string | undefined} textOf */
  #missing(textOf) {
    return this.config.fields.find((name) => name !== "pair" && !textOf(name)?.trim());
  }

  /** @param {string} name */
  #box(name) {
    return /** @type {HTMLTextAreaElement} */ (this.parts.form.elements.namedItem(name));
  }

  /** What the address says was typed, where that is nothing too; else the first example. @param {Values} values */
  #promptOf(values) {
    const [first] = this.#among(values);
    /** @type {Record<string, string>} */
    const prompt = {};
    const { fields, page } = this.config;
    const isTyped = (/** @type {string} */ name) => typeof values[name] === "string";
    const isGiven = first.source !== "worked" && (fields.some(isTyped) || (page === "translate" && isTyped("target")));
    for (const name of new Set([...fields, "pair", "target"])) {
      const isOwn = ["pair", "target"].includes(name);
      const text = isGiven ? values[name] ?? (isOwn ? "" : first.prompt[PROMPT[name]]) : first.prompt[PROMPT[name]];
      if (text) prompt[PROMPT[name]] = text;
    }
    return prompt;
  }

  /** The examples among which the address chooses. @param {Values} values */
  #among(values) {
    const { examples, page } = this.config;
    if (page === "compute") return computeExamples(this.config, values);
    const own = examples.filter(({ into }) => !values.into || into === values.into);
    return own.length ? own : examples;
  }

  /** @param {Record<string, string>} prompt @param {Values} values */
  #exampleOf(prompt, values) {
    return this.#among(values).find((example) => isReadyPicture(this.config, example, prompt, values)) ?? null;
  }

  /** @param {Example} example @returns {Values} */
  #asTyped(example) {
    const { prompt, into } = example;
    if (example.source) return computeAddress(example, example === this.config.examples[0]);
    const values = Object.fromEntries([...new Set([...this.config.fields, "pair"])].map((name) => [name, prompt[PROMPT[name]] ?? ""]));
    return { ...values, ...example.opens, target: prompt.target, into: into === "French" ? null : into };
  }

  /** @param {Record<string, string>} prompt @param {Values} values @param {Example | null} example @returns {Promise<ModelPicture>} */
  async #picture(prompt, values, example) {
    const key = example ? example.file : JSON.stringify([prompt, values.model, values.models, values.into, optionsOf(this.config, values)]);
    const known = this.#pictures.get(key);
    if (known) return known;
    const picture = example ? await this.#shipped(example) : await runModel(this, key, prompt, values);
    this.#pictures.set(key, picture);
    return picture;
  }

  /** @param {Example} example */
  async #shipped({ file }) {
    const base = new URL("pictures/", this.files);
    const response = await fetchFile(new URL(file, base)).catch(({ message }) => Promise.reject(new Error(message === "download" ? "no picture" : message)));
    return new SitePicture(/** @type {Said} */ (await response.json()), base, this.background);
  }

  /** What was typed since stays, unless it is what is shown. @param {Record<string, string>} prompt */
  #fill(prompt) {
    for (const name of this.config.fields) {
      const box = this.#box(name);
      box.value = prompt[PROMPT[name]] ?? "";
      // A folded box opens for what it holds; who has unfolded it keeps it.
      if (box.value) box.closest("details")?.setAttribute("open", "");
    }
  }

  /** @param {Example | undefined} shown */
  #mark(shown) {
    const { chips } = this.parts;
    if (!chips.childElementCount) {
      chips.replaceChildren(...this.config.examples.map(({ label }, index) => make("button", { type: "button", "data-example": index }, label)));
    }
    for (const [index, chip] of [...chips.children].entries()) chip.setAttribute("aria-pressed", String(this.config.examples[index] === shown));
  }
}

/** Fetches all of a model, which is then here without a network, too. @param {() => Promise<void>} keep @param {number} left in bytes */
function keepButton(keep, left) {
  const button = make("button", { type: "button" }, `Keep the whole model for use without a network (${(left / 1e6).toFixed(0)} MB more)`);
  button.addEventListener("click", () => {
    Object.assign(button, { disabled: true, textContent: "Fetching the rest …" });
    keep().then(() => (button.textContent = "Kept: it works without a network")).catch(() => {
      Object.assign(button, { disabled: false, textContent: "Not all of it came: press again" });
    });
  });
  return button;
}

// Where scripts and pictures stand: a folder at the top of the site, whose name has the version.
const files = new URL(".", import.meta.url);
const config = JSON.parse(document.getElementById("config")?.textContent ?? "{}");
if (config.examples) {
  const sitePage = new SitePage(config, files);
  sitePage.panel = panelOf(sitePage);
  drawToolbar(sitePage);
  void sitePage.show();
  // What keeps the site says when there is no room left.
  navigator.serviceWorker?.addEventListener("message", ({ data }) => sitePage.warn(sentenceOf(String(data))));
}
if (config.groups) {
  const blockPage = new BlockPage(config, files);
  drawToolbar(blockPage);
  void blockPage.show();
}
// Pictures are measured for the screen: paper has the width of the page there, as site.css says.
addEventListener("beforeprint", () => document.documentElement.style.setProperty("--printed", `${document.querySelector(".title")?.clientWidth}px`));
// On a phone the pages stand in one line, which may be longer than the screen.
document.querySelector("nav [aria-current]")?.scrollIntoView({ block: "nearest", inline: "nearest" });
if (config.lesson) openLesson(config.lesson, files);
// Over plain HTTP from another machine, where browsers keep nothing of a page, the site works all the same.
if ("serviceWorker" in navigator) {
  const { serviceWorker } = navigator;
  serviceWorker.register(new URL("../service_worker.js", files)).catch(() => {});
  // A page that loads while the worker takes over may be passed by (seen in Firefox): then it asks for itself.
  serviceWorker.ready.then(({ active }) => serviceWorker.controller ?? active?.postMessage("claim")).catch(() => {});
}
