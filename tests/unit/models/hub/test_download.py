"""Every way to a model of the hub, end to end, against a server on this machine."""

import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from attnviz.core.errors import ModelError, ModelNotFoundError, ModelTooLargeError, UnsupportedModelError
from attnviz.models import catalog
from tests import hub, opus, tiny
from tests.hub import Hub, Repository, pull_request

NAME = "owner/model"


@pytest.fixture(scope="module")
def bert(tmp_path_factory: pytest.TempPathFactory) -> hub.Files:
    folder = tmp_path_factory.mktemp("bert")
    tiny.FAMILY["bert"].save(folder)
    return hub.files_of(folder) | {"README.md": b"Read me.", ".gitattributes": b"*"}


@pytest.fixture(scope="module")
def marian(tmp_path_factory: pytest.TempPathFactory) -> hub.Files:
    """As in the bot's pull request."""
    folder = tmp_path_factory.mktemp("marian")
    opus.save_opus(folder, safetensors=True)
    return hub.files_of(folder) | {"README.md": b"Read me.", "rust_model.ot": b"0" * 99}


@pytest.fixture
def server(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Hub]:
    # A random model that writes never comes to an end by itself.
    monkeypatch.setenv("ATTNVIZ_MAX_TOKENS", "17")
    with hub.serving(Hub()) as running:
        hub.use(running, tmp_path / "cache", monkeypatch)
        yield running


def without(files: hub.Files, *names: str) -> hub.Files:
    return {name: content for name, content in files.items() if name not in names}


def test_a_model_is_downloaded_once_with_progress_and_only_what_is_read(server: Hub, bert: hub.Files) -> None:
    server.repositories[NAME] = Repository({"main": bert})
    stages: list[tuple[str, float | None]] = []
    model = catalog.load(NAME, progress=lambda *stage: stages.append(stage))
    assert model.trace("the cat sat").encoder.n_layers == 2
    assert (model.card.weights, model.card.revision) == ("safetensors", server.repositories[NAME].commit("main"))
    assert (stages[0], stages[-1]) == ((f"Looking up {NAME}", None), (f"Loading {NAME}", None))
    fractions = [fraction for stage, fraction in stages if stage == f"Downloading {NAME}" and fraction is not None]
    assert fractions == sorted(fractions)
    assert fractions[-1] == 1
    assert len(server.fetched("model.safetensors")) == 1
    assert not server.fetched("README.md")
    server.asked.clear()
    again = catalog.load(NAME)
    assert (again.card, server.asked) == (model.card, [])


@pytest.mark.gate
def test_an_opus_model_loads_from_the_bots_pull_request_and_translates(server: Hub, marian: hub.Files, tmp_path: Path) -> None:
    main = without(marian, "model.safetensors") | {"README.md": b"Written later."}
    server.repositories[NAME] = Repository({"main": main, "refs/pr/7": marian}, [pull_request(7)])
    model = catalog.load(NAME, allow_pickles=False)
    assert model.card.weights == "safetensors, converted by SFconvertbot on the hub"
    assert model.card.revision == server.repositories[NAME].commit("refs/pr/7")
    assert not server.fetched("pytorch_model.bin")
    trace = model.trace("The red car is not new.")
    wanted = opus.save_opus(tmp_path / "opus")
    tokenizer = model.tokenizer
    written = wanted.generate(**tokenizer("The red car is not new.", return_tensors="pt"), num_beams=1, max_new_tokens=16)
    assert trace.output == tokenizer.decode(written[0], skip_special_tokens=True).strip()
    assert trace.output
    assert {attention.kind for attention in trace.maps} == {"encoder", "decoder", "cross"}
    server.asked.clear()
    assert (catalog.load(NAME, allow_pickles=False).card, server.asked) == (model.card, [])


@pytest.mark.parametrize(
    "change",
    tiny.first_now([
        {"author": {"name": "somebody"}}, {}, {"status": "closed"}, {"isPullRequest": False}, {"title": "Better weights"},
    ], 2),
    ids=["author", "changed", "closed", "discussion", "title"],
)  # fmt: skip
def test_no_other_pull_request_is_trusted(server: Hub, marian: hub.Files, change: dict) -> None:
    main = without(marian, "model.safetensors")
    proposed = marian if change else marian | {"vocab.json": marian["vocab.json"] + b" "}
    requests = [pull_request(7, **change)]
    server.repositories[NAME] = Repository({"main": main, "refs/pr/7": proposed}, requests)
    with pytest.raises(UnsupportedModelError, match="only as pickle files"):
        catalog.load(NAME, allow_pickles=False)
    assert not server.fetched("model.safetensors")


def test_a_pull_request_that_brings_a_file_of_its_own_is_not_trusted(server: Hub, marian: hub.Files) -> None:
    main = without(marian, "model.safetensors")
    proposed = marian | {"adapter_config.json": b"{}"}
    server.repositories[NAME] = Repository({"main": main, "refs/pr/7": proposed}, [pull_request(7)])
    with pytest.raises(UnsupportedModelError, match="only as pickle files"):
        catalog.load(NAME, allow_pickles=False)
    assert not server.fetched("adapter_config.json")


@pytest.mark.gate
def test_without_a_conversion_the_numbers_of_the_pickle_are_read_where_they_may_be(
    server: Hub, marian: hub.Files, monkeypatch: pytest.MonkeyPatch
) -> None:
    server.repositories[NAME] = Repository({"main": without(marian, "model.safetensors")})
    monkeypatch.setenv("ATTNVIZ_ALLOW_PICKLES", "0")
    with pytest.raises(UnsupportedModelError, match="only as pickle files"):
        catalog.load(NAME)
    assert not server.fetched("pytorch_model.bin")
    monkeypatch.delenv("ATTNVIZ_ALLOW_PICKLES")
    model = catalog.load(NAME)
    assert model.card.weights == "pytorch_model.bin, of which only the numbers were read"
    safe = Repository({"main": marian})
    server.repositories["owner/safe"] = safe
    text = "The red car is not new."
    assert model.trace(text).output == catalog.load("owner/safe").trace(text).output
    server.asked.clear()
    assert (catalog.load(NAME).card, server.asked) == (model.card, [])
    with pytest.raises(UnsupportedModelError, match="only as pickle files"):
        catalog.load(NAME, allow_pickles=False)


def test_a_download_that_breaks_off_resumes_where_it_was(server: Hub, bert: hub.Files, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("huggingface_hub.file_download.time.sleep", lambda seconds: None)
    server.repositories[NAME] = Repository({"main": bert})
    # What has come is written piece by piece.
    monkeypatch.setattr("huggingface_hub.constants.DOWNLOAD_CHUNK_SIZE", 1000)
    server.cut["model.safetensors"] = 2
    stages: list[float] = []
    model = catalog.load(NAME, progress=lambda stage, fraction: stages.append(fraction or 0))
    assert model.trace("the cat").encoder.n_heads == 3
    whole = len(bert["model.safetensors"])
    requests = [request.partition("bytes=")[2] for request in server.fetched("model.safetensors")]
    first, second, third = (int(request.strip("-") or 0) for request in requests)
    assert 0 == first < whole // 2 - 1000 < second < third < whole
    assert max(stages) == 1


def test_a_download_that_is_given_up_keeps_the_whole_files_and_is_not_kept_as_a_failure(
    server: Hub, bert: hub.Files, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("huggingface_hub.file_download.time.sleep", lambda seconds: None)
    server.repositories[NAME] = Repository({"main": {**bert, "model.safetensors": b""}})
    files = server.repositories[NAME].revisions["main"]
    files["model.safetensors"] = bert["model.safetensors"]
    server.cut["model.safetensors"] = 99
    with pytest.raises(ModelError, match="broke off"):
        catalog.load(NAME)
    server.cut.clear()
    server.asked.clear()
    assert catalog.load(NAME).trace("the cat").encoder.n_heads == 3
    assert server.fetched("model.safetensors")
    assert not server.fetched("tokenizer.json")


def test_a_gated_a_missing_and_a_renamed_model(server: Hub, bert: hub.Files) -> None:
    server.repositories[NAME] = Repository({"main": bert}, gated=True)
    with pytest.raises(ModelError, match="is gated: accept its licence"):
        catalog.load(NAME)
    with pytest.raises(ModelNotFoundError, match="There is no model nobody/knows-this on the Hugging Face hub"):
        catalog.load("nobody/knows-this")
    server.repositories[NAME] = replace(server.repositories[NAME], gated=False)
    server.renamed["old/name"] = NAME
    model = catalog.load("old/name")
    assert model.card.name == "old/name"
    assert model.trace("the cat").encoder.n_heads == 3


def test_a_repository_without_a_configuration_or_weights(server: Hub, bert: hub.Files) -> None:
    server.repositories[NAME] = Repository({"main": without(bert, "config.json")})
    with pytest.raises(ModelNotFoundError, match=r"has no config\.json"):
        catalog.load(NAME)
    server.repositories["owner/empty"] = Repository({"main": without(bert, "model.safetensors")})
    with pytest.raises(ModelNotFoundError, match="has no weights"):
        catalog.load("owner/empty")


def test_what_is_too_large_is_refused_before_it_is_downloaded(
    server: Hub, bert: hub.Files, monkeypatch: pytest.MonkeyPatch
) -> None:
    server.repositories[NAME] = Repository({"main": bert})
    monkeypatch.setenv("ATTNVIZ_MAX_PARAMETERS", "7")
    with pytest.raises(ModelTooLargeError, match="parameters and this machine loads at most 7"):
        catalog.load(NAME)
    assert not server.fetched("model.safetensors")
    monkeypatch.setenv("ATTNVIZ_MAX_PARAMETERS", "6000")
    stuffed = bert | {"tokenizer.model": b"0" * 200_000}
    server.repositories["owner/stuffed"] = Repository({"main": stuffed})
    with pytest.raises(ModelTooLargeError, match="has files of"):
        catalog.load("owner/stuffed")
    assert not server.fetched("tokenizer.model")


def test_what_is_fetched_is_built_without_a_network(server: Hub, bert: hub.Files) -> None:
    server.repositories[NAME] = Repository({"main": bert})
    build = catalog.fetch(NAME)
    server.asked.clear()
    assert build(lambda stage, fraction: None).card.n_layers == 2
    assert server.asked == []


@pytest.mark.parametrize("part", ["/tree/", "/revision/", "/discussions", "/resolve/"])
def test_a_hub_that_falls_silent_is_not_waited_for(
    part: str, server: Hub, marian: hub.Files, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("huggingface_hub.file_download.time.sleep", lambda seconds: None)
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_DOWNLOAD_TIMEOUT", 0.2)
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_ETAG_TIMEOUT", 0.2)
    monkeypatch.setattr("huggingface_hub.file_download._ETAG_RETRY_TIMEOUT", 0.2)
    monkeypatch.setattr("attnviz.models.hub.download.PATIENCE_SECONDS", 0.2)
    server.repositories[NAME] = Repository({"main": without(marian, "model.safetensors")})
    server.mute = part
    begun = time.monotonic()
    with pytest.raises(ModelError, match=r"broke off|cannot be reached"):
        catalog.load(NAME)
    assert time.monotonic() - begun < 20
