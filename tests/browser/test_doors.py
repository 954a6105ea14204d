"""What a stranger's link, name or script can do in a visitor's browser: nothing."""

import sys
import urllib.error
import urllib.request
from pathlib import Path
from urllib.parse import urlencode, urlsplit

import pytest
from playwright.sync_api import Page

from attnviz.ui.frame.style import STYLE
from tests.browser.harness import ROOT, Watch, serving, until

# What a browser would fetch, follow or draw: each is to stand on the page as it was sent.
HOSTILE = (
    "![x](http://evil.example/p.png) http://evil.example www.evil.example a@evil.example :streamlit: :material/home: :red[y]"
)
HOSTILE += " $x$ <b>z</b> _a_ **b** -> --"


def test_a_link_with_pictures_in_it_shows_their_text_and_fetches_nothing(page: Page, app_url: str) -> None:
    # `page` fails the test at any request for another machine.
    page.goto(f"{app_url}/encode?{urlencode({'model': HOSTILE})}")
    message = page.get_by_test_id("stAlert").first
    message.wait_for()
    assert " ".join(HOSTILE.split()) in message.inner_text()
    assert message.locator("a, img, b, em, strong, code, .katex, [data-testid=stMarkdownColoredText]").count() == 0


def test_bertviz_lives_in_a_frame_that_cannot_reach_the_page(page: Page, app_url: str) -> None:
    page.goto(f"{app_url}/encode?view=BertViz")
    frame = page.locator("iframe")
    frame.wait_for()
    assert frame.get_attribute("sandbox") == "allow-scripts"
    inside = page.frame_locator("iframe").locator("#bertviz")
    inside.wait_for()
    assert inside.evaluate("() => self.origin") == "null"
    assert inside.evaluate("() => { try { return parent.document.title } catch { return 'refused' } }") == "refused"


def test_no_script_runs_but_those_of_the_app(tab: tuple[Page, Watch], page: Page, app_url: str) -> None:
    page.goto(app_url)
    page.locator(".st-key-hero .headline").wait_for()
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

    def answer(host: str) -> int:
        request = urllib.request.Request(f"{app_url}/_stcore/health", headers={"Host": host})
        try:
            with urllib.request.urlopen(request) as actual:
                return actual.status
        except urllib.error.HTTPError as error:
            return error.code

    assert [answer(host) for host in (f"localhost:{port}", "127.0.0.1", "rebound.evil.example")] == [200, 200, 421]


@pytest.mark.parametrize(
    ("command", "option"),
    [("streamlit run app.py", "--server.port"), ("uvicorn app:app", "--port")],
    ids=("streamlit", "uvicorn"),
)
def test_whatever_serves_the_app_serves_all_of_it(command: str, option: str, tmp_path: Path) -> None:
    started = [sys.executable, "-m", *command.split()]
    with serving(started, folder=ROOT, log=tmp_path / "log.txt", option=option) as address:
        request = urllib.request.Request(f"{address}/encode", headers={"Accept": "text/html"})
        with urllib.request.urlopen(request) as answer:
            assert "default-src 'none'" in answer.headers["Content-Security-Policy"]
            assert answer.headers["X-Content-Type-Options"] == "nosniff"
            assert STYLE in answer.read().decode()
        stranger = urllib.request.Request(address, headers={"Host": "rebound.evil.example"})
        with pytest.raises(urllib.error.HTTPError, match="421"):
            urllib.request.urlopen(stranger)
