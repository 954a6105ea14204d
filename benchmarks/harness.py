"""What every benchmark stands on: one command line, one table, a time after which it ends, and an app in a browser.

Playwright is imported where a browser begins: what needs none runs on machines that have none.
"""

from __future__ import annotations

import os
import runpy
import sys
import tempfile
import threading
from argparse import ArgumentParser, Namespace, RawDescriptionHelpFormatter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn
from urllib.parse import urlsplit

import psutil

from tests.browser import chromium
from tests.browser import harness as apps
from tests.browser.harness import WINDOW

if TYPE_CHECKING:
    from playwright.sync_api import Browser, BrowserContext, Page

os.environ["HF_HUB_OFFLINE"] = "1"

ROOT = Path(__file__).parents[1]
APP = (sys.executable, "-m", "attnviz")
SMOKE_MINUTES = 2.0
# For what runs in a page. `until` fails after a minute, so that no page is waited for without end.
SCRIPT = """
  const frame = () => new Promise(requestAnimationFrame);
  const drawn = async () => { await frame(); await frame(); };
  const tick = () => new Promise((go) => setTimeout(go, 2));
  const until = async (holds, what, wait = frame) => {
    for (const ends = performance.now() + 60_000; !holds(); await wait())
      if (performance.now() > ends) throw new Error(`${what}: not within a minute`);
  };
  const button = (name) => [...document.querySelectorAll("button")].find(({ innerText }) => innerText.trim().endsWith(name));
"""


@dataclass(frozen=True)
class Row:
    """One measured thing, and whether it is within its bar. What is `exact` is no matter of speed: it counts in a smoke run."""

    what: str
    measured: str
    bar: str = ""
    met: bool = True
    exact: bool = False

    def __str__(self) -> str:
        verdict = "MISSED" if not self.met else "met" if self.bar else ""
        return f"| {self.what} | {self.measured} | {self.bar} | {verdict} |"


def at_most(what: str, value: float, limit: float, unit: str = "s", note: str = "") -> Row:
    """A row of a number that is to be small."""
    return Row(what, f"{_number(value)} {unit}{note}", f"≤ {_number(limit)} {unit}", value <= limit)


def _number(value: float) -> str:
    return f"{value:,.0f}" if abs(value) >= 100 else f"{value:.3g}"


def none(what: str, problems: Sequence[str]) -> Row:
    """A row of what went wrong: its bar is that nothing did."""
    told = "; ".join(sorted(set(problems))[:5]).replace("\n", " ")
    return Row(what, f"{len(problems)}: {told[:2000]}" if problems else "0", "0", not problems, exact=True)


def run(
    rows: Callable[[Namespace], Iterable[Row]], *, minutes: float, sizes: Mapping[str, tuple[Any, Any]] | None = None
) -> NoReturn:
    """Prints the rows as they come; exits 1 where a bar is missed, or when the time is over. A smoke run has no bars of speed.

    `sizes`: the options of the command line, each with its usual value and that of `--smoke`: the same on tiny input.
    """
    script = Path(sys.argv[0]).name
    given = _options(sys.modules[rows.__module__].__doc__ or "", minutes, sizes or {})
    timer = _end_after(SMOKE_MINUTES if given.smoke else minutes, script)
    print("| what | measured | bar | |\n|---|---|---|---|", flush=True)
    is_missed = False
    for row in rows(given):
        counted = row if row.exact or not given.smoke else replace(row, bar="", met=True)
        is_missed |= not counted.met
        print(counted, flush=True)
    timer.cancel()
    print(f"\nload average {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores")
    sys.exit(int(is_missed))


def _options(about: str, minutes: float, sizes: Mapping[str, tuple[Any, Any]]) -> Namespace:
    """The command line's options; a list is chosen from its usual value."""
    limit = f"It ends after {minutes:g} minutes at the latest."
    parser = ArgumentParser(description=about, epilog=limit, formatter_class=RawDescriptionHelpFormatter)
    parser.add_argument("--smoke", action="store_true", help="the same on tiny input, in seconds; no bar of speed counts")
    parser.add_argument("--server", default="", metavar="URL", help="use the app that runs there, where one is measured")
    for name, values in sizes.items():
        usual = values[is_smoke()]
        if isinstance(usual, bool):
            parser.add_argument(f"--{name}", action="store_true")
        elif isinstance(usual, list):
            parser.add_argument(f"--{name}", nargs="+", type=type(usual[0]), choices=values[0], default=usual)
        else:
            parser.add_argument(f"--{name}", type=type(usual), default=usual, help=f"usually {values[0]!r}")
    return parser.parse_args()


def is_smoke() -> bool:
    """Whether this run is one on tiny input."""
    return "--smoke" in sys.argv[1:]


def _end_after(minutes: float, script: str) -> threading.Timer:
    """Ends this process and all that it has started, whatever they wait for, unless it is cancelled before."""

    def end() -> None:
        print(f"{script} is not done after {minutes:g} minutes, the most that it may take", flush=True)
        for child in psutil.Process().children(recursive=True):
            child.kill()
        os._exit(1)

    timer = threading.Timer(60 * minutes, end)
    timer.daemon = True
    timer.start()
    return timer


def status(process: int | str, what: str) -> int:
    """A number of /proc (Linux): "VmRSS" and "VmHWM" are kB held now and at most, "Threads" how many there are."""
    lines = Path(f"/proc/{process}/status").read_text(encoding="ascii", errors="ignore").splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith(f"{what}:"))


@dataclass(frozen=True)
class App:
    """A running server."""

    url: str

    @property
    def host(self) -> str:
        return urlsplit(self.url).netloc

    @property
    def process(self) -> int:
        """The process that listens there."""
        port = urlsplit(self.url).port
        listening = (each for each in psutil.net_connections("tcp") if each.status == psutil.CONN_LISTEN)
        return next(each.pid for each in listening if each.pid and each.laddr[1:] == (port,))

    def megabytes(self, what: str = "VmRSS") -> float:
        """Memory of the process now, or its peak ("VmHWM")."""
        return status(self.process, what) / 1024


@contextmanager
def serving(
    url: str = "",
    *,
    command: Sequence[str] = APP,
    folder: Path = ROOT,
    log: Path | None = None,
    environment: Mapping[str, str] | None = None,
) -> Iterator[App]:
    """The app at `url`; where none is named, that of this checkout or of `command`, which is stopped at the end."""
    if url:
        yield App(url)
        return
    with tempfile.TemporaryDirectory() as place:
        output = log or Path(place) / "log.txt"
        with apps.serving([*command], folder=folder, log=output, **(environment or {})) as address:
            yield App(address)


# The browser that smoke runs in one process share.
_shared: list[Browser] = []


@contextmanager
def sharing_browser() -> Iterator[None]:
    """Smoke runs meanwhile are visits of one Chromium, which compiles the scripts of a page once for them all."""
    with browsing() as browser, browser.new_context(viewport=WINDOW, bypass_csp=True):
        _shared.append(browser)
        yield
        _shared.clear()


@contextmanager
def browsing(*arguments: str) -> Iterator[Browser]:
    """Chromium, which reaches nothing beyond this machine."""
    if _shared:
        yield _shared[0]
        for context in _shared[0].contexts[1:]:
            context.close()
        return
    from playwright.sync_api import sync_playwright

    from tests.browser.conftest import ARGUMENTS, SIMPLE_SCRIPTS

    simple = SIMPLE_SCRIPTS if is_smoke() else ()
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium.find(), args=[*ARGUMENTS, *arguments, *simple])
        yield browser
        browser.close()


@contextmanager
def context_of(browser: Browser, **options: Any) -> Iterator[BrowserContext]:
    """A browser that has never been anywhere. A smoke run has one, which compiles the scripts of a page once."""
    if not is_smoke():
        with browser.new_context(**options) as context:
            yield context
        return
    context = browser.contexts[0] if browser.contexts else browser.new_context(**options)
    opened = context.pages
    yield context
    for page in context.pages:
        if page not in opened:
            page.close()


@contextmanager
def page_of(browser: Browser) -> Iterator[Page]:
    """A new window. The policy of the app and of our files forbids what Playwright waits with."""
    with context_of(browser, viewport=WINDOW, bypass_csp=True) as context:
        page = context.new_page()
        page.set_default_timeout(120_000)
        page.add_init_script(path=apps.REST)
        yield page
        page.close()


def run_script(script: Path, arguments: list[str], output: Path) -> int:
    """Do what `python script arguments` does, with all that it prints in a file; the exit code."""
    with output.open("w") as written:
        os.dup2(written.fileno(), 1)
        os.dup2(written.fileno(), 2)
    sys.argv = [str(script), *arguments]
    try:
        runpy.run_path(str(script), run_name="__main__")
    except SystemExit as ended:
        return int(ended.code or 0)
    return 0
