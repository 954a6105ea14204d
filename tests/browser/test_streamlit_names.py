"""What our style and scripts call Streamlit's parts is what this Streamlit calls them."""

import re
from collections.abc import Iterator
from contextlib import closing

from playwright.sync_api import Page

from tests.browser.harness import ROOT, WINDOW
from tests.browser.pages import PHONE, settle

# Attributes and classes that are Streamlit's; `st-key-…` are ours.
NAMES = re.compile(r"\[(data-test[\w-]*)=[\"']?([\w-]+)|\.(st[A-Z]\w*)|(st-emotion[\w-]*)")
# All that has ever stood on the page, what only loads included.
WATCH = """
  window.seen = new Set();
  const note = (element) => {
    for (const { name, value } of element.attributes ?? []) if (name.startsWith("data-test")) seen.add(`${name}=${value}`);
    for (const name of element.classList ?? []) if (/^st[A-Z]/.test(name)) seen.add(name);
  };
  const look = (records) => {
    for (const { target, addedNodes } of records) {
      note(target);
      for (const node of addedNodes) if (node.querySelectorAll) [node, ...node.querySelectorAll("*")].forEach(note);
    }
  };
  new MutationObserver(look).observe(document, { subtree: true, childList: true, attributes: true });
"""


def named() -> Iterator[tuple[str, str]]:
    """Each name of Streamlit's that a style or a script of ours has, and where."""
    for path in sorted((ROOT / "attnviz").glob("**/*")):
        if path.suffix in (".css", ".js", ".py"):
            for attribute, value, *classes in NAMES.findall(path.read_text(encoding="utf-8")):
                yield f"{attribute}={value}" if attribute else "".join(classes), str(path.relative_to(ROOT))


def test_every_name_of_streamlits_that_we_use_is_on_a_page(page: Page, app_url: str) -> None:
    with closing(page.context.new_page()) as watched:
        watched.add_init_script(WATCH)
        watched.set_viewport_size(WINDOW)
        watched.goto(f"{app_url}/translate")
        settle(watched)
        watched.locator("textarea").first.fill("Typed, and not run.")
        watched.get_by_test_id("InputInstructions").first.wait_for(state="attached")
        watched.set_viewport_size(PHONE)
        settle(watched)
        actual = set(watched.evaluate("() => [...seen]"))
        watched.goto(f"{app_url}/heads?claim=nonsense")
        watched.get_by_test_id("stAlertContentError").wait_for()
        actual.update(watched.evaluate("() => [...seen]"))
    expected = list(named())
    assert len({name for name, _ in expected}) > 10
    assert [(name, path) for name, path in expected if name not in actual] == []
