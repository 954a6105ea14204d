// The site's own script: it reads what the page is and draws what its address says.

import { SitePage } from "./site_page.js";
import { openLesson } from "./lesson.js";
import { sentenceOf } from "./error_sentences.js";
import { panelOf } from "./panels.js";
import { drawToolbar } from "./toolbar.js";

// Where scripts and pictures stand: a folder at the top of the site, whose name has the version.
const files = new URL(".", import.meta.url);
const config = JSON.parse(document.getElementById("config")?.textContent ?? "{}");
if (config.examples) {
  const sitePage = new SitePage(config, files);
  sitePage.panel = panelOf(sitePage);
  drawToolbar(sitePage);
  void sitePage.show();
  // What keeps the site says when there is no room left.
  navigator.serviceWorker?.addEventListener("message", ({ data }) => sitePage.warn(sentenceOf(String(data))));
}
// On a phone the pages stand in one line, which may be longer than the screen.
document.querySelector("nav [aria-current]")?.scrollIntoView({ block: "nearest", inline: "nearest" });
if (config.lesson) openLesson(config.lesson, files);
// Over plain HTTP from another machine, where browsers keep nothing of a page, the site works all the same.
if ("serviceWorker" in navigator) {
  const { serviceWorker } = navigator;
  serviceWorker.register(new URL("../service_worker.js", files)).catch(() => {});
  // A page that loads while the worker takes over may be passed by (seen in Firefox): then it asks for itself.
  serviceWorker.ready.then(({ active }) => serviceWorker.controller ?? active?.postMessage("claim")).catch(() => {});
}
