// Translations and alignments of up to four models: a table of what they wrote, one of them large as a matrix and as two columns of
// words, the others small beside it. A word that is pointed at lights up in all of them, without asking Python.

import { Choices } from "./choices.js";
import { LargeMatrix } from "./large.js";
import { Model } from "./model.js";
import { SentencePair } from "./pair.js";
import { clamp, make, Note, Palette } from "./paint.js";
import { LiveRegion } from "./say.js";
import { SmallMatrices } from "./small.js";
import { readPackage } from "./store.js";
import { Translations } from "./table.js";
import { THEMES } from "./themes.js";

// From this width on the matrix and the words stand side by side, and the small ones beside them.
const WIDE = 760;
const [GAP, SMALL_COLUMN, PAIR] = [24, 186, 300];
const mounted = new WeakMap();

export class Alignments {
  // host.pick(change): a person chose.
  constructor(root, host) {
    Object.assign(this, { root, host, seq: 0, name: null, pointed: null, isOpen: false, models: [], cells: {}, hero: 0 });
    this.note = new Note(root);
    this.live = new LiveRegion();
    this.table = new Translations(this);
    this.large = new LargeMatrix(this);
    this.pair = new SentencePair(this);
    this.small = new SmallMatrices(this);
    this.choices = new Choices(this);
    this.caption = make("p", { class: "caption" });
    this.legend = make("p", { class: "legend" }, "0", make("canvas", { width: "256", height: "1", "aria-hidden": "true" }), make("span"));
    this.picture = make("div", { class: "picture" }, this.large.element, this.pair.element, this.small.element);
    const head = make("div", { class: "row" }, this.caption, this.legend);
    root.replaceChildren(this.table.element, head, this.picture, this.choices.element, this.live.element, this.note.element);
    this.observer = new ResizeObserver(() => this.resize());
    this.observer.observe(root);
    this.onResize = () => this.resize();
    window.addEventListener("resize", this.onResize);
    // Labels are measured: in the page's own font, which may come late.
    this.onFonts = () => this.layOut();
    document.fonts.addEventListener("loadingdone", this.onFonts);
  }

  destroy() {
    this.observer.disconnect();
    this.choices.destroy();
    window.removeEventListener("resize", this.onResize);
    document.fonts.removeEventListener("loadingdone", this.onFonts);
  }

  get model() {
    return this.models.find(({ slot }) => slot === this.hero) ?? this.models[0];
  }

  // The row and the column that are chosen in the large picture.
  get chosen() {
    const [query, key] = this.cells[this.model.slot];
    return { query, key };
  }

  // What Python says is to be looked at. What a person has chosen meanwhile is newer than what Python knows.
  receive({ name, models, chunks, seq, hero, cells, open, theme, fullScale, least }) {
    if (name !== this.name) {
      this.models = models.map((each) => new Model(each, chunks.get(String(each.slot))));
      Object.assign(this, { name, cells, pointed: null });
      this.root.classList.remove("pointing");
      this.note.hide();
    }
    if (seq >= this.seq) Object.assign(this, { seq, hero, cells, isOpen: open });
    this.least = least;
    this.palette = new Palette(THEMES[theme]);
    this.palette.colourAll(this.root);
    this.highest = fullScale ? 1 : Math.max(...this.models.map(({ highest }) => highest), 1e-9);
    this.layOut();
  }

  resize() {
    if (this.laidOut !== this.room()) requestAnimationFrame(() => this.layOut());
  }

  room() {
    return `${this.root.clientWidth} ${window.innerHeight} ${this.roomHeight()}`;
  }

  // What the page leaves to the picture while it presents; else 0.
  roomHeight() {
    return Number.parseFloat(getComputedStyle(this.root).getPropertyValue("--picture-height")) || 0;
  }

  layOut() {
    if (!this.palette || !this.root.clientWidth) return;
    this.laidOut = this.room();
    const whole = this.root.clientWidth;
    const isWide = whole >= WIDE;
    const given = this.roomHeight();
    this.root.classList.toggle("wide", isWide);
    this.root.toggleAttribute("data-presenting", given > 0);
    this.table.draw();
    this.drawHead();
    const beside = isWide && this.models.length > 1 && !given ? SMALL_COLUMN + GAP : 0;
    // Where more models stand in the table, less of the window is left. A longer sentence takes no more of it, so nothing jumps.
    const isCrowded = this.models.length > 2;
    const most = given || clamp(window.innerHeight * (isCrowded ? 0.48 : 0.5), 380, 620);
    const least = given ? 0 : isCrowded ? 20 : 28;
    const { high } = this.large.measure(isWide ? whole - beside - GAP - PAIR : whole, most, least);
    this.large.draw();
    const height = given || (isWide ? Math.max(high, most) : most);
    this.picture.style.minHeight = isWide ? `${height}px` : "";
    this.pair.draw(height);
    this.small.draw(isWide ? SMALL_COLUMN : whole / 3 - GAP, isWide ? height : Infinity);
    this.choices.draw();
    this.root.dataset.hero = this.model.slot;
  }

  drawHead() {
    const { model, legend, highest, palette } = this;
    const name = this.models.length > 1 ? [make("strong", {}, make("bdi", {}, model.name)), model.head ? ` ${model.head}: ` : ": "] : [];
    this.caption.replaceChildren(make("span", {}, ...name, "which words (across) each written word (down) looks at"));
    const image = new ImageData(256, 1);
    new Uint32Array(image.data.buffer).set(palette.pixels(255));
    legend.querySelector("canvas").getContext("2d").putImageData(image, 0, 0);
    legend.lastChild.textContent = highest === 1 ? "1" : highest.toPrecision(2);
  }

  // The words of a model that are lit: those that are pointed at, wherever, else the chosen ones.
  litIn(model) {
    return this.pointed ? model.find(this.pointed.model, this.pointed) : model.find(this.model, this.chosen);
  }

  pointAt(place) {
    if (!place && !this.pointed) return;
    this.pointed = place;
    this.root.classList.toggle("pointing", Boolean(place));
    for (const each of [this.table, this.large, this.pair, this.small]) each.drawPointed();
  }

  select(query, key, isOpen = false) {
    this.cells[this.model.slot] = [query, key];
    this.isOpen = isOpen;
    this.tellHost({ query: this.model.rows[query], key: this.model.columns[key] });
    this.layOut();
  }

  // A written word: its strongest link, and what could stand in its place; once more closes that again.
  selectWord(query) {
    if (this.isOpen && query === this.chosen.query) return this.closeChoices();
    this.select(query, this.model.strongestOf(query), this.model.choices[query].length > 0);
    if (this.isOpen) this.choices.focus();
  }

  closeChoices({ focus = false } = {}) {
    this.isOpen = false;
    this.choices.draw();
    if (focus) this.pair.wordAt(this.chosen.query).focus({ preventScroll: true });
    this.tellHost({});
  }

  steer(step, place) {
    this.isOpen = false;
    this.choices.draw();
    this.tellHost({ steer: [step, place] });
  }

  show(slot) {
    if (slot === this.hero) return;
    Object.assign(this, { hero: slot, isOpen: false });
    this.pointAt(null);
    this.note.hide();
    this.tellHost({});
    this.layOut();
  }

  tellHost(change) {
    this.seq += 1;
    this.host.pick({ seq: this.seq, of: this.name, hero: this.model.slot, open: this.isOpen, ...change });
  }
}

export default function mount({ data, parentElement, setTriggerValue }) {
  const root = parentElement.querySelector(".alignment");
  let app = mounted.get(root);
  if (!app) {
    app = new Alignments(root, {});
    root.alignment = app;
    mounted.set(root, app);
  }
  app.host.pick = (change) => setTriggerValue("picked", change);
  app.receive(readPackage(data));
  // Streamlit may call the clean-up of an earlier mount while the picture is still on the page.
  return () => {
    if (root.isConnected) return;
    app.destroy();
    mounted.delete(root);
  };
}
