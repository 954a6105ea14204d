"""What an atlas says of a head, against loops over its numbers; and its file."""

import json

import numpy as np
import pytest

from attnviz.analysis.heads.atlas import PARKED, Atlas, AtlasExample, ClaimFacts, from_json, to_json
from attnviz.core.errors import CorpusError

CLAIMS, LAYERS, HEADS = 5, 3, 11
TEXTS = ("det -> head", PARKED, "obj -> head", "any -> previous", "any -> first")


def atlas(seed: int = 3) -> Atlas:
    dice = np.random.default_rng(seed)
    chance, offset, untrained = dice.random((3, CLAIMS)).round(4).tolist()
    facts = tuple(
        ClaimFacts(text, 40 + at, chance[at], at - 3, offset[at], "any" in text, untrained[at] if at % 2 else None)
        for at, text in enumerate(TEXTS)
    )
    rates, low, high = dice.random((3, CLAIMS, LAYERS, HEADS)).round(3)
    means = dice.normal(size=(13, LAYERS, HEADS)).round(4)
    means[4, 1] = np.nan
    cases = {"1.2": (AtlasExample(3, 1, 2, True), AtlasExample(4, 0, 7, False))}
    return Atlas(
        "tiny", "ewt", 9, "attnviz atlas tiny", facts, rates, low, high, dice.random(rates.shape) < 0.4, means,
        dice.random((LAYERS, HEADS, 33)).round(3), cases,
    )  # fmt: skip


def test_a_head_is_called_by_the_claim_that_is_furthest_ahead() -> None:
    shown, parked = atlas(), 0
    for layer, head in np.ndindex(LAYERS, HEADS):
        ahead = {}
        for at, facts in enumerate(shown.claims):
            rivals = [facts.chance, facts.untrained or 0, *([] if facts.place else [facts.offset_rate])]
            assert facts.strongest_rival == max(rivals)
            ahead[at] = shown.rates[at, layer, head] - max(rivals)
            assert shown.ahead[at, layer, head] == pytest.approx(ahead[at])
        stands = [at for at in range(CLAIMS) if shown.supported[at, layer, head]]
        named = [at for at in stands if shown.rates[at, layer, head] >= 0.3]
        others = [at for at in named if TEXTS[at] != PARKED]
        want = max(others or named, key=ahead.__getitem__, default=None)
        parked += want is not None and not others
        assert shown.best(layer, head) == want
        order = sorted(range(CLAIMS), key=lambda at: (at != want, at not in stands, -ahead[at]))
        assert shown.ranked(layer, head) == order
    assert parked
    for claim in range(CLAIMS):
        heads = [place for place in np.ndindex(LAYERS, HEADS) if shown.supported[claim][place]]
        assert shown.holding(claim) == sorted(heads, key=lambda place: -shown.rates[claim][place])
    assert shown.shape == (LAYERS, HEADS)


def test_an_atlas_is_read_as_it_was_written() -> None:
    shown = atlas()
    again = from_json(to_json(shown))
    for name in ("model", "corpus", "sentences", "command", "claims", "examples"):
        assert getattr(again, name) == getattr(shown, name), name
    for name in ("rates", "low", "high", "supported", "means", "histogram"):
        np.testing.assert_allclose(getattr(again, name), getattr(shown, name), atol=1e-9, err_msg=name)
    facts = json.loads(to_json(shown))
    assert facts["rates"][1][2][3] == round(1000 * shown.rates[1, 2, 3])
    assert facts["means"][4][1] == [None] * HEADS


@pytest.mark.parametrize(
    ("changes", "says"),
    [({"version": 2}, "another version"), ({"rates": None}, "no atlas"), ({"claims": [{}]}, "no atlas"),
     ({"supported": [[99, 0, 0]]}, "no atlas"), ({"examples": {"0.0": [[1, 2]]}}, "no atlas")],
)  # fmt: skip
def test_what_is_no_atlas_is_one_sentence(changes: dict, says: str) -> None:
    with pytest.raises(CorpusError, match=rf"it is (an atlas of )?{says}"):
        from_json(json.dumps(json.loads(to_json(atlas())) | changes), "it")
    with pytest.raises(CorpusError, match="it is no atlas"):
        from_json("[", "it")
