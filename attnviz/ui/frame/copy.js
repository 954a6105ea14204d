// Copies the link of what the page shows at one press, and says so.

const SAID = 2500;

/** @typedef {HTMLElement & { button?: HTMLButtonElement, timer?: number }} Tool */

/** @param {StreamlitComponent<{ link: string, help: string }>} component */
export default function ({ data, parentElement }) {
  const root = /** @type {Tool} */ (parentElement.querySelector(".tool"));
  const button = (root.button ??= draw(root));
  button.title = data.help;
  button.onclick = async () => {
    const isCopied = await copy(data.link);
    // A selection has taken the keyboard.
    button.focus({ preventScroll: true });
    say(root, isCopied ? "Copied" : "Select and copy", data.link);
  };
}

/** @param {Tool} root */
function draw(root) {
  root.innerHTML =
    '<button type="button" aria-label="Copy link"><i aria-hidden="true">link</i>' +
    '<span><b class="now">Copy link</b><b>Copied</b></span></button><output></output>';
  return /** @type {HTMLButtonElement} */ (root.querySelector("button"));
}

// A browser gives its clipboard to secure hosts only; over plain http a selection is copied the older way.
/** @param {string} text */
async function copy(text) {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    return copySelection(text);
  }
}

/** @param {string} text */
function copySelection(text) {
  const box = Object.assign(document.createElement("textarea"), { value: text, readOnly: true });
  box.style.cssText = "position: fixed; top: 0; opacity: 0";
  document.body.append(box);
  box.select();
  const done = document.execCommand("copy");
  box.remove();
  return done;
}

// Where nothing may be copied, the link stands there, selected.
/** @param {Tool} root @param {string} words @param {string} link */
function say(root, words, link) {
  const isCopied = words === "Copied";
  const [output, icon] = /** @type {HTMLElement[]} */ ([root.querySelector("output"), root.querySelector("i")]);
  output.textContent = isCopied ? "Link copied" : words;
  root.querySelector("input")?.remove();
  if (!isCopied) {
    const shown = Object.assign(document.createElement("input"), { value: link, readOnly: true, ariaLabel: "Link" });
    root.append(shown);
    shown.select();
    return;
  }
  const [plain, copied] = root.querySelectorAll("b");
  /** @param {HTMLElement} now */
  const show = (now) => [plain, copied].forEach((each) => each.classList.toggle("now", each === now));
  show(copied);
  icon.textContent = "check";
  clearTimeout(root.timer);
  root.timer = setTimeout(() => {
    show(plain);
    icon.textContent = "link";
    output.textContent = "";
  }, SAID);
}
