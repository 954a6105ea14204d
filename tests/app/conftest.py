"""What holds for every page that is run without a browser."""

import pytest

from attnviz.survey.corpora import shipped


@pytest.fixture(autouse=True)
def _no_scan(monkeypatch: pytest.MonkeyPatch) -> None:
    """Streamlit looks for components in all installed packages, half a second for each session, and there are none."""
    monkeypatch.setattr("streamlit.components.v2.manifest_scanner.scan_component_manifests", list)


@pytest.fixture(autouse=True)
def _few_sentences(monkeypatch: pytest.MonkeyPatch) -> None:
    """Claims are tested over a part of the sentences: what all of them say is tested in the shell."""
    monkeypatch.setattr("attnviz.ui.heads.results.shipped", lambda corpus: shipped(corpus)[:120])


@pytest.fixture(autouse=True)
def _few_slow_ways(monkeypatch: pytest.MonkeyPatch) -> None:
    """Ways that take a pass for every word are drawn as the one that is asked here."""
    monkeypatch.setattr("attnviz.ui.matters.controls.SLOW", ("leave-one-out",))
