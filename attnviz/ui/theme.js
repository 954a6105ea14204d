// Tells Python that the page has become light or dark: the figures that Python has drawn are of the theme before, and Streamlit
// does not ask for others.

/** @param {StreamlitComponent<[string]>} component */
export default function ({ data: [drawn], setTriggerValue }) {
  const app = /** @type {Element} */ (document.querySelector("[data-testid=stApp]"));
  const look = () => {
    const shown = getComputedStyle(app).colorScheme;
    if (shown !== drawn && ["light", "dark"].includes(shown)) setTriggerValue("turned", shown);
  };
  const observer = new MutationObserver(look);
  observer.observe(app, { attributeFilter: ["class"] });
  look();
  return () => observer.disconnect();
}
