"""Edits in words, of a text with one map and of one with several."""

import numpy as np
import pytest

from attnviz.analysis.wording import describe_edits, describe_refusal, toggled
from attnviz.core.edits import Edits, HeadPatched
from attnviz.core.errors import EditedRowError, EditError
from attnviz.core.trace import AttentionMap, AttentionTrace, DenseWeights, Kind, Prompt
from tests.factories import typed

TOKENS = typed("it was tired")
ONE_HEAD = DenseWeights((np.full((1, 3, 3), 1 / 3),))
THREE_HEADS = DenseWeights((np.full((3, 3, 3), 1 / 3), np.full((3, 3, 3), 1 / 3)))


def traced(weights: DenseWeights, *kinds: Kind) -> AttentionTrace:
    return AttentionTrace("mine", Prompt("text"), tuple(AttentionMap(kind, TOKENS, TOKENS, weights) for kind in kinds))


@pytest.mark.parametrize(
    ("edits", "want"),
    [
        ("e0.0z,e0.1z,e0.2z", {"e0.0z,e0.1z,e0.2z": "L0 off"}),
        ("e0.0z,e0.2z", {"e0.0z": "L0·H0 off", "e0.2z": "L0·H2 off"}),
        ("e1.0m,e1.1m,e1.2u", {"e1.0m": "L1·H0 at its mean", "e1.1m": "L1·H1 at its mean", "e1.2u": "L1·H2 uniform"}),
        ("ek2", {"ek2": "“tired” hidden in every layer"}),
        ("ek3", {"ek3": "3 hidden in every layer"}),
        ("e1k0", {"e1k0": "“it” hidden in L1"}),
        ("e0.1c0.2", {"e0.1c0.2": "L0·H1: “it” → “tired” cut"}),
        ("e0.1w0.2-0.25", {"e0.1w0.2-0.25": "L0·H1: “it” → “tired” set to 0.25"}),
    ],
)
def test_an_edit_names_its_head_and_its_words(edits: str, want: dict[str, str]) -> None:
    assert describe_edits(Edits.parse(edits), traced(THREE_HEADS, "encoder")) == want


def test_where_there_are_several_maps_each_edit_says_in_which() -> None:
    said = describe_edits(Edits.parse("e0.0z,c0.0z,ck1,d0.0c0.1"), traced(ONE_HEAD, "encoder", "decoder", "cross"))
    assert said == {
        "e0.0z": "encoder L0·H0 off", "c0.0z": "cross L0·H0 off", "ck1": "cross “was” hidden in every layer",
        "d0.0c0.1": "decoder L0·H0: “it” → “was” cut",
    }  # fmt: skip
    both = traced(THREE_HEADS, "encoder", "cross")
    assert describe_edits(Edits.parse("c1.0u,c1.1u,c1.2u"), both) == {"c1.0u,c1.1u,c1.2u": "cross L1 uniform"}


@pytest.mark.parametrize(
    ("edits", "more", "want"),
    [
        ("e0.1z", "e0.1u", "e0.1u"),
        ("e0.1z", "e0.2z", "e0.1z,e0.2z"),
        ("e0.1c0.2", "e0.1w0.2-0.5", "e0.1w0.2-0.5"),
        ("e0.1c0.2", "e0.1c0.1", "e0.1c0.1,e0.1c0.2"),
        ("e0.1c0.2", "e0.1z", "e0.1c0.2,e0.1z"),
        ("e0k1", "e0k2", "e0k1,e0k2"),
        ("e0k1,e0.1z", "e0k1", "e0.1z"),
    ],
)
def test_an_edit_takes_the_place_of_one_that_it_contradicts(edits: str, more: str, want: str) -> None:
    left = toggled(Edits.parse(edits).each, Edits.parse(more).each)
    assert sorted(Edits(left).each, key=str) == sorted(Edits.parse(want).each, key=str)


def test_what_a_row_cannot_do_is_said_with_its_words() -> None:
    trace, sentence = traced(ONE_HEAD, "encoder"), "{query} cannot look at {key}."
    assert describe_refusal(EditedRowError("encoder", sentence, 2, 1), trace) == "“tired” cannot look at “was”."
    assert describe_refusal(EditedRowError("encoder", sentence, 3, 0), trace) == "3 cannot look at “it”."
    assert describe_refusal(EditedRowError("cross", sentence, 2, 1), trace) == "query 2 cannot look at key 1."
    assert describe_refusal(EditError("No."), trace) == "No."


def test_a_text_that_a_head_is_patched_from_is_named() -> None:
    edits = Edits((HeadPatched("encoder", 1, 2, "a" * 50),))
    assert [*describe_edits(edits, traced(THREE_HEADS, "encoder")).values()] == [f"L1·H2 patched from “{'a' * 40}”"]
