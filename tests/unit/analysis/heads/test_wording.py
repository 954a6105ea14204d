"""What a head does, said in one line."""

from dataclasses import replace

import numpy as np
import pytest

from attnviz.analysis.heads.atlas import Atlas, ClaimFacts
from attnviz.analysis.heads.verdict import Rival
from attnviz.analysis.heads.wording import describe_label, describe_rival, short_claim

FACTS = (
    ClaimFacts("any -> previous", 90, 0.05, -1, 1.0, True, 0.12),
    ClaimFacts("obj -> head", 80, 0.10, -2, 0.41, False, 0.20),
    ClaimFacts("any -> special", 90, 0.15, 1, 0.30, True),
)
RATES = np.array([[[0.80, 0.60, 0.20, 0.31]], [[0.55, 0.95, 0.29, 0.20]], [[0.99, 0.10, 0.90, 0.10]]])
ATLAS = Atlas(
    "mine", "corpus", 1_500, "command", FACTS, RATES, RATES, RATES, RATES >= 0.29, np.zeros((0, 1, 4)), np.zeros((1, 4, 1)), {}
)


@pytest.mark.parametrize(
    ("head", "does", "rate", "rival"),
    [
        (0, "a word to the word before it", "80", "12"), (1, "an object to its verb", "95", "41"),
        (2, "a word to a special token", "90", "15"), (3, "a word to the word before it", "31", "12"),
    ],
)  # fmt: skip
def test_a_head_is_what_it_does_furthest_above_a_rule_special_tokens_last(head: int, does: str, rate: str, rival: str) -> None:
    said = describe_label(ATLAS, 0, head)
    assert said.startswith(f"Over 1,500 sentences L0·H{head} looks from {does} in {rate}\xa0% of cases")
    assert f"in {rival}\xa0% at most" in said


def test_a_head_of_which_nothing_holds_has_no_label() -> None:
    none = replace(ATLAS, supported=np.zeros_like(ATLAS.supported))
    assert describe_label(none, 0, 1) == "None of the 3 claims tested on 1,500 sentences holds for L0·H1."


def test_claims_are_ordered_best_first_then_those_that_hold() -> None:
    assert [ATLAS.ranked(0, head) for head in range(4)] == [[0, 2, 1], [1, 0, 2], [2, 1, 0], [0, 2, 1]]
    assert ATLAS.holding(0) == [(0, 0), (0, 1), (0, 3)]
    assert ATLAS.holding(2) == [(0, 0), (0, 2)]


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("offset 1", "always 1 word on"), ("offset -1", "always 1 word back"), ("offset 3", "always 3 words on"),
        ("offset -2", "always 2 words back"), ("chance", "chance"), ("untrained", "the best head untrained"),
        ("shuffled", "this head, words shuffled"),
    ],
)  # fmt: skip
def test_a_rival_is_named_by_what_it_does(name: str, said: str) -> None:
    assert describe_rival(Rival(name, 0.5)) == said


@pytest.mark.parametrize(
    ("claim", "said"),
    [
        ("any -> -2", "→ 2 words back"), ("any -> +3", "→ 3 words on"), ("any -> next", "→ next word"),
        ("det -> head", "determiner → its noun"), ("NOUN -> head", "noun → word it belongs to"),
        ("any -> same", "→ same word earlier"),
    ],
)  # fmt: skip
def test_a_claim_in_few_words(claim: str, said: str) -> None:
    assert short_claim(claim) == said
