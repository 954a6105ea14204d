"""What a head does, said in one line."""

from dataclasses import replace

import numpy as np
import pytest

from attnviz.analysis.heads.atlas import Atlas, ClaimFacts
from attnviz.analysis.heads.claim import parse
from attnviz.analysis.heads.verdict import (
    MARGIN,
    ClaimResult,
    Rival,
    claim_sides,
    describe_label,
    describe_question,
    describe_rival,
    describe_verdict,
    short_claim,
    unit_name,
)
from attnviz.text.data_files import ParsedSentence, ParsedWord

FACTS = (
    ClaimFacts("any -> previous", 90, 0.05, -1, 1.0, True, 0.12),
    ClaimFacts("obj -> head", 80, 0.10, -2, 0.41, False, 0.20),
    ClaimFacts("any -> special", 90, 0.15, 1, 0.30, True),
)
RATES = np.array([[[0.80, 0.60, 0.20, 0.31]], [[0.55, 0.95, 0.29, 0.20]], [[0.99, 0.10, 0.90, 0.10]]])
ATLAS = Atlas(
    "mine",
    "corpus",
    1_500,
    "command",
    FACTS,
    RATES,
    RATES,
    RATES,
    RATES >= 0.29,
    np.zeros((0, 1, 4)),
    np.zeros((1, 4, 1)),
    {},
    {},
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
    assert f"does so in {rival}\xa0%." in said


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
        ("offset 1", "the rule “always the word after”"), ("offset -1", "the rule “always the word before”"),
        ("offset 3", "the rule “always 3 words after”"), ("offset -2", "the rule “always 2 words before”"),
        ("chance", "chance"), ("untrained", "the best head of an untrained model"),
        ("shuffled", "this head with the words shuffled"),
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


def result(**changes) -> ClaimResult:
    rivals = (Rival("chance", 0.1), Rival("offset -1", 0.5, counts=False), Rival("untrained", 0.25))
    known = {"claim": parse("obj -> head"), "layer": 1, "head": 2, "rate": 0.75, "low": 0.5, "high": 0.875, "overall": 0.7}
    known |= {"queries": 1200, "sentences": 70, "rivals": rivals, "p": 0.0123, "holds": True}
    return ClaimResult(**known | changes)


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({}, ["It holds: L1·H2", "75\xa0% of 1,200 cases", "(95\xa0% interval 50\xa0% to 88\xa0%", "; 70 held-out"]),
        ({}, ["is 50 points above the best head of an untrained model.", "; the best head of an untrained model 25\xa0%."]),
        ({"rivals": (Rival("offset -1", 0.5), Rival("chance", 0.25))}, ["25 points above the rule “always the word before”."]),
        ({"holds": False, "rate": 0.24 + MARGIN}, ["It does not hold", "be 5 points above ", "and is 4.0 points above it."]),
        ({"holds": False, "rate": 0.1}, ["and is 15.0 points below it."]),
        ({"holds": False, "rate": 0.25}, ["and is level with it."]),
        ({"holds": False, "rate": MARGIN, "rivals": (Rival("chance", 0.0),)}, ["may be luck"]),
        ({"holds": False}, ["may be luck (p = 0.012 before"]),
        ({"queries": 29}, ["Too few words to tell", "only 29 words are an object with its verb to look at, and 30 are needed"]),
    ],
)  # fmt: skip
def test_a_verdict_has_its_numbers(changes, says):
    said = describe_verdict(result(**changes))
    for part in says:
        assert part in said, said


@pytest.mark.parametrize(
    ("claim", "sides"),
    [
        ("obj -> head", ("an object", "its verb")),
        ("amod -> head", ("an adjective on a noun", "its noun")),
        ("obj | iobj -> head", (None, "the word it belongs to")),
        ("obj -> head | self", (None, None)),
        ("any -> +2", ("a word", "the word 2 after it")),
        ("any -> -3 | next", ("a word", "the word 3 before it or the word after it")),
        ('/x/ -> "A"', ("a word like /x/", "“a”")),
        ("NOUN | orphan -> its nsubj", ("a noun or a word that is orphan", "its subject")),
    ],
)
def test_what_a_word_belongs_to_has_a_name_where_only_one_relation_is_meant(claim, sides):
    said = claim_sides(parse(claim))
    for got, want in zip(said, sides, strict=True):
        assert want is None or got == want
    assert ("verb" in said[1]) == (claim == "obj -> head")
    assert describe_question(result(claim=parse(claim))) == f"Does head 2 of layer 1 look from {said[0]} to {said[1]}?"


@pytest.mark.parametrize(("unit", "name"), [(-1, "nothing"), (0, "Cats"), (1, "sleep"), (2, "a special token")])
def test_a_unit_has_a_name(unit, name):
    words = (ParsedWord("Cats", 0, 4), ParsedWord("sleep", 5, 10))
    assert unit_name(ParsedSentence("Cats sleep", words), unit) == name


@pytest.mark.parametrize(
    ("claim", "said"), [("any -> +1", "→ next word"), ("any -> -3", "→ 3 words back"), ("any -> +2", "→ 2 words on")]
)
def test_an_offset_in_few_words(claim, said):
    assert short_claim(claim) == said
