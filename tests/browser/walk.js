// What a walk can act on, and what stands on the screen: in the page, in the shadow roots of its components, in its frames.
(() => {
  const ACTIONS = {
    heads: "canvas:is(.heads, .ranking)", cells: "canvas.cells", arcs: "canvas.arcs",
    token: ".explorer .token[data-index]", tab: ".explorer [role=tab]",
    pick: ".markup [data-pick], .alignment :is([data-pick], [data-slot] button, .small button, .choices button:enabled)",
    chip: ".explorer .chips button", gives: ".explorer .choice button", zoom: ".explorer .zoom button",
    first: ".explorer .first-heads button", several: ".explorer .words .row button",
    sort: ".explorer .order select", links: ".explorer input[type=range]",
    way: ".compute .way button:enabled", number: ".compute td[data-id]", guess: ".compute :is(.answers button, .again, .goto)",
    example: "[data-testid=stButtonGroup] [data-variant=pills]", segment: "[data-testid=stButtonGroup] button:not([data-variant=pills])",
    toggle: "[data-testid=stCheckbox] label", step: "[data-testid^=stNumberInputStep]:enabled",
    slider: "[data-testid=stSlider] input[type=range]", select: "[data-testid=stSelectbox]", models: "[data-testid=stMultiSelect]",
    button: "[data-testid=stButton] button:enabled", fold: "[data-testid=stExpander] summary",
    type: "[class*=st-key-prompt] :is(textarea, input)", target: "[data-testid=stTextInput] input", page: "[data-testid=stSidebarNavLink]",
    link: "[data-testid=stPageLink] a", edit: ".explorer .bar .edit",
  };
  // What trains a model, takes a file or leaves the page. Elsewhere work that takes long is stopped and continued.
  const NOT = /^(Start|Pause|Restart|Save the model|Close the file)$/;
  const TRAINS = /^(Stop|Continue)$/;
  /** @param {string} name */
  const isLeft = (name) => NOT.test(name) || (TRAINS.test(name) && location.pathname.endsWith("/train"));
  const FIGURES = ".explorer, .alignment, .markup, .compute";
  const WORDS = ".story, .answer, [data-testid=stAlert]";
  // Icons are no figures, nor what Streamlit lays over a page.
  // Canvases are compared by their pixels; the rest belongs to the pointer, to the keyboard, or to who has guessed.
  const PASSING = "canvas, [hidden], .live, .note, .links, .hint, .question";

  /** @param {ParentNode} root @param {boolean} frames @returns {Generator<Element>} */
  function* every(root, frames) {
    for (const element of root.querySelectorAll("*")) {
      yield element;
      if (element.shadowRoot) yield* every(element.shadowRoot, frames);
      const inner = element instanceof HTMLIFrameElement && element.contentDocument;
      if (frames && inner) yield* every(inner, frames);
    }
  }
  /** @param {Element} element */
  const isSeen = (element) => element.checkVisibility({ visibilityProperty: true }) && element.getBoundingClientRect().width > 0;
  /** @param {HTMLElement} element */
  const nameOf = (element) => {
    const text = element.getAttribute("aria-label") || element.innerText || element.dataset.index || element.dataset.pick || "";
    // An icon is a word of its own line, before what the button says.
    return text.trim().split("\n").slice(-1)[0].slice(0, 60);
  };

  /** @type {{ kind: string, element: HTMLElement & HTMLSelectElement & HTMLInputElement, name: string }[]} */
  let offered = [];
  function actions() {
    offered = [];
    for (const each of every(document, false)) {
      const element = /** @type {HTMLElement & HTMLSelectElement & HTMLInputElement} */ (each);
      for (const [kind, selector] of Object.entries(ACTIONS)) {
        if (element.matches(selector) && isSeen(element) && !isLeft(nameOf(element))) offered.push({ kind, element, name: nameOf(element) });
      }
    }
    return offered.map(({ kind, name }) => [kind, name]);
  }

  /** Brings one of the last `actions` into the window; where it is then. @param {number} index */
  function reach(index) {
    const { element } = offered[index];
    if (!element.isConnected) return null;
    element.scrollIntoView({ block: "center", inline: "center", behavior: "instant" });
    const { x, y, width, height } = element.getBoundingClientRect();
    return width ? { x, y, width, height } : null;
  }

  // For controls that a mouse sets only by dragging, or that the browser draws outside of the page.
  /** @param {number} index @param {number} share */
  function set(index, share) {
    const { element } = offered[index];
    if (element.tagName === "SELECT") element.selectedIndex = Math.floor(share * element.options.length);
    else element.value = String(share * Number(element.max));
    element.dispatchEvent(new Event("input", { bubbles: true }));
    element.dispatchEvent(new Event("change", { bubbles: true }));
  }

  /** For controls that the page lays others over. @param {number} index */
  function focus(index) {
    offered[index].element.focus();
  }

  // Without the names that are made anew for every page, and what only the keyboard and the pointer see.
  /** @param {string} html */
  function plain(html) {
    return html
      .replace(/explorer-[a-z0-9]{6,}/g, "explorer")
      .replace(/\s(?:tabindex|data-focus-visible-added)="[^"]*"/g, "")
      .replace(/\s(?:style|class)=""/g, "")
      .replace(/\sclass="([^"]*)"/g, (_, classes) => ` class="${classes.split(" ").sort().join(" ")}"`);
  }

  /** What is drawn anew may say the same in another order. @param {Element} element */
  function order(element) {
    const attributes = [...element.attributes].sort((one, other) => (one.name < other.name ? -1 : 1));
    for (const { name } of attributes) element.removeAttribute(name);
    for (const attribute of attributes) element.setAttributeNode(attribute);
  }

  /** @param {Element} element */
  function shapeOf(element) {
    const copy = /** @type {Element} */ (element.cloneNode(true));
    for (const part of copy.querySelectorAll(PASSING)) part.remove();
    for (const part of [copy, ...copy.querySelectorAll("*")]) order(part);
    return plain(copy.outerHTML);
  }

  /** @param {string} text */
  function hash(text) {
    let [one, two] = [0xdeadbeef, 0x41c6ce57];
    for (let at = 0; at < text.length; at++) {
      one = Math.imul(one ^ text.charCodeAt(at), 2654435761);
      two = Math.imul(two ^ text.charCodeAt(at), 1597334677);
    }
    return `${(one >>> 0).toString(36)}${(two >>> 0).toString(36)}`;
  }

  /** Everything that is drawn, in the order of the page, as [what, content]. @param {boolean} whole */
  function seen(whole) {
    /** @type {[string, string][]} */
    const drawn = [];
    /** @param {string} what @param {string} content */
    const add = (what, content) => drawn.push([what, whole ? content : hash(content)]);
    for (const each of every(document, true)) {
      const element = /** @type {any} */ (each);
      if (element.matches("canvas")) {
        // Streamlit's tables, where somebody types in an open fold, are no pictures.
        if (!isSeen(element) || element.closest("[data-testid=stDataFrame]")) continue;
        add(`canvas ${element.className} ${element.width}×${element.height}`, element.toDataURL());
      } else if (element.matches("svg")) {
        if (element.ownerDocument !== document && isSeen(element) && !element.ownerSVGElement) add(`svg ${element.getAttribute("class") ?? ""}`, shapeOf(element));
      } else if (element.matches(FIGURES)) {
        if (isSeen(element)) add(`figure ${element.className.split(" ")[0]}`, shapeOf(element));
      } else if (element.matches(WORDS)) {
        if (isSeen(element)) add("words", element.innerText);
      }
    }
    return drawn;
  }

  // The pointer and the keyboard leave no mark on a page that they have left.
  function leave() {
    let at = document.activeElement;
    while (at?.shadowRoot?.activeElement) at = at.shadowRoot.activeElement;
    /** @type {HTMLElement | null} */ (at)?.blur();
    for (const element of every(document, false)) if (element.matches(".frame, .lines, .passage")) element.scrollTop = 0;
  }

  Object.assign(window, { walk: { actions, reach, set, focus, seen, leave } });
})();
