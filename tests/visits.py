"""Visits of the app without a browser: what a page shows, what its address says, and things that a person may do there."""

import hashlib
import itertools
import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs

import pytest
from streamlit.components.v2 import manifest_scanner
from streamlit.testing.v1 import AppTest, local_script_runner
from streamlit.testing.v1.element_tree import Block, Button, DownloadButton, Node, Widget

from attnviz.files.trace_file import to_bytes
from attnviz.training.toy_training import to_file
from attnviz.ui.background import results as models
from attnviz.ui.server import SCRIPT

PAGES = Path(__file__).parents[1] / "pages"
# A page that has come no further says so; on a busy machine it takes its time (seconds).
PATIENCE = 240
_wait = local_script_runner.require_widgets_deltas


def _wait_for_end(runner: local_script_runner.LocalScriptRunner, timeout: float = PATIENCE) -> None:
    """Sleep until a page has run: Streamlit looks every millisecond, which takes a tenth of the time of what it looks at."""
    if runner._script_thread:
        runner._script_thread.join(timeout)
    _wait(runner, timeout=1)


local_script_runner.require_widgets_deltas = _wait_for_end
# Streamlit looks for components in all installed packages, half a second for each session, and there are none.
manifest_scanner.scan_component_manifests = lambda max_workers=None: []


def script(page: str) -> AppTest:
    """Make a page that has not been run yet."""
    # Home leads to the other pages, which only the router knows.
    return AppTest.from_file(str(SCRIPT if page == "home" else PAGES / f"{page}.py"), default_timeout=PATIENCE)


def open_page(page: str | AppTest, /, state: Mapping[str, Any] | None = None, **address: str | list[str]) -> AppTest:
    """Run a page at an address, in a session that holds this state."""
    app = script(page) if isinstance(page, str) else page
    for name, value in (state or {}).items():
        app.session_state[name] = value
    app.query_params.update(address)
    app.run()
    assert not app.exception
    return app


def press(app: AppTest, label: str) -> AppTest:
    """Press the first button with that on it."""
    next(button for button in app.button if button.label == label).click().run()
    assert not app.exception
    return app


def html(app: AppTest) -> str:
    """Join the page's own markup."""
    return "\n".join(each.proto.body for each in app.get("html"))


def pictures(app: AppTest) -> list[str]:
    """The pictures that figures have made as HTML, in their order."""
    return [each for each in _sent(app) if isinstance(each, str)]


def described(app: AppTest) -> list[dict[str, Any]]:
    """The pictures that figures have described as values, in their order."""
    return [each for each in _sent(app) if isinstance(each, dict)]


def _sent(app: AppTest) -> list[Any]:
    sent = [json.loads(each.proto.json) for each in app.get("bidi_component") if each.proto.json]
    return [each[0] for each in sent if isinstance(each, list) and each]


def said(app: AppTest) -> str:
    """Join all sentences of a page: its markup, Markdown, captions, and what is said in boxes."""
    texts = (each.value for kind in (app.markdown, app.caption, app.error, app.info) for each in kind)
    return " ".join([html(app), *texts])


class Visit:
    """One session of a page, as of one browser, and the traces that the page asked for in its last run."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, page: str, address: dict[str, Any] | None = None) -> None:
        self.app = script(page)
        self.app.query_params = dict(address or {})
        self.actual: list[Any] = []
        self._patched = monkeypatch
        self.run()

    def run(self) -> None:
        """Runs the page with what was done on it, and its address as a browser would have it by then."""
        self.actual.clear()
        compute = models.compute_once

        def kept(*arguments: Any, **options: Any) -> Any:
            actual = compute(*arguments, **options)
            if actual is None or hasattr(actual, "trace"):
                self.actual.append(actual)
            return actual

        with self._patched.context() as patched:
            patched.setattr(models, "compute_once", kept)
            self.app.query_params = self.address
            self.app.run()
        assert not self.app.exception, self.app.exception

    @property
    def nodes(self) -> list[Node]:
        """Everything on the page and in its sidebar."""
        return list(self.app._tree)[1:]

    @property
    def widgets(self) -> dict[str, Widget]:
        """What a person can use now, by its name."""
        actual = [node for node in self.nodes if isinstance(node, Widget) and not isinstance(node, Button | DownloadButton)]
        return {node.key: node for node in actual if node.key and not node.disabled}

    @property
    def address(self) -> dict[str, Any]:
        """The query parameters, as the page has set them."""
        return dict(self.app.query_params)

    @property
    def hashes(self) -> list[str]:
        """The content of every trace, and of a model that can be trained, exactly."""
        files = [to_bytes(each.trace, exact=True) for each in self.actual if hasattr(each, "trace")]
        if "run" in self.app.session_state and (run := self.app.session_state.run):
            files.append(to_file(run.recipe, run.frames[0]))
        return [hashlib.sha256(file).hexdigest() for file in files]

    @property
    def view(self) -> list[tuple[Any, ...]]:
        """Everything that is drawn: widgets with their values, words, pictures byte for byte; not times, nor toasts."""
        return [_shown(node) for node in self.nodes if node.type not in ("empty", "code", "toast")]

    @property
    def link(self) -> dict[str, Any]:
        """The query parameters of the link that the page offers to copy; a page that only says what is wrong offers none."""
        if not self.app.code:
            return self.address
        actual = parse_qs(self.app.code[-1].value.partition("?")[2], keep_blank_values=True, strict_parsing=True)
        return {name: values if len(values) > 1 else values[0] for name, values in actual.items()}


def differences(one: Visit, other: Visit) -> list[str]:
    """Where two views differ, briefly: pictures are long."""
    views = itertools.zip_longest(one.view, other.view)
    return [f"{str(first)[-300:]} != {str(second)[-300:]}" for first, second in views if first != second][:3]


def _shown(node: Node) -> tuple[Any, ...]:
    if isinstance(node, Block):
        proto = getattr(node, "proto", None)
        return node.type, node.key, getattr(node, "label", ""), getattr(proto, "expanded", None)
    if isinstance(node, Button):
        return node.type, node.label, node.disabled
    if isinstance(node, Widget):
        options = tuple(getattr(node, "options", ()))
        return node.type, node.key, getattr(node, "label", ""), str(node.value), node.disabled, options
    if node.type in ("html", "caption", "markdown"):
        text = node.proto.body if node.type == "html" else node.value
        return node.type, re.sub(r"[\d,]+ ms", "… ms", text)
    proto = type(node.proto)()
    proto.CopyFrom(node.proto)
    for name in ("id", "form_id"):
        if name in proto.DESCRIPTOR.fields_by_name:
            proto.ClearField(name)
    return node.type, proto.SerializeToString(deterministic=True)
