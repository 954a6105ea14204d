// What a phone keeps of its class across a reload.

/** The class that this phone was in last. */
export const LAST = "attnviz-class";

/** What outlives a reload, where the browser keeps it. */
export const memory = {
  /** @param {string} key @returns {any} */
  read(key) {
    try {
      return JSON.parse(localStorage.getItem(key) ?? "null");
    } catch {
      return null;
    }
  },
  /** @param {string} key @param {unknown} value */
  write(key, value) {
    try {
      localStorage.setItem(key, JSON.stringify(value));
    } catch {
      // A private window keeps nothing: a reload is another student then.
    }
  },
};
