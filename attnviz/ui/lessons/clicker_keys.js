// Page down and page up, which clickers send, lead through a lesson. While the page presents, page down shows the answer first.
// Where the focus is lost, for a question was answered or another step came, it goes to the step; on a phone that is scrolled to.

/** @type {{ listens: boolean, place: string, focused: EventTarget | null }} */
const state = { listens: false, place: "", focused: null };

/** @param {StreamlitComponent<[string, number, number]>} component the lesson, its step, and how many answers were given */
export default function ({ data: [lesson, step, answers] }) {
  if (!state.listens) listen();
  const [place, before] = [`${lesson} ${step}`, state.place];
  state.place = `${place} ${answers}`;
  if (before && before !== state.place) requestAnimationFrame(() => show(!before.startsWith(`${place} `)));
}

function listen() {
  state.listens = true;
  document.addEventListener("keydown", turn, true);
  document.addEventListener("focusin", (event) => (state.focused = event.composedPath()[0]));
  document.addEventListener("attnviz-guess", keepFocus);
  // What had the focus may go long after the step has come.
  new MutationObserver(keepFocus).observe(document.body, { childList: true, subtree: true });
}

function keepFocus() {
  const heading = /** @type {HTMLElement | null} */ (document.querySelector(".lesson-text h2"));
  if (!heading || !(state.focused instanceof Element) || state.focused.isConnected || document.activeElement !== document.body) return;
  state.focused = null;
  heading.tabIndex = -1;
  heading.focus({ preventScroll: true });
}

/** On a phone the step is above the picture, and may be out of sight. @param {boolean} isNew */
function show(isNew) {
  const panel = document.querySelector(".st-key-lesson");
  if (!panel || getComputedStyle(panel).position === "fixed") return;
  if (isNew) document.querySelector("[data-testid=stMain]")?.scrollTo(0, 0);
  else [...panel.querySelectorAll(".lesson-answer")].at(-1)?.scrollIntoView({ block: "center" });
}

/** @param {KeyboardEvent} event */
function turn(event) {
  const field = /** @type {Element} */ (event.composedPath()[0]);
  if (event.ctrlKey || event.metaKey || event.altKey || event.shiftKey || field.matches?.("textarea, select")) return;
  const isForward = event.key === "PageDown";
  if (!isForward && event.key !== "PageUp") return;
  const isPresenting = document.documentElement.classList.contains("presenting");
  const keys = isForward ? [...(isPresenting ? ["skip"] : []), "next"] : ["back"];
  const button = keys.map((key) => document.querySelector(`.st-key-lesson-${key} button`)).find((each) => each);
  if (!button) return;
  event.preventDefault();
  event.stopPropagation();
  /** @type {HTMLElement} */ (button).click();
}
