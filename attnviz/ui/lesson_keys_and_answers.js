// Page down and page up, which clickers send, lead through a lesson. While the page presents, page down shows the answer first.
// Where the focus is lost, for a question was answered or another step came, it goes to the step; on a phone that is scrolled to.
// The tab keeps what was answered: whoever went back and reloads has it all again on the way on.

/** @type {{ listens: boolean, place: string, focused: EventTarget | null, restored: Set<string> }} */
const state = { listens: false, place: "", focused: null, restored: new Set() };

/** @typedef {[number: string, text: string, seconds: number]} Answer */

/** @param {StreamlitComponent<[string, number, number, string]>} component the lesson, its step, how many answers stand here, and all */
export default function ({ data: [lesson, step, answers, all], setTriggerValue }) {
  if (!state.listens) listen();
  keepAnswers(lesson, all, (kept) => setTriggerValue("kept", [lesson, kept]));
  const [place, before] = [`${lesson} ${step}`, state.place];
  state.place = `${place} ${answers}`;
  if (before && before !== state.place) requestAnimationFrame(() => show(!before.startsWith(`${place} `)));
}

/** Keeps all answers to a lesson, and once a load sends those that the server lacks. @param {string} lesson @param {string} all @param {(kept: string) => void} send */
function keepAnswers(lesson, all, send) {
  const key = JSON.stringify(["attnviz lesson", lesson]);
  /** @type {Answer[][]} */
  const [known, before] = [all, stored(key)].map((rows) => JSON.parse(rows || "[]"));
  const numbers = new Set(known.map(([number]) => number));
  const lacking = state.restored.has(lesson) ? [] : before.filter(([number]) => !numbers.has(number));
  state.restored.add(lesson);
  const kept = JSON.stringify([...known, ...lacking]);
  try {
    sessionStorage.setItem(key, kept);
  } catch {
    // The browser keeps nothing: the address has the answers up to here.
  }
  if (lacking.length) send(kept);
}

/** @param {string} key */
function stored(key) {
  try {
    return sessionStorage.getItem(key);
  } catch {
    return "";
  }
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
