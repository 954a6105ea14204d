// The site's own script: it reads what the page is and draws what its address says.

import { SitePage } from "./site_page.js";
import { openLesson } from "./lesson.js";
import { sentenceOf } from "./error_sentences.js";
import { panelOf } from "./panels.js";
import { drawToolbar } from "./toolbar.js";

const root = new URL(".", import.meta.url);
const config = JSON.parse(document.getElementById("config")?.textContent ?? "{}");
if (config.examples) {
  const sitePage = new SitePage(config, root);
  sitePage.panel = panelOf(sitePage);
  drawToolbar(sitePage);
  void sitePage.show();
  // What keeps the site says when there is no room left.
  navigator.serviceWorker?.addEventListener("message", ({ data }) => sitePage.warn(sentenceOf(String(data))));
}
// On a phone the pages stand in one line, which may be longer than the screen.
document.querySelector("nav [aria-current]")?.scrollIntoView({ block: "nearest", inline: "nearest" });
if (config.lesson) openLesson(config.lesson);
// Served from a disk, or without the secrecy that workers need, the site works and is not kept.
if ("serviceWorker" in navigator) navigator.serviceWorker.register(new URL("service_worker.js", root)).catch(() => {});
