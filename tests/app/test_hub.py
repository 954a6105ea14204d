"""Pages that show a model of the hub, from a server on this machine."""

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import attnviz
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


def test_a_dropped_connection_is_one_sentence_and_the_next_visitor_gets_the_model(
    server: Hub, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    hub.use(server, tmp_path, monkeypatch)
    monkeypatch.setenv("ATTNVIZ_MAX_TOKENS", "13")
    server.cut["model.safetensors"] = 99
    with monkeypatch.context() as patch:
        patch.setattr("huggingface_hub.file_download.time.sleep", lambda seconds: None)
        first = open_page("encode", model=NAME, text=TEXT)
    assert [error.value.split(";")[0] for error in first.error] == [f"The download of {NAME} broke off"]
    server.cut.clear()
    second = open_page("encode", model=NAME, text=TEXT)
    assert not second.error
    weights = "Weights: safetensors, converted by SFconvertbot on the hub"
    assert any(weights in caption.value for caption in second.sidebar.caption)


def test_the_shell_asks_the_hub_that_hf_endpoint_names(server: Hub, tmp_path: Path) -> None:
    place = {"HF_ENDPOINT": server.address, "HF_HOME": str(tmp_path), "HF_HUB_OFFLINE": "0", "ATTNVIZ_MAX_TOKENS": "13"}
    file = tmp_path / "red.attn"
    run = subprocess.run(
        [sys.executable, "-m", "attnviz.cli", "trace", NAME, TEXT, "-o", str(file)],
        env={**os.environ, **place}, capture_output=True, text=True, timeout=120, check=False,
    )  # fmt: skip
    assert run.returncode == 0, run.stderr
    trace = attnviz.open(file)
    assert (trace.model, trace.revision) == (NAME, server.repositories[NAME].commit("refs/pr/3"))
    assert trace.kinds == ("encoder", "decoder", "cross")
