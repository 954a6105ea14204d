"""What an atlas says of a head, against loops over its numbers; and its file."""

import json

import numpy as np
import pytest

from attnviz.analysis.heads.atlas import (
    PARKED,
    Atlas,
    AtlasExample,
    ClaimFacts,
    HeadLink,
    from_json,
    sentences_of_head,
    shipped_atlas,
    to_json,
)
from attnviz.core.errors import CorpusError
from attnviz.files.shipped import models_with_atlas
from attnviz.text.corpora import plain

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
        dice.random((LAYERS, HEADS, 33)).round(3), cases, {"0.3": (HeadLink(5, 2, 0, 0.875), HeadLink(1, 0, 4, 0.5))},
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
    for name in ("model", "corpus", "sentences", "command", "claims", "examples", "links"):
        assert getattr(again, name) == getattr(shown, name), name
    for name in ("rates", "low", "high", "supported", "means", "histogram"):
        np.testing.assert_allclose(getattr(again, name), getattr(shown, name), atol=1e-9, err_msg=name)
    facts = json.loads(to_json(shown))
    # Of a file of the first version all else is read.
    assert from_json(json.dumps({**facts, "version": 1, "links": None})).links == {}
    assert facts["rates"][1][2][3] == round(1000 * shown.rates[1, 2, 3])
    assert facts["means"][4][1] == [None] * HEADS


@pytest.mark.parametrize(
    ("changes", "says"),
    [({"version": 3}, "another version"), ({"rates": None}, "no atlas"), ({"claims": [{}]}, "no atlas"),
     ({"supported": [[99, 0, 0]]}, "no atlas"), ({"examples": {"0.0": [[1, 2]]}}, "no atlas"),
     ({"links": {"0.0": [[1, 2, 3]]}}, "no atlas")],
)  # fmt: skip
def test_what_is_no_atlas_is_one_sentence(changes: dict, says: str) -> None:
    with pytest.raises(CorpusError, match=rf"it is (an atlas of )?{says}"):
        from_json(json.dumps(json.loads(to_json(atlas())) | changes), "it")
    with pytest.raises(CorpusError, match="it is no atlas"):
        from_json("[", "it")


def test_the_sentences_of_a_head_are_its_strongest_and_no_two_words_stand_twice() -> None:
    texts = {number: f"{'A' if number % 2 else 'a'} b c{number % 9}" for number in (2, 3, 5, 8, 11, 13, 20, 22)}
    sentences = {number: plain([text])[0] for number, text in texts.items()}
    words = np.array([[0, 1], [0, 1], [2, 1], [2, 1], [1, 2], [0, 2], [1, 0], [1, 0]])
    weights = np.array([0.5, 0.75, 0.125, 0.25, 0.375, 0.625, 0.0, 1.0])
    want = []
    for row in sorted(range(8), key=lambda row: -weights[row]):
        word, looks = words[row].tolist()
        link = HeadLink(list(texts)[row], word, looks, weights[row])
        pair = [texts[link.sentence].split()[place].lower() for place in (link.word, link.looks)]
        if weights[row] and pair not in [pair for pair, _ in want]:
            want.append((pair, link))
    assert len(want) == 6
    assert sentences_of_head(words, weights, sentences) == tuple(link for _, link in want[:5])


@pytest.mark.parametrize("name", models_with_atlas())
def test_a_shipped_atlas_is_of_its_model_and_says_how_it_was_made(name):
    of_it = shipped_atlas(name)
    assert of_it.model == name
    assert of_it.sentences == 1500
    assert of_it.command == f"attnviz atlas {name} -o {name}.json"
    assert of_it.supported.any()
    for head, examples in of_it.examples.items():
        layer, number = map(int, head.split("."))
        assert of_it.best(layer, number) is not None
        assert {case.holds for case in examples} <= {True, False}
