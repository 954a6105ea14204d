// What a pointer and the keyboard do on a canvas.

/** Calls when a pointer or the keyboard points at something on a canvas, with null when it leaves; on a click, and on a key.
 * @param {HTMLCanvasElement} canvas
 * @param {{ point(event: PointerEvent | null): void, click?(event: MouseEvent): void, key(event: KeyboardEvent): void }} calls */
export function listen(canvas, { point, click, key }, staysAfterTouch = false) {
  canvas.addEventListener("pointermove", point);
  canvas.addEventListener("pointerleave", (event) => {
    // A finger leaves at once: what it has touched may stay told until another place is.
    if (!staysAfterTouch || event.pointerType !== "touch") point(null);
  });
  canvas.addEventListener("blur", () => point(null));
  if (click) canvas.addEventListener("click", click);
  canvas.addEventListener("keydown", key);
}
