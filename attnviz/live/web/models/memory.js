// Memory that nobody needs any more.

/**
 * Give memory back at once: to find out that nobody has it takes a browser until there are tens of megabytes of it.
 * @param {{ buffer: ArrayBufferLike }} numbers
 */
export function forget({ buffer }) {
  if (buffer instanceof ArrayBuffer && !buffer.detached) buffer.transfer?.(0);
}
