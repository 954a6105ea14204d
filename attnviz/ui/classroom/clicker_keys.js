// Page down, which clickers send, reveals an open question, and then asks the next one of the lesson; the space bar reveals, and
// the right arrow asks the next. The hint is the wall's own (projector.js).

let listens = false;

export default function () {
  if (listens) return;
  listens = true;
  document.addEventListener("keydown", (event) => {
    const field = /** @type {Element} */ (event.composedPath()[0]);
    if (event.ctrlKey || event.metaKey || event.altKey || event.shiftKey || field.matches?.("textarea, select")) return;
    const keys = { PageDown: ["reveal", "next"], " ": ["reveal"], ArrowRight: ["next"] }[event.key];
    // What has the focus takes the keys of a desk itself.
    if (!keys || (event.key !== "PageDown" && field.matches?.("input, button, a, summary, [role], [tabindex]"))) return;
    const button = keys.map((key) => document.querySelector(`.st-key-class-${key} button`)).find((each) => each);
    if (!button) return;
    event.preventDefault();
    event.stopPropagation();
    /** @type {HTMLElement} */ (button).click();
  }, true);
}
