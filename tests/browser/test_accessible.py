"""Every page of the app audited by axe, as it first opens, and with its folded parts open."""

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser, BrowserContext, Page

from tests.browser.harness import Watch
from tests.browser.test_encode import PICTURE
from tests.browser.test_fold import ASKED

# What breaks no rule is counted only once: to list all of it took half of the time. In the dark the same elements have other
# colours, and nothing else.
_BROKEN = {"resultTypes": ["violations"]}
RULES = {"light": _BROKEN, "dark": _BROKEN | {"runOnly": ["color-contrast"]}}
# Streamlit's own parts, which a page cannot change.
NOT_OURS = {
    "include": [["body"]],
    "exclude": [['[data-testid="stToolbar"]']],
}


def serious(page: Page, scheme: str = "light") -> list[tuple[str, str, str]]:
    """What axe calls serious or critical: the rule, the element, and what is wrong with it."""
    actual = Axe().run(page, context=NOT_OURS, options=RULES[scheme]).response["violations"]
    return [
        (each["id"], node["html"][:200], node["failureSummary"][:200])
        for each in actual
        if each["impact"] in ("serious", "critical")
        for node in each["nodes"]
    ]


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_nothing_serious_on_any_page(browser: Browser, app_url: str, scheme: str) -> None:
    context: BrowserContext = browser.new_context(viewport={"width": 1400, "height": 1000}, color_scheme=scheme)  # pyright: ignore[reportArgumentType]
    watch = Watch(context)
    page = context.new_page()
    page.goto(app_url)
    page.locator("canvas.heads").wait_for(timeout=PICTURE)
    links = page.get_by_test_id("stSidebarNavLink").evaluate_all("links => links.map(({ href }) => href)")
    assert len(links) >= 5
    problems = {}
    for link in links:
        path = link.removeprefix(app_url)
        page.goto(f"{link}?all=open&all1=open&{ASKED.get(path.strip('/'), '')}")
        page.locator("h1").wait_for(timeout=PICTURE)
        page.wait_for_selector("[data-test-script-state=notRunning]", state="attached", timeout=PICTURE)
        page.wait_for_timeout(800)
        problems[path] = serious(page, scheme)
    context.close()
    assert {path: actual for path, actual in problems.items() if actual} == {}
    assert not watch.problems
