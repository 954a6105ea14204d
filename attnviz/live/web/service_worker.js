// Keeps the site for visits without a network: the pages and what they need at the first visit, pictures and models once they were
// fetched. What the build writes into it: the versions of the site and of its models, and the files of the first visit.

/** @type {string[]} */
const FIRST = JSON.parse('$first');
// Models, and what runs them, are not fetched again when only pages have changed.
const [PAGES, MODELS] = ["attnviz-pages-$pages", "attnviz-models-$models"];
const here = /** @type {any} */ (self);

here.addEventListener("install", (/** @type {any} */ event) => event.waitUntil(install()));
here.addEventListener("activate", (/** @type {any} */ event) => event.waitUntil(activate()));
here.addEventListener("fetch", (/** @type {any} */ event) => {
  const url = new URL(event.request.url);
  if (event.request.method === "GET" && url.origin === location.origin) event.respondWith(answer(event.request, url));
});

async function install() {
  const cache = await caches.open(PAGES);
  await Promise.all(FIRST.map(async (file) => {
    const url = new URL(file, here.registration.scope);
    // What the page has just fetched is taken from the browser's own cache.
    const response = await fetch(url);
    if (response.ok) await cache.put(url, response);
  }));
  await here.skipWaiting();
}

async function activate() {
  for (const name of await caches.keys()) if (name.startsWith("attnviz-") && name !== PAGES && name !== MODELS) await caches.delete(name);
  await here.clients.claim();
}

/** @param {Request} request @param {URL} url */
async function answer(request, url) {
  // A page's address holds what it shows; its file is the same.
  const key = url.origin + url.pathname;
  const isModel = /\/(models|runner|vendor)\//.test(url.pathname);
  const cache = await caches.open(isModel ? MODELS : PAGES);
  const kept = await cache.match(key);
  if (kept) return kept;
  const response = await fetch(request);
  if (response.status === 200 && !response.redirected) keep(cache, key, response.clone());
  return response;
}

/** Where there is no room left, the site works and keeps nothing more. @param {Cache} cache @param {string} key @param {Response} response */
function keep(cache, key, response) {
  cache.put(key, response).catch(() => here.clients.matchAll().then((/** @type {any[]} */ all) => all.forEach((each) => each.postMessage("no room"))));
}
