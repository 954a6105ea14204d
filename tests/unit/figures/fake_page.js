// A page without a browser, for what only makes elements.

/** As much of an element as is drawn. */
export class FakeElement {
  constructor(tag) {
    Object.assign(this, { tag, className: "", attributes: {}, children: [], dataset: {}, style: { setProperty() {} } });
  }

  setAttribute(name, value) {
    this.attributes[name] = value;
  }

  addEventListener(name, act) {
    this[name] = act;
  }

  get classList() {
    const names = () => (this.attributes.class ?? this.className).split(" ").filter(Boolean);
    const set = (all) => (this.attributes.class = all.join(" "));
    return { contains: (name) => names().includes(name), add: (name) => set([...names(), name]), remove: (name) => set(names().filter((each) => each !== name)) };
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

  set textContent(text) {
    this.children = [text];
  }

  get textContent() {
    return this.children.map((each) => (typeof each === "string" ? each : each.textContent)).join("");
  }
}
globalThis.document = { createElement: (tag) => new FakeElement(tag), createElementNS: (_, tag) => new FakeElement(tag) };

export const all = (each) => (typeof each === "string" ? [] : [each, ...each.children.flatMap(all)]);
/** The elements with a class. */
export const named = (root, name) => all(root).filter(({ className }) => className.split(" ").includes(name));
