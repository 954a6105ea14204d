// The present mode. One press or the key F turns it on, Escape turns it off: at once here, and in the address by Python.
// layout.css hides all but the picture; here it is enlarged until it fills the screen.

// A window of this size shows letters as they are; a larger screen enlarges them, so that 14 px are 28 at 1920 × 1080.
const PLAIN = { width: 960, height: 540 };
const LARGEST = 2.5;
const FIELDS = "input, textarea, select, [contenteditable=true], [role=combobox], [role=textbox]";
const page = document.documentElement;
const state = { turn: 0, tell: () => {}, listens: false };

export default function ({ data, setTriggerValue }) {
  state.tell = (on) => setTriggerValue("turned", { on, turn: state.turn });
  if (!state.listens) listen();
  // What a run says that has not heard of the last turn is older already.
  if (state.turn === 0 || data.turn === state.turn || data.turn === null) show(data.on);
}

function listen() {
  state.listens = true;
  document.addEventListener("attnviz-present", () => turn(!isOn()));
  document.addEventListener("keydown", press, true);
  document.addEventListener("fullscreenchange", () => !document.fullscreenElement && isOn() && turn(false));
  addEventListener("resize", () => requestAnimationFrame(fit));
  // Pictures come, grow and are drawn anew.
  const grown = new ResizeObserver(() => requestAnimationFrame(fit));
  const seen = new WeakSet();
  const look = () => {
    const hero = document.querySelector(".st-key-hero");
    if (!hero || seen.has(hero)) return;
    seen.add(hero);
    grown.observe(hero);
  };
  new MutationObserver(look).observe(document.body, { childList: true, subtree: true });
  look();
}

const isOn = () => page.classList.contains("presenting");

function press(event) {
  const field = event.composedPath()[0];
  if (event.ctrlKey || event.metaKey || event.altKey || event.isComposing) return;
  if (event.key === "Escape" && isOn()) turn(false);
  else if ((event.key === "f" || event.key === "F") && !field.matches?.(FIELDS)) turn(!isOn());
  else return;
  event.preventDefault();
  event.stopPropagation();
}

function turn(on) {
  state.turn += 1;
  show(on);
  // A browser that does not give the whole screen gives its window.
  if (on) page.requestFullscreen?.().catch(() => {});
  else if (document.fullscreenElement) document.exitFullscreen().catch(() => {});
  if (on) picture()?.focus?.({ preventScroll: true });
  state.tell(on);
}

function show(on) {
  if (on === isOn()) return;
  page.classList.toggle("presenting", on);
  if (on) document.querySelector("[data-testid=stMain]")?.scrollTo(0, 0);
  fit();
  dispatchEvent(new Event("resize"));
}

// What takes the arrow keys: the canvas of the explorer, or the steps of a computation.
function picture() {
  for (const host of document.querySelectorAll(".st-key-hero [data-testid=stBidiComponentIsolated], .st-key-hero *")) {
    const found = [...(host.shadowRoot?.querySelectorAll("canvas[tabindex], .compute") ?? [])].find((each) => each.offsetParent);
    if (found) return found;
  }
  return null;
}

// Enlarges by the screen's size, and further while the picture fits; a picture that takes its height from the room there is
// (`--picture-height`) gets all that the rest leaves.
function fit() {
  const { style } = page;
  if (!isOn()) {
    for (const name of ["--present-zoom", "--picture-height"]) style.removeProperty(name);
    for (const each of document.querySelectorAll(".st-key-hero")) mark(each, false);
    return;
  }
  const hero = document.querySelector(".st-key-hero");
  if (!hero) return;
  mark(hero, true);
  const least = Math.min(innerWidth / PLAIN.width, innerHeight / PLAIN.height);
  const isFlexible = picture()?.matches("canvas");
  const block = hero.closest("[data-testid=stMainBlockContainer]");
  const set = (zoom) => style.setProperty("--present-zoom", zoom);
  const fits = (zoom) => {
    set(zoom);
    return block.scrollHeight * zoom <= innerHeight + 1 && block.scrollWidth <= block.clientWidth + 1;
  };
  if (isFlexible) {
    set(least);
    flex(block, least);
    return;
  }
  let zoom = least;
  while (zoom < least * LARGEST && fits(zoom * 1.08)) zoom *= 1.08;
  set(zoom);
}

// The picture's height is what the screen has left beside all else.
function flex(block, zoom) {
  const room = innerHeight / zoom;
  const canvas = picture();
  const rest = block.scrollHeight - canvas.getBoundingClientRect().height / zoom;
  const height = `${Math.max(120, Math.floor(room - rest))}px`;
  if (page.style.getPropertyValue("--picture-height") !== height) page.style.setProperty("--picture-height", height);
}

// The roots of components learn what layout.css cannot tell them across their shadow.
function mark(hero, on) {
  for (const host of hero.querySelectorAll("*")) {
    for (const root of host.shadowRoot?.querySelectorAll(".explorer, .compute") ?? []) root.toggleAttribute("data-presenting", on);
  }
}
