"""What holds for every page that is run without a browser."""

from collections.abc import Iterator

import pytest
from streamlit.testing.v1 import AppTest

from attnviz.text.corpora import shipped
from attnviz.ui.background import results
from tests.visits import script


@pytest.fixture(scope="session", autouse=True)
def _models() -> Iterator[None]:
    """A model that one test has loaded is there for the next, and what it has computed."""
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(results, "MODELS_KEPT", 64)
        results.models_kept.clear()
        results.traces_kept.clear()
        yield
    results.models_kept.clear()
    results.traces_kept.clear()


@pytest.fixture
def app(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> AppTest:
    """The page that the module calls PAGE, on a machine whose folders may be opened."""
    monkeypatch.setenv("ATTNVIZ_ALLOW_FOLDERS", "1")
    return script(request.module.PAGE)


@pytest.fixture(autouse=True)
def _few_sentences(monkeypatch: pytest.MonkeyPatch) -> None:
    """Claims are tested over a part of the sentences: what all of them say is tested in the shell."""
    monkeypatch.setattr("attnviz.ui.background.corpus_results.shipped", lambda corpus: shipped(corpus)[:13])
    monkeypatch.setattr("attnviz.survey.treebank_attention.MOST_SENTENCES", 13)


@pytest.fixture(autouse=True)
def _few_slow_ways(monkeypatch: pytest.MonkeyPatch) -> None:
    """Methods that take a pass for every word are drawn as the one that is asked here."""
    monkeypatch.setattr("attnviz.ui.matters.SLOW", ("leave-one-out",))


@pytest.fixture(autouse=True)
def _few_draws(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of the curve of a text whose heads are switched off a few points are drawn: its numbers have tests of their own."""
    monkeypatch.setattr("attnviz.models.whatif.DRAWS", 2)
    monkeypatch.setattr("attnviz.models.whatif.STEPS", 3)
