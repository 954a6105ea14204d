"""The app in Firefox, where it draws other than Chromium."""

from collections.abc import Iterator
from itertools import pairwise
from typing import Any

import pytest

from tests.browser import firefox
from tests.browser.firefox import FirefoxTab
from tests.browser.harness import PATIENCE

# All elements of a selector, in components too, once there are some.
SEEN = f"""async function seen(selector) {{
  const within = (root) => [...root.querySelectorAll("*")].flatMap((each) =>
    [...(each.matches(selector) ? [each] : []), ...(each.shadowRoot ? within(each.shadowRoot) : [])]);
  for (const begin = performance.now(); performance.now() - begin < {PATIENCE};) {{
    const all = within(document).filter((each) => each.checkVisibility({{ visibilityProperty: true }}));
    if (all.length) return all;
    await new Promise((resolve) => setTimeout(resolve, 50));
  }}
  throw new Error(`nothing is ${{selector}}`);
}}"""


@pytest.fixture(scope="module")
def tab() -> Iterator[FirefoxTab]:
    with firefox.opened() as browser:
        yield browser.new_tab()


def evaluate(tab: FirefoxTab, body: str) -> Any:
    """Call the body of an asynchronous function, which finds elements by `seen`."""
    return tab.evaluate(f"async () => {{ {SEEN}\n{body} }}")


@pytest.mark.parametrize(("page", "selector"), [("answer", ".answered .span"), ("summarize", ".passage .sentence")])
def test_a_mark_has_no_gaps_beside_letters_that_run_from_right_to_left(page: str, selector: str, tab: FirefoxTab, app_url: str):
    """With one Arabic letter anywhere on a page, as in its history, Firefox splits all lines where a word is isolated."""
    tab.goto(f"{app_url}/{page}")
    widths = f"""
      const widths = async () => (await seen("{selector}")).map((mark) =>
        [...mark.getClientRects()].reduce((sum, {{ width }}) => sum + width, 0).toFixed(1));
      await document.fonts.ready;
      const before = await widths();
      document.body.append("ا");
      // Lines that are laid out already stay as they are.
      for (const display of ["none", ""]) {{
        document.body.style.display = display;
        document.body.getBoundingClientRect();
      }}
      return [before, await widths()];"""
    before, after = evaluate(tab, widths)
    assert before == after


def test_names_of_heads_do_not_touch_without_a_pointer(tab: FirefoxTab, app_url: str):
    """A machine that only its keyboard works, as this browser, has neither a fine pointer nor a coarse one."""
    tab.resize(320, 640)
    tab.goto(f"{app_url}/whatif")
    boxes = """
      return (await seen(".costs .axis:not(.layer)")).map((name) => {
        const range = document.createRange();
        range.selectNodeContents(name);
        const { left, right } = range.getBoundingClientRect();
        return [left, right];
      });"""
    names = [tuple(each) for each in evaluate(tab, boxes)]
    assert len(names) > 1
    assert all(right < left for (_, right), (left, _) in pairwise(names))
