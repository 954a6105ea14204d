// Page down and page up, which clickers send, lead through a lesson. While the page presents, page down shows the answer first.

let listens = false;

export default function () {
  if (listens) return;
  listens = true;
  document.addEventListener("keydown", turn, true);
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
