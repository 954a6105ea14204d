import importlib.util
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from attnviz.models import catalog
from attnviz.models.hub import minilm as embedded
from attnviz.models.hub.wrap_model import Facts


@pytest.fixture(scope="module")
def minilm() -> Any:
    return catalog.load("minilm")


def test_it_shows_the_heads_that_the_examples_promise(minilm: Any) -> None:
    attention = minilm.trace("The animal didn't cross the street because it was too tired.").encoder
    names = [token.text for token in attention.queries]
    assert attention.weights(3, 1)[names.index("it"), names.index("animal")] == pytest.approx(0.6768, abs=1e-3)
    previous = np.diagonal(attention.weights(0, 2), offset=-1)
    assert previous[1:].min() > 0.9


def test_its_card_says_what_it_is(minilm: Any) -> None:
    card = minilm.card
    assert (card.name, card.n_layers, card.n_heads, card.max_tokens) == ("minilm", 6, 12, 512)
    assert (card.licence, card.revision, card.parameters) == ("Apache-2.0", embedded.REVISION, 22_713_216)
    assert card.reads == ("pair",)


def test_the_package_is_found_without_running_its_code() -> None:
    sys.modules.pop(embedded.PACKAGE, None)
    folder = embedded.packaged()
    assert folder is not None
    assert embedded.verified(folder)
    assert embedded.PACKAGE not in sys.modules


@pytest.fixture
def copied(tmp_path: Path) -> Path:
    folder = embedded.packaged()
    assert folder is not None
    for name in embedded.SHA256:
        (tmp_path / name).symlink_to(folder / name)
    return tmp_path


@pytest.mark.parametrize("name", sorted(embedded.SHA256))
def test_one_changed_byte_in_any_file_is_seen(name: str, copied: Path) -> None:
    content = (copied / name).read_bytes()
    (copied / name).unlink()
    assert not embedded.verified(copied)
    (copied / name).write_bytes(bytes([content[0] ^ 1]) + content[1:])
    assert not embedded.verified(copied)


def test_a_file_that_was_not_published_is_seen(copied: Path) -> None:
    assert embedded.verified(copied)
    (copied / "added_tokens.json").write_text('{"cat": 7}')
    assert not embedded.verified(copied)


def test_all_that_transformers_reads_of_a_tokenizer_is_checked() -> None:
    from transformers import BertTokenizer, tokenization_utils_base

    files = {value for name, value in vars(tokenization_utils_base).items() if name.endswith("_FILE")}
    files |= set(BertTokenizer.vocab_files_names.values())
    assert files <= {*embedded.SHA256, *embedded.NOT_PUBLISHED}


@pytest.mark.usefixtures("own_models")
@pytest.mark.parametrize("state", ["missing", "empty", "changed"])
def test_any_other_file_is_left_for_the_hubs(state: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "model").mkdir()
    if state == "changed":
        (tmp_path / "model" / "model.safetensors").write_bytes(b"other weights")
    spec = None if state == "missing" else SimpleNamespace(submodule_search_locations=[str(tmp_path)])
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: spec)

    def from_hub(repository: str, facts: Facts, progress: Any) -> Any:
        raise LookupError(repository, facts.revision)

    monkeypatch.setattr(embedded, "fetch_from_hub", from_hub)
    with pytest.raises(LookupError) as asked:
        catalog.load("minilm")
    assert asked.value.args == ("sentence-transformers/all-MiniLM-L6-v2", "1110a243fdf4706b3f48f1d95db1a4f5529b4d41")
