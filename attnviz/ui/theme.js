// Light or dark, and paper. Python is told when the page has turned: the figures that it has drawn are of the theme before, and
// Streamlit does not ask for others.

const DARK = "(prefers-color-scheme: dark)";

/** @param {StreamlitComponent<[string]>} component */
export default function ({ data: [drawn], setTriggerValue }) {
  const app = /** @type {Element} */ (document.querySelector("[data-testid=stApp]"));
  const look = () => {
    const shown = getComputedStyle(app).colorScheme;
    if (shown !== drawn && ["light", "dark"].includes(shown)) setTriggerValue("turned", shown);
  };
  window.addEventListener("beforeprint", prepareForPaper);
  const observer = new MutationObserver(look);
  observer.observe(app, { attributeFilter: ["class"] });
  look();
  return () => observer.disconnect();
}

// How wide the page is, before paper makes it narrower, and whether it is dark: what is printed keeps the one, and paper is light, as
// layout.css says. Of a page that follows the system Streamlit alone would turn light for paper, and not what Python has drawn.
function prepareForPaper() {
  const { documentElement: { style } } = document;
  const main = document.querySelector(".stMainBlockContainer > *");
  const isDark = getComputedStyle(/** @type {Element} */ (document.querySelector(".stApp"))).colorScheme === "dark";
  if (main) style.setProperty("--printed", `${main.clientWidth}px`);
  style.setProperty("--paper", isDark ? "invert(1) hue-rotate(180deg)" : "none");
  const { matchMedia } = window;
  window.matchMedia = (query) => (query === DARK ? Object.defineProperty(matchMedia(query), "matches", { value: isDark }) : matchMedia(query));
  window.addEventListener("afterprint", () => Object.assign(window, { matchMedia }), { once: true });
}
