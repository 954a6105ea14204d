// Says why a page stays empty whose scripts do not start. It is no module: those are what a browser refuses then.

(() => {
  const FROM_DISK = "A browser runs no modules of a page from a disk: run python3 -m http.server in the site's folder, and open http://localhost:8000.";
  const MISSING = "The server has no scripts of this page any more: reload it, for the site may have been published anew.";
  const TYPE = "The server sends scripts as another type than text/javascript, and the browser refuses them: whoever runs it can mend that.";
  const REFUSED = "The scripts of this page did not start: check the connection, and the Content-Security-Policy that the server sends.";

  /** @param {string} sentence */
  function say(sentence) {
    const notice = document.createElement("p");
    notice.className = "notice";
    notice.textContent = sentence;
    document.querySelector("main .title")?.after(notice);
  }

  if (location.protocol === "file:") {
    addEventListener("DOMContentLoaded", () => say(FROM_DISK));
    return;
  }
  addEventListener("error", async ({ target }) => {
    if (!(target instanceof HTMLScriptElement)) return;
    const answer = await fetch(target.src).catch(() => null);
    if (answer?.status === 404) say(MISSING);
    else say(answer?.ok && !/javascript/.test(answer.headers.get("content-type") ?? "") ? TYPE : REFUSED);
  }, true);
})();
