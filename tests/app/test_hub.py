"""A model of the hub in the shell and on a page, from a server on this machine."""

from collections.abc import Iterator
from pathlib import Path

import pytest

import attnviz
from attnviz.cli import main
from tests import hub, opus
from tests.hub import Hub, Repository, pull_request
from tests.visits import open_page

NAME = "Helsinki-NLP/opus-mt-en-fr"
TEXT = "The red car is not new."


@pytest.fixture(scope="module")
def marian(tmp_path_factory: pytest.TempPathFactory) -> hub.Files:
    folder = tmp_path_factory.mktemp("marian")
    opus.save_opus(folder, safetensors=True)
    return hub.files_of(folder)


@pytest.fixture
def server(marian: hub.Files) -> Iterator[Hub]:
    """It has the layout of Helsinki-NLP: a pickle on main, and the bot's safetensors in a pull request."""
    main = {file: content for file, content in marian.items() if file != "model.safetensors"}
    repository = Repository({"main": main, "refs/pr/3": marian}, [pull_request(3)])
    with hub.serving(Hub({NAME: repository})) as running:
        yield running


@pytest.mark.gate
def test_the_shell_and_a_page_get_a_model_of_the_hub(server: Hub, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    hub.use(server, tmp_path / "cache", monkeypatch)
    monkeypatch.setenv("ATTNVIZ_MAX_TOKENS", "13")
    file = tmp_path / "red.attn"
    assert main(["trace", NAME, TEXT, "-o", str(file)]) == 0
    trace = attnviz.open(file)
    assert (trace.model, trace.revision) == (NAME, server.repositories[NAME].commit("refs/pr/3"))
    assert trace.kinds == ("encoder", "decoder", "cross")
    app = open_page("encode", model=NAME, text=TEXT)
    assert not app.error
    weights = "Weights: safetensors, converted by SFconvertbot on the hub"
    assert any(weights in caption.value for caption in app.sidebar.caption)
