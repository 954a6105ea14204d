"""What a stranger's link, name or script can do in a visitor's browser: nothing."""

import sys
import urllib.error
import urllib.request
from pathlib import Path
from urllib.parse import urlencode, urlsplit

from playwright.sync_api import Browser, Page

from attnviz.ui.frame.toolbar import STYLE
from tests.browser.harness import PATIENCE, ROOT, Watch, serve, serving, stop, until

# What a browser would fetch, follow or draw: each is to stand on the page as it was sent.
HOSTILE = (
    "![x](http://evil.example/p.png) http://evil.example www.evil.example a@evil.example :streamlit: :material/home: :red[y]"
)
HOSTILE += " $x$ <b>z</b> _a_ **b** -> --"
STRANGER = "rebound.evil.example"


def test_a_link_shows_its_pictures_as_text_and_no_script_runs_but_those_of_the_app(
    tab: tuple[Page, Watch], page: Page, app_url: str
) -> None:
    # `page` fails the test at any request for another machine.
    page.goto(f"{app_url}/encode?{urlencode({'model': HOSTILE})}")
    message = page.get_by_test_id("stAlert").first
    message.wait_for()
    assert " ".join(HOSTILE.split()) in message.inner_text()
    assert message.locator("a, img, b, em, strong, code, .katex, [data-testid=stMarkdownColoredText]").count() == 0
    broken = page.evaluate(
        """() => new Promise(done => {
            document.addEventListener("securitypolicyviolation", event => done(event.effectiveDirective), { once: true });
            document.body.insertAdjacentHTML("beforeend", "<b onclick='window.hacked = 1' id='trap'></b>");
            document.getElementById("trap").click();
            setTimeout(() => done(window.hacked), 2000);
        })"""
    )
    assert broken == "script-src-attr"
    # The browser says so, which is no mistake of the app here.
    problems = tab[1].problems
    assert until(page, lambda: bool(problems))
    assert all("Content Security Policy" in problem for problem in problems)
    problems.clear()


def test_the_server_knows_its_own_names_only(app_url: str) -> None:
    port = urlsplit(app_url).port
    assert [answer(app_url, host) for host in (f"localhost:{port}", "127.0.0.1", STRANGER)] == [200, 200, 421]
    serves_all(app_url)


def test_uvicorn_serves_all_of_the_app_as_streamlit_does(tmp_path: Path) -> None:
    started = [sys.executable, "-m", "uvicorn", "app:app"]
    with serving(started, folder=ROOT, log=tmp_path / "log.txt") as address:
        serves_all(address)
        assert answer(address, STRANGER) == 421


def test_a_page_whose_server_is_gone_says_so_in_our_words(browser: Browser, tmp_path: Path) -> None:
    server, address = serve([sys.executable, "-m", "attnviz"], folder=ROOT, log=tmp_path / "log.txt")
    # Not watched: what the page asks for in vain is no mistake of it.
    with browser.new_context() as context:
        page = context.new_page()
        page.goto(f"{address}/lessons", timeout=PATIENCE)
        page.locator(".st-key-cards-lessons").wait_for(timeout=PATIENCE)
        stop(server)
        dialog = page.get_by_role("dialog")
        dialog.wait_for(timeout=PATIENCE)
        said = dialog.evaluate("element => getComputedStyle(element, '::after').content")
        shown = dialog.inner_text().strip()
    assert "attnviz does not answer" in said
    assert "goes on by itself" in said
    assert not shown


def answer(address: str, host: str) -> int:
    """The status of the answer to a request under a name."""
    request = urllib.request.Request(f"{address}/_stcore/health", headers={"Host": host})
    try:
        with urllib.request.urlopen(request) as actual:
            return actual.status
    except urllib.error.HTTPError as error:
        return error.code


def serves_all(address: str) -> None:
    """The page comes with its style and with what the browser may not do."""
    request = urllib.request.Request(f"{address}/encode", headers={"Accept": "text/html"})
    with urllib.request.urlopen(request) as page:
        assert "default-src 'none'" in page.headers["Content-Security-Policy"]
        assert page.headers["X-Content-Type-Options"] == "nosniff"
        assert STYLE in page.read().decode()
