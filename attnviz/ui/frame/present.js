// The present mode. One press or the key F turns it on, Escape turns it off: at once here, and in the address by Python.
// present.css hides all but the picture; here it is enlarged until it fills the screen.

// A window of this size shows letters as they are; a larger screen enlarges them, so that 14 px are 28 at 1920 × 1080.
const PLAIN = { width: 960, height: 540 };
const LARGEST = 2.5;
// Letters wider than the app's own take more lines: they may be smaller, where the picture fits then.
const SMALLEST = 0.8;
// Of layout.css, above and below the picture.
const MARGIN = 7;
const FIELDS = "input, textarea, select, [contenteditable=true], [role=combobox], [role=textbox]";
const page = document.documentElement;
// What present.css says, which stands in the component's template: of the page only while it presents, for at every change of the
// page the browser would look through all of it for what its `:has` selectors could mean.
const style = new CSSStyleSheet();
/** @type {{ turn: number, tell: (on: boolean) => void, listens: boolean, pending: number }}  pending: changes of the full screen that we asked for */
const state = { turn: 0, tell: () => {}, listens: false, pending: 0 };

/** @param {StreamlitComponent<{ on: boolean, turn: number | null }>} component */
export default function ({ data, setTriggerValue, parentElement }) {
  state.tell = (on) => setTriggerValue("turned", { on, turn: state.turn });
  if (!state.listens) {
    style.replaceSync(parentElement.querySelector("template")?.content.textContent ?? "");
    listen();
  }
  // What a run says that has not heard of the last turn is older already.
  if (state.turn === 0 || data.turn === state.turn || data.turn === null) show(data.on);
  if (!isOn() && isWhole()) changeFullScreen();
}

function listen() {
  state.listens = true;
  document.addEventListener("attnviz-present", () => turn(!isOn()));
  document.addEventListener("keydown", press, true);
  document.addEventListener("fullscreenchange", () => {
    if (!document.fullscreenElement && !state.pending && isOn()) turn(false);
  });
  addEventListener("resize", () => requestAnimationFrame(fit));
  // Pictures come, grow and are drawn anew.
  const grown = new ResizeObserver(() => requestAnimationFrame(fit));
  const seen = new WeakSet();
  const look = () => {
    const hero = document.querySelector(".st-key-hero");
    if (!hero || seen.has(hero)) return;
    seen.add(hero);
    grown.observe(hero);
    // What is presented may stand beside it.
    grown.observe(blockOf(hero));
  };
  new MutationObserver(look).observe(document.body, { childList: true, subtree: true });
  look();
}

const isOn = () => page.classList.contains("presenting");
const isWhole = () => document.fullscreenElement === page;

/** @param {KeyboardEvent} event */
function press(event) {
  const field = /** @type {Element} */ (event.composedPath()[0]);
  if (event.ctrlKey || event.metaKey || event.altKey || event.isComposing) return;
  if (event.key === "Escape" && isOn()) turn(false);
  else if ((event.key === "f" || event.key === "F") && !field.matches?.(FIELDS)) turn(!isOn());
  else return;
  event.preventDefault();
  event.stopPropagation();
}

/** @param {boolean} on */
function turn(on) {
  state.turn += 1;
  show(on);
  changeFullScreen();
  if (on) pictures()[0]?.focus?.({ preventScroll: true });
  state.tell(on);
}

// The browser changes the full screen late and tells of it in the next frame: until then it was us who changed it, and by then
// it may not be wanted any more. A browser that does not give the whole screen gives its window.
async function changeFullScreen() {
  const change = isOn() ? page.requestFullscreen?.() : isWhole() && document.exitFullscreen();
  state.pending += 1;
  await Promise.resolve(change).catch(() => {});
  requestAnimationFrame(() => {
    state.pending -= 1;
    if (!isOn() && isWhole()) changeFullScreen();
  });
}

/** @param {boolean} on */
function show(on) {
  if (on === isOn()) return;
  page.classList.toggle("presenting", on);
  document.adoptedStyleSheets = [...document.adoptedStyleSheets.filter((each) => each !== style), ...(on ? [style] : [])];
  if (on) document.querySelector("[data-testid=stMain]")?.scrollTo(0, 0);
  fit();
  dispatchEvent(new Event("resize"));
}

// The pictures that take the arrow keys: canvases of the explorer, or the steps of a computation.
function pictures() {
  const hosts = [...document.querySelectorAll(".st-key-hero *")].filter((each) => each.shadowRoot);
  const focusable = hosts.flatMap((each) => [...(each.shadowRoot?.querySelectorAll("canvas[tabindex], .compute") ?? [])]);
  return /** @type {HTMLElement[]} */ (focusable).filter((each) => each.offsetParent);
}

// Enlarges by the screen's size, and further while the picture fits; a picture that takes its height from the room there is
// (`--picture-height`) gets all that the rest leaves.
function fit() {
  /** @type {HTMLElement | null} */
  const hero = document.querySelector(".st-key-hero");
  if (!isOn() || !hero) {
    for (const name of ["--present-zoom", "--picture-height"]) page.style.removeProperty(name);
    if (hero) mark(hero, false);
    return;
  }
  mark(hero, true);
  const least = Math.min(innerWidth / PLAIN.width, innerHeight / PLAIN.height);
  const block = blockOf(hero);
  const canvases = pictures().filter((each) => each.matches("canvas"));
  zoomTo(least);
  if (canvases.length) flex(block, canvases);
  // A lesson beside it grows with it.
  else if (!document.querySelector(".st-key-lesson")) enlarge(block, least);
}

/** @param {Element} hero */
const blockOf = (hero) => hero.closest("[data-testid=stMainBlockContainer]")?.children[0] ?? hero;
/** @param {number} zoom */
const zoomTo = (zoom) => page.style.setProperty("--present-zoom", String(zoom));
/** @param {Element} element */
const heightOf = (element) => element.getBoundingClientRect().height;

/** @param {Element} block @param {number} least */
function enlarge(block, least) {
  /** @param {number} zoom */
  const fits = (zoom) => {
    zoomTo(zoom);
    return heightOf(block) <= innerHeight - 2 * MARGIN * zoom && block.scrollWidth <= block.clientWidth + 1;
  };
  let zoom = least;
  if (fits(least)) while (zoom < least * LARGEST && fits(zoom * 1.08)) zoom *= 1.08;
  else {
    while (zoom > least * SMALLEST && !fits(zoom)) zoom /= 1.04;
    if (!fits(zoom)) zoom = least;
  }
  zoomTo(zoom);
}

/** @param {Element} block @param {Element[]} canvases */
function flex(block, canvases) {
  const zoom = Number(page.style.getPropertyValue("--present-zoom"));
  // A frame that is as high as it is told keeps its height whatever its canvas needs: measured by the canvas, it would never rest.
  const rest = heightOf(block) - Math.max(...canvases.map((each) => heightOf(each.closest(".picture") ?? each)));
  const height = `${Math.max(120, Math.floor((innerHeight - rest) / zoom - 2 * MARGIN))}px`;
  if (page.style.getPropertyValue("--picture-height") === height) return;
  page.style.setProperty("--picture-height", height);
  dispatchEvent(new Event("resize"));
}

// The roots of components learn what layout.css cannot tell them across their shadow.
/** @param {Element} hero @param {boolean} on */
function mark(hero, on) {
  for (const host of hero.querySelectorAll("*")) {
    for (const root of host.shadowRoot?.querySelectorAll(".explorer, .compute, .markup") ?? []) root.toggleAttribute("data-presenting", on);
  }
}
