"""A site in Chromium and Firefox: words are cut as in the app, and one reload shows what was published, whatever the server."""

import gzip
import json
import os
import shutil
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, Protocol

import pytest
from playwright.sync_api import BrowserContext, Error

from attnviz.live import site
from attnviz.live.pictures import examples_of
from attnviz.text.corpora import shipped
from attnviz.text.words import Words
from tests import shared
from tests.browser import firefox
from tests.browser.harness import PATIENCE
from tests.browser.test_site import RUNNER

# What a server says of how long its files may be kept; Python's own says when they were changed, which a browser guesses by.
HEADERS: Mapping[str, dict[str, str | None]] = {
    "nothing": {"Last-Modified": None},
    "Last-Modified": {},
    "max-age=600": {"Cache-Control": "max-age=600"},
    "no-cache": {"Cache-Control": "no-cache"},
    "type": {"Content-type": "text/plain"},
    "policy": {"Content-Security-Policy": "script-src 'self'; worker-src 'self'"},
}
A_MONTH_AGO = 1_700_000_000
# A worker as sites had it: what was fetched once was never fetched again, and caches of other sites were emptied.
FORMER = """
const PAGES = "attnviz-pages-0123456789abcdef";
addEventListener("install", (event) => event.waitUntil(
  caches.open(PAGES).then((cache) => cache.addAll(["encode/", "site.js"])).then(() => skipWaiting())));
addEventListener("activate", (event) => event.waitUntil(clients.claim()));
addEventListener("fetch", (event) => event.respondWith(
  caches.open(PAGES).then((cache) => cache.match(event.request.url)).then((kept) => kept ?? fetch(event.request))));
"""
FORMER_PAGE = "<!doctype html><title>Former</title><script type=module src=../site.js></script>"
FORMER_SCRIPT = 'navigator.serviceWorker.register(new URL("service_worker.js", import.meta.url));'


class Server(SimpleHTTPRequestHandler):
    """Gives out a folder with the headers of a kind of server."""

    def __init__(self, *request: object, headers: Mapping[str, str | None], directory: str) -> None:
        self.own = headers
        super().__init__(*request, directory=directory)  # type: ignore[arg-type]

    def log_message(self, format: str, *args: object) -> None:
        """Says nothing of what was asked."""

    def send_header(self, keyword: str, value: str) -> None:
        if keyword == "Content-type" and self.path.endswith(".js"):
            value = self.own.get(keyword) or value
        if self.own.get(keyword, value) is not None:
            super().send_header(keyword, value)

    def end_headers(self) -> None:
        for name, value in self.own.items():
            if value is not None and name not in ("Last-Modified", "Content-type"):
                super().send_header(name, value)
        super().end_headers()


# Stands in for what runs models, which is not read here.
VENDOR = {
    "onnxruntime-web/ort.js": b"export const InferenceSession = class {}; export const env = { wasm: {} };",
    "onnxruntime-web/ort.wasm.gz": gzip.compress(b"wasm"),
    "tokenizers/tokenizers.js": b"export const Tokenizer = class {};",
}


def write_vendor(folder: Path) -> None:
    for name, data in VENDOR.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(data)


def make_versions(folder: Path) -> None:
    """Three sites: one, one whose pages are others, and one whose models are others too."""
    folder.mkdir()
    lesson = folder / "short.md"
    lesson.write_text("---\ntitle: Short\nminutes: 1\nmodels: minilm\n---\n\n## Look\n\nNothing is asked.\n", encoding="utf-8")
    scripts = site.scripts()
    # Computed once: it is the same in all.
    (encode,) = (page for page in site.picture_pages(("minilm",)) if page.task == "encode")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("attnviz.live.pictures.examples_of", lambda section: examples_of(section)[:2])
        computed = list(site.pictures(encode, site.load))
    for version, model in (("1", "111"), ("2", "111"), ("3", "333")):

        def export(name: str, models: Path, model: str = model) -> dict[str, str]:
            (models / name).mkdir(parents=True)
            (models / name / "model.json").write_text(f'{{"cut": {model}}}', encoding="utf-8")
            return {"name": name, "task": "encode"}

        marked = f'document.documentElement.dataset.version = "{version}";\n' + scripts["site"]
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(site, "picture_pages", lambda _: [encode])
            patch.setattr(site, "pictures", lambda page, _: computed)
            patch.setattr(site, "scripts", lambda marked=marked: {**scripts, "site": marked})
            patch.setattr(site, "export", export)
            patch.setattr(site, "copy_packages", write_vendor)
            patch.setattr("attnviz.live.page_html._FOOTER", f"Version {version}")
            site.build(folder / version, ("minilm",), (lesson,), report=lambda _: None)
        (runner,) = (folder / version).glob("models-*/runner/load_model.js")
        runner.write_text(RUNNER.replace("cut: null, cutPair", "cut: manifest.cut, cutPair"), encoding="utf-8")
        for path in (folder / version).rglob("*"):
            os.utime(path, (time := A_MONTH_AGO + int(version), time))


class Tab(Protocol):
    """What a test does in a browser."""

    def goto(self, url: str) -> None: ...
    def reload(self) -> None: ...
    def evaluate(self, function: str) -> Any:
        """Call a function of JavaScript, and wait for what it promises."""
        ...


class Chromium:
    """A tab of Chromium."""

    def __init__(self, context: BrowserContext) -> None:
        self._page = context.new_page()

    def goto(self, url: str) -> None:
        self._page.goto(url)

    def reload(self) -> None:
        self._page.reload()

    def evaluate(self, function: str) -> Any:
        # The worker may open the page anew meanwhile, on a busy machine more than once.
        for _ in range(5):
            try:
                return self._page.evaluate(function)
            except Error as error:
                if "context was destroyed" not in error.message:
                    raise
        return self._page.evaluate(function)


# Every test has an origin of its own, so that one browser serves all.
@pytest.fixture(scope="module", params=["chromium", "firefox"])
def new_tab(request: pytest.FixtureRequest) -> Iterator[Callable[[], Tab]]:
    """Opens tabs of a browser."""
    if request.param == "firefox":
        with firefox.opened() as browser:
            yield browser.new_tab
    else:
        # Not watched: what a server refuses is an error in the console.
        with request.getfixturevalue("browser").new_context(service_workers="allow") as context:
            context.set_default_timeout(PATIENCE)
            yield partial(Chromium, context)


@contextmanager
def serving(folder: Path, kind: str) -> Iterator[str]:
    handler = partial(Server, headers=HEADERS[kind], directory=str(folder))
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://localhost:{server.server_port}"
    server.shutdown()
    server.server_close()


def publish(version: str, folder: Path) -> None:
    """Put a version where the server looks, and nothing else stays."""
    shutil.rmtree(folder, ignore_errors=True)
    shutil.copytree(shared.once("site-versions", make_versions) / version, folder)


UNTIL = """
  const until = async (condition) => {
    for (let tries = 0; tries < 1200 && !(await condition()); tries++) await new Promise((resolve) => setTimeout(resolve, 50));
  };
  const part = (place) => document.querySelector(place);
"""
# Waits for the picture, and says which versions the page and its script are of.
SHOWN = f"""async () => {{ {UNTIL}
  await until(() => part("#hero[data-drawn]"));
  return [/Version (.)/.exec(part("footer").textContent)[1], document.documentElement.dataset.version];
}}"""
# Types a text, and says where the model of this version stopped reading.
RUN = f"""async () => {{ {UNTIL}
  part("#hint").textContent = "";
  part("#box-text").value = "A dog barked at cats.";
  part("#typed button").click();
  await until(() => /character/.test(part("#hint").textContent) || part("#notice").textContent);
  return /character (.*) of/.exec(part("#hint").textContent)?.[1] ?? part("#notice").textContent;
}}"""
# Waits until a worker has taken over.
TAKEN = f"""async () => {{ {UNTIL}
  await navigator.serviceWorker.ready;
  await until(() => navigator.serviceWorker.controller);
  return Boolean(navigator.serviceWorker.controller);
}}"""
CASES = [("nothing", "", "2"), ("Last-Modified", "sub/", "3"), ("max-age=600", "", "3"), ("no-cache", "sub/", "2")]


@pytest.mark.parametrize(("kind", "place", "version"), CASES, ids=[kind for kind, *_ in CASES])
def test_one_reload_shows_what_was_published(new_tab: Callable[[], Tab], tmp_path: Path, kind: str, place: str, version: str):
    publish("1", tmp_path / place / "site")
    with serving(tmp_path if place else tmp_path / "site", kind) as origin:
        url = f"{origin}/{'sub/site/' if place else ''}encode/"
        tab, old = new_tab(), new_tab()
        for each in (tab, old):
            each.goto(url)
            assert each.evaluate(SHOWN) == ["1", "1"]
        assert old.evaluate(TAKEN)
        assert tab.evaluate(RUN) == "111"
        publish(version, tmp_path / place / "site")
        tab.reload()
        assert tab.evaluate(SHOWN) == [version, version]
        assert tab.evaluate(RUN) == ("333" if version == "3" else "111")
        # A tab that stayed open shows what it had, and is of the new version after a reload as well.
        assert old.evaluate(SHOWN) == ["1", "1"]
        old.reload()
        assert old.evaluate(SHOWN) == [version, version]


def test_who_has_a_former_worker_gets_the_new_version(new_tab: Callable[[], Tab], tmp_path: Path):
    former = tmp_path / "encode"
    former.mkdir()
    for path, text in (
        (former / "index.html", FORMER_PAGE),
        (tmp_path / "site.js", FORMER_SCRIPT),
        (tmp_path / "service_worker.js", FORMER),
    ):
        path.write_text(text, encoding="utf-8")
        os.utime(path, (A_MONTH_AGO, A_MONTH_AGO))
    with serving(tmp_path, "max-age=600") as origin:
        tab = new_tab()
        tab.goto(f"{origin}/encode/")
        assert tab.evaluate(TAKEN)
        publish("2", tmp_path)
        tab.reload()
        deadline = time.monotonic() + PATIENCE / 1000
        # The former worker still shows its page; the new one opens it anew by itself.
        while (title := tab.evaluate("() => document.title")) != "Encode · attnviz" and time.monotonic() < deadline:
            time.sleep(0.1)
        assert title == "Encode · attnviz"
        assert tab.evaluate(SHOWN) == ["2", "2"]
        assert tab.evaluate("() => caches.keys().then((names) => names.filter((name) => name.startsWith('attnviz-')))") == []


def test_sites_and_pages_of_one_origin_leave_each_other_alone(new_tab: Callable[[], Tab], tmp_path: Path):
    publish("1", tmp_path)
    publish("1", tmp_path / "sub")
    (tmp_path / "blog").mkdir()
    (tmp_path / "blog" / "index.html").write_text("first", encoding="utf-8")
    # Python's server tells changes by the second.
    os.utime(tmp_path / "blog" / "index.html", (A_MONTH_AGO, A_MONTH_AGO))
    with serving(tmp_path, "no-cache") as origin:
        tab = new_tab()
        for place in ("/", "/sub/"):
            tab.goto(f"{origin}{place}encode/")
            assert tab.evaluate(SHOWN) == ["1", "1"]
            assert tab.evaluate(TAKEN)
        tab.goto(f"{origin}/blog/")
        kept = tab.evaluate("() => caches.keys()")
        assert sum(name.startswith(f"{origin}/sub/ ") for name in kept) == 1
        publish("3", tmp_path / "sub")
        (tmp_path / "blog" / "index.html").write_text("second", encoding="utf-8")
        tab.goto(f"{origin}/blog/")
        # What stands beside the site is as the server has it.
        assert tab.evaluate("() => document.body.textContent.trim()") == "second"
        tab.goto(f"{origin}/sub/encode/")
        assert tab.evaluate(SHOWN) == ["3", "3"]
        tab.goto(f"{origin}/encode/")
        assert tab.evaluate(SHOWN) == ["1", "1"]
        assert {name for name in kept if not name.startswith(f"{origin}/sub/")} <= set(tab.evaluate("() => caches.keys()"))


def test_without_its_server_a_site_shows_what_was_published_last(new_tab: Callable[[], Tab], tmp_path: Path):
    publish("1", tmp_path / "site")
    tab = new_tab()
    with serving(tmp_path / "site", "Last-Modified") as origin:
        tab.goto(f"{origin}/encode/")
        assert tab.evaluate(TAKEN)
        publish("2", tmp_path / "site")
        tab.reload()
        assert tab.evaluate(SHOWN) == ["2", "2"]
    tab.goto(f"{origin}/encode/")
    assert tab.evaluate(SHOWN) == ["2", "2"]
    assert "The model could not be fetched: check the connection" in tab.evaluate(RUN)


NOTICE = f"""async () => {{ {UNTIL}
  await until(() => part(".notice:not(:empty):not([hidden])"));
  return part(".notice:not(:empty)")?.textContent;
}}"""


def test_what_a_server_refuses_is_one_sentence(new_tab: Callable[[], Tab], tmp_path: Path):
    publish("1", tmp_path)
    tab = new_tab()
    tab.goto((tmp_path / "encode" / "index.html").as_uri())
    assert "run python3 -m http.server in the site's folder" in tab.evaluate(NOTICE)
    with serving(tmp_path, "type") as origin:
        tab.goto(f"{origin}/encode/")
        assert "another type than text/javascript" in tab.evaluate(NOTICE)
    with serving(tmp_path, "policy") as origin:
        tab.goto(f"{origin}/encode/")
        assert tab.evaluate(SHOWN) == ["1", "1"]
        assert "The Content-Security-Policy that the server sends forbids what the model needs" in tab.evaluate(RUN)
    (models,) = tmp_path.glob("models-*")
    shutil.rmtree(models)
    with serving(tmp_path, "nothing") as origin:
        tab.goto(f"{origin}/encode/")
        assert tab.evaluate(SHOWN) == ["1", "1"]
        assert "The server has a file of this page no more: reload the page" in tab.evaluate(RUN)


# What browsers cut otherwise by themselves, or from one version to the next.
HARD = ("the U.S. at 5 p.m. on example.com, i.e. e.g., v1.2.3, a_b.c, 1.a, a.1, x²", "l'école ''a rock'n'roll צה\"ל 5'6\"",
        "你好世界 ひらがなカタカナ 한국어 สวัสดีครับ 👩‍👩‍👧 🇫🇷🇩🇪 x\u200by a\u00adb")  # fmt: skip


def test_words_are_those_of_the_app(new_tab: Callable[[], Tab], tmp_path: Path):
    publish("1", tmp_path)
    (module,) = tmp_path.glob("models-*/runner/bert_tokens.js")
    texts = [*HARD, *(each.text for each in shipped("ewt")[::25])]
    with serving(tmp_path, "Last-Modified") as origin:
        tab = new_tab()
        tab.goto(f"{origin}/encode/")
        url = f"{origin}/{module.relative_to(tmp_path)}"
        cut = tab.evaluate(f"() => import({json.dumps(url)}).then(({{ wordSpans }}) => {json.dumps(texts)}.map(wordSpans))")
    for text, spans in zip(texts, cut, strict=True):
        assert [tuple(span) for span in spans] == list(Words.of(text).spans), text
