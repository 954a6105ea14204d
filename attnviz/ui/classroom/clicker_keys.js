// Page down, which clickers send, reveals an open question, and then asks the next one of the lesson.

let listens = false;

export default function () {
  if (listens) return;
  listens = true;
  document.addEventListener("keydown", (event) => {
    const field = /** @type {Element} */ (event.composedPath()[0]);
    if (event.key !== "PageDown" || event.ctrlKey || event.metaKey || event.altKey || event.shiftKey || field.matches?.("textarea, select")) return;
    const button = ["reveal", "next"].map((key) => document.querySelector(`.st-key-class-${key} button`)).find((each) => each);
    if (!button) return;
    event.preventDefault();
    event.stopPropagation();
    /** @type {HTMLElement} */ (button).click();
  }, true);
}
