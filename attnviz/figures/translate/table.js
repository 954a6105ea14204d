// The translations, a row a model: what differs from the others is marked. With one model, its translation in large type.

import { make } from "./paint.js";

export class Translations {
  constructor(app) {
    this.app = app;
    this.element = make("div", { class: "translations" });
    this.element.addEventListener("pointerover", (event) => this.point(event.target.closest("[data-row]")));
    this.element.addEventListener("pointerleave", () => app.pointAt(null));
  }

  point(element) {
    const slot = Number(element?.closest("[data-slot]").dataset.slot);
    const model = this.app.models.find((each) => each.slot === slot);
    this.app.pointAt(model ? { model, query: Number(element.dataset.row), key: null } : null);
  }

  draw() {
    const { models, name } = this.app;
    if (this.drawn !== name) {
      this.drawn = name;
      this.element.replaceChildren(models.length === 1 ? this.alone(models[0]) : this.table(models));
    }
    for (const row of this.element.querySelectorAll("[data-slot]")) {
      const isChosen = Number(row.dataset.slot) === this.app.model.slot;
      row.classList.toggle("chosen", isChosen);
      row.querySelector("button")?.setAttribute("aria-pressed", isChosen);
    }
    this.drawPointed();
  }

  alone(model) {
    const facts = [model.name, model.head, `log p = ${model.logP}`, model.bleu && `BLEU ${model.bleu} on held-out pairs`];
    return make("p", { class: "answer", "data-slot": model.slot }, sentence(model), " ", make("small", {}, facts.filter(Boolean).join(" · ")));
  }

  table(models) {
    const hasFigure = models.some(({ bleu }) => bleu);
    const heads = [["Model"], ["Translation", " · marked: most others differ"], ["log p"], ...(hasFigure ? [["BLEU", " held-out"]] : [])];
    const head = make("tr", {}, ...heads.map(([title, more]) => make("th", { scope: "col" }, title, ...(more ? [make("small", {}, more)] : []))));
    return make("table", {}, make("thead", {}, head), make("tbody", {}, ...models.map((each) => this.row(each, hasFigure))));
  }

  row(model, hasFigure) {
    const name = make("button", { type: "button" }, make("bdi", {}, model.name), make("small", {}, model.head ? ` ${model.head}` : ""));
    const figures = [["log p", model.logP], ...(hasFigure ? [["BLEU", model.bleu || "–"]] : [])];
    return make("tr", { "data-slot": model.slot, onclick: () => this.app.show(model.slot) },
      make("th", { scope: "row" }, name), make("td", { class: "answer" }, sentence(model)),
      ...figures.map(([title, value]) => make("td", { class: "number", "data-title": title }, value)));
  }

  // The same words light up in all translations.
  drawPointed() {
    const { app } = this;
    for (const row of this.element.querySelectorAll("[data-slot]")) {
      const model = app.models.find((each) => each.slot === Number(row.dataset.slot));
      const { query } = app.litIn(model);
      for (const part of row.querySelectorAll("[data-row]")) part.classList.toggle("lit", Number(part.dataset.row) === query);
    }
  }
}

function sentence({ parts, directions }) {
  const words = parts.map(([text, row, differs]) => {
    if (row === null && !differs) return text;
    return make(differs ? "mark" : "span", row === null ? {} : { "data-row": row }, text);
  });
  return make("bdi", { dir: directions[0] }, ...(words.length ? words : [make("em", {}, "nothing")]));
}
