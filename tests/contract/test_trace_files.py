"""A trace that was saved and opened again is the trace: of every model that is listed, and of families that differ."""

from pathlib import Path

import pytest

import attnviz
from attnviz.models.base import AttentionModel
from tests import tiny
from tests.factories import assert_same

TEXT = "The cat sat on the mat, because it was too tired."
# Plain queries and keys; fewer key heads; soft caps and windows; sinks; a position bias and three maps; given weights.
NAMES = ("bert", "llama", "gemma2", "gpt-oss", "t5", "mpnet")
FAMILIES = [family for family in tiny.FAMILIES if family.name in NAMES]


def assert_round_trip(model: AttentionModel, folder: Path) -> None:
    assert isinstance(model, AttentionModel)
    trace = model.trace(TEXT)
    exact = attnviz.open(attnviz.save(trace, folder / "exact.attn", exact=True))
    packed = attnviz.open(attnviz.save(trace, folder / "packed.attn"))
    again = attnviz.open(attnviz.save(packed, folder / "again.attn"))
    assert (folder / "again.attn").read_bytes() == (folder / "packed.attn").read_bytes()
    assert_same(exact, trace)
    assert_same(packed, trace, tolerance=1e-3)
    assert_same(again, packed)


@pytest.mark.parametrize("name", tiny.first_now(attnviz.available(), 4))
def test_every_listed_model_goes_through_a_file(name: str, tmp_path: Path) -> None:
    model = attnviz.load(name)
    assert model.card.name == name
    assert_round_trip(model, tmp_path)


@pytest.mark.parametrize("family", FAMILIES, ids=str)
def test_families_of_every_kind_go_through_a_file(family: tiny.Family, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # A random model that writes never comes to an end by itself.
    monkeypatch.setenv("ATTNVIZ_MAX_TOKENS", "17")
    assert len(FAMILIES) == len(NAMES)
    assert_round_trip(attnviz.wrap(family.model(), tiny.tokenizer(family.architecture)), tmp_path)
