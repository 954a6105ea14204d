// A page without a browser, for what only makes elements.

/** As much of an element as is drawn. */
export class FakeElement {
  constructor(tag) {
    Object.assign(this, { tag, className: "", attributes: {}, children: [], style: {} });
  }

  setAttribute(name, value) {
    this.attributes[name] = value;
  }

  addEventListener(name, act) {
    this[name] = act;
  }

  append(...parts) {
    this.children.push(...parts);
  }

  replaceChildren(...parts) {
    this.children = parts;
  }

  querySelector() {
    return null;
  }

  get textContent() {
    return this.children.map((each) => (typeof each === "string" ? each : each.textContent)).join("");
  }
}
globalThis.document = { createElement: (tag) => new FakeElement(tag) };

export const all = (each) => (typeof each === "string" ? [] : [each, ...each.children.flatMap(all)]);
/** The elements with a class. */
export const named = (root, name) => all(root).filter(({ className }) => className.split(" ").includes(name));
