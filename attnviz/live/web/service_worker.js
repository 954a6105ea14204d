// Keeps the site for visits without a network: its pages as they were last, and what they fetched. A page comes from the network
// where there is one, so that a new version shows at the first reload; all else is in folders whose names have the version, and is
// taken from here. What the build writes into it: the version of the site, these folders, and the files of a first visit.

/** @type {string[]} */
const FIRST = JSON.parse('$first');
const FOLDERS = /^(files|models)-[0-9a-f]{16}\//;
const here = /** @type {any} */ (self);
const scope = new URL(here.registration.scope);
// Every site of an origin sees the caches of all: their names begin with the site's own address.
const PREFIX = `${scope.href} `;
const [PAGES, MODELS] = [`${PREFIX}pages $site`, `${PREFIX}$models`];
const isOfPages = (/** @type {string} */ name) => name.startsWith(`${PREFIX}pages `);
// Sites were kept under these names, which all sites of an origin shared, and pages were never fetched again.
const FORMER = /^attnviz-(pages|models)-[0-9a-f]{16}$/;

here.addEventListener("install", (/** @type {any} */ event) => event.waitUntil(install()));
here.addEventListener("activate", (/** @type {any} */ event) => event.waitUntil(activate()));
here.addEventListener("message", (/** @type {any} */ event) => event.data === "claim" && event.waitUntil(here.clients.claim()));
here.addEventListener("fetch", (/** @type {any} */ event) => {
  const { request } = event;
  const url = new URL(request.url);
  if (request.method !== "GET" || url.origin !== scope.origin || !url.pathname.startsWith(scope.pathname)) return;
  // What stands below the site and is not of it is none of its business.
  const path = url.pathname.slice(scope.pathname.length).replace(/(^|\/)index\.html$/, "$1");
  if (FOLDERS.test(path)) event.respondWith(keptFirst(request, path.startsWith("models-") ? MODELS : PAGES));
  else if (FIRST.includes(path || "./")) event.respondWith(newestFirst(scope.href + path));
});

async function install() {
  const cache = await caches.open(PAGES);
  await Promise.all(FIRST.map(async (file) => {
    const url = new URL(file, scope);
    // A server may have told the browser to keep a page for a while; a file whose address has its version is what the page just fetched.
    const response = await fetch(url, { cache: FOLDERS.test(file) ? "default" : "no-cache" }).catch(() => null);
    // What did not come is kept when it is fetched the next time.
    if (response?.ok) await cache.put(url, response);
  }));
  await here.skipWaiting();
}

async function activate() {
  // A page that is still open may need files of the version before.
  const pages = (await caches.keys()).filter((name) => isOfPages(name) && name !== PAGES);
  const old = (await caches.keys()).filter((name) => name.startsWith(PREFIX) && !isOfPages(name) && name !== MODELS);
  for (const name of [...pages.slice(0, -1), ...old]) await caches.delete(name);
  const wasFormer = await forgetFormer();
  await here.clients.claim();
  if (!wasFormer) return;
  // They show what the former worker kept, and would for ever. Not waited for: what they fetch waits until this worker is active.
  for (const page of await here.clients.matchAll({ type: "window" })) page.navigate(page.url).catch(() => null);
}

/** Empties the caches of former workers of this site; whether there were any. */
async function forgetFormer() {
  let were = false;
  for (const name of (await caches.keys()).filter((each) => FORMER.test(each))) {
    const cache = await caches.open(name);
    const all = await cache.keys();
    const own = all.filter(({ url }) => isOfFormer(url));
    for (const request of own) were = (await cache.delete(request)) || were;
    if (own.length === all.length) await caches.delete(name);
  }
  return were;
}

/** @param {string} url that a former worker kept; whether it is of this site, and not of another one below it */
function isOfFormer(url) {
  const path = url.slice(scope.href.length);
  return url.startsWith(scope.href) && (/^([^/]*$|(models|runner|vendor|pictures|lessons)\/)/.test(path) || FIRST.includes(path));
}

/** A page: as the server has it now, and without a network as it was last. The server is not sent what the address holds: what was
 * typed. @param {string} url of the page alone */
async function newestFirst(url) {
  try {
    const response = await fetch(url, { cache: "no-cache", redirect: "manual" });
    if (isWhole(response)) keep(PAGES, url, response.clone());
    return response;
  } catch (error) {
    return (await keptOf(PAGES, url)) ?? Promise.reject(error);
  }
}

/** A file whose address has its version. @param {Request} request @param {string} own name of the cache that it belongs to */
async function keptFirst(request, own) {
  const url = request.url.split("?")[0];
  const kept = await keptOf(own, url);
  if (kept) return kept;
  const response = await fetch(request);
  if (isWhole(response)) keep(own, url, response.clone());
  return response;
}

/** What is kept under an address: of this version, else of the one before. @param {string} own @param {string} url @returns {Promise<Response | undefined>} */
async function keptOf(own, url) {
  const others = (await caches.keys()).filter((name) => name.startsWith(PREFIX) && name !== own);
  for (const name of [own, ...others]) {
    const kept = await (await caches.open(name)).match(url);
    if (kept) return kept;
  }
  return undefined;
}

/** @param {Response} response */
function isWhole(response) {
  return response.status === 200 && !response.redirected;
}

/** Where there is no room left, the site works and keeps nothing more. @param {string} name @param {string} url @param {Response} response */
function keep(name, url, response) {
  const put = async () => (await caches.open(name)).put(url, response);
  put().catch(() => here.clients.matchAll().then((/** @type {any[]} */ all) => all.forEach((each) => each.postMessage("no room"))));
}
