// Hands a file to the person.

/** @param {string} name @param {Blob} content */
export function saveFile(name, content) {
  const link = Object.assign(document.createElement("a"), { href: URL.createObjectURL(content), download: name });
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 60_000);
}
