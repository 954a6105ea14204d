// Whether what stands before the app passes on its own routes. Some hosts pass on only those of Streamlit, and answer the others
// themselves: with 404, with another page, with a redirect. There the phone's page is one of the app's, at /?join=CODE.

/** The address of the app itself, below which a host may have it. */
export const home = () => location.pathname.replace(/(join(\/[^/]*)?|class)\/?$/, "");

/** An answer that comes from no program of ours; a server that is down, or starts again, is not meant. @param {Response} answer */
export const isForeign = (answer) => answer.status < 500 && !/json|event-stream/.test(answer.headers.get("content-type") ?? "");

/** @param {string} address @returns {Promise<Response>} */
const ask = (address) => fetch(address, { cache: "no-store", redirect: "manual", signal: AbortSignal.timeout(10_000) });

/** Whether phones have to open the app: asked from the wall, which is behind the same front. */
export async function refusesPhones() {
  try {
    const page = await ask(`${home()}join`);
    const text = page.ok ? await page.text() : "";
    // Streamlit's own page opens the phone's at this address.
    return page.status < 500 && !/id="(root|phone)"/.test(text);
  } catch {
    return false;
  }
}

/** Opens the app's page for phones, if the app is there at all. @param {string} code */
export async function openInApp(code) {
  const health = await ask(`${home()}_stcore/health`);
  if (!health.ok || (await health.text()) !== "ok") return;
  const invite = new URLSearchParams(location.search).get("invite");
  location.replace(`${home()}?join=${code}${invite ? `&invite=${encodeURIComponent(invite)}` : ""}`);
}
