"""What Matters says of an output without a word: by kind of output, in its number, and of attention."""

from dataclasses import replace

import numpy as np
import pytest

from attnviz.analysis.matters import (
    AttributionReport,
    Faithfulness,
    MaskedOutput,
    WordRemovals,
    describe_attention,
    describe_output,
    describe_removal,
    removal_names,
    removal_rows,
    strongest_first,
)
from attnviz.analysis.wording import plain
from attnviz.text.spans import DECLINED

WORDS = ("Who", "the", "the", "dog", "The", "the")
REPORT = AttributionReport("the answer “dog”", 0.6, WORDS, frozenset({3}), {}, {}, {})
REMOVALS = WordRemovals(
    "answer", MaskedOutput(0.6, "dog"), np.array([0.1, 0.7, 0.55, 0.6, 0.604, 0.02]), (5, 0), (DECLINED, "dog"),
    (0, 0, 1, 1, 1, 1),
)  # fmt: skip


def said(kind: str, target: str, before: str | None, after: str | None, p: float = 0.123) -> str:
    removals = replace(REMOVALS, kind=kind, before=MaskedOutput(0.6, before))
    sentence = describe_removal(replace(REPORT, target=target), removals, (5,), MaskedOutput(p, after))
    return plain(sentence).replace("\xa0", " ").removeprefix("Without “the” ")


@pytest.mark.parametrize(
    ("kind", "target", "before", "after", "sentence"),
    [
        ("unanswered", DECLINED, DECLINED, DECLINED, "the model still says that the passage does not say: 60 % falls to 12 %."),
        ("unanswered", DECLINED, DECLINED, "dog", "the model answers “dog”: 60 % falls to 12 %."),
        ("translation", "the translation", "le", "le", "the translation stays the same: 60 % falls to 12 %."),
        ("translation", "the translation", "le", "la", "the translation becomes “la”: 60 % falls to 12 %."),
        ("token", "the piece “l”", "le", "la", "the translation becomes “la”: the piece “l” falls from 60 % to 12 %."),
        ("similarity", "how alike the two texts are", None, None, "the likeness of the two texts falls from 0.60 to 0.12."),
        ("label", "the label “A”", "A", "A", "the model still says “A”: the label “A” falls from 60 % to 12 %."),
        ("next", "the next token “A”", "A", "B", "the model says “B”: the next token “A” falls from 60 % to 12 %."),
        ("sentence", "the sentence “A.”", "A.", "A.",
         "the model still keeps the same sentence first: the share of the explained one falls from 60 % to 12 %."),
        ("sentence", "the sentence “A.”", "A.", "B.",
         "the model keeps another sentence first: the share of the explained one falls from 60 % to 12 %."),
        ("answer", "the answer “dog”", None, None, "the answer “dog” falls from 60 % to 12 %."),
    ],
)  # fmt: skip
def test_what_becomes_of_an_output_is_said_by_its_kind(
    kind: str, target: str, before: str | None, after: str | None, sentence: str
) -> None:
    assert said(kind, target, before, after) == sentence
    assert (
        describe_output(replace(REPORT, target=target), replace(REMOVALS, kind=kind)).count(
            "0.6" if kind == "similarity" else "60"
        )
        == 1
    )


@pytest.mark.parametrize(
    ("p", "end"),
    [
        (0.9, "60 % rises to 90 %."),
        (0.6049, "it stays at 60 %."),
        (0.001, "60 % falls to under 1 %."),
        (0.996, "60 % rises to over 99 %."),
    ],
)
def test_the_number_is_never_said_to_move_where_it_prints_alike(p: float, end: str) -> None:
    assert said("answer", "the answer “dog”", "dog", "dog", p).endswith(f": {end}")


def test_several_words_are_named_as_one_says_them() -> None:
    after = MaskedOutput(0.3, DECLINED)
    for places, names in (((0, 3), "“Who” and “dog”"), ((0, 1, 3), "“Who”, “the” and “dog”")):
        assert plain(describe_removal(REPORT, REMOVALS, places, after)).startswith(
            f"Without {names} the model no longer answers"
        )


def test_words_are_ranked_by_what_is_lost_and_none_is_the_outputs_own() -> None:
    np.testing.assert_allclose(REMOVALS.drops, [0.5, -0.1, 0.05, 0.0, -0.004, 0.58])
    assert strongest_first(REPORT, REMOVALS) == (5, 0, 2, 4, 1)
    # Words that look alike have a number, within the question and within the passage.
    assert removal_names(REPORT, REMOVALS) == ["Who (question)", "the (question)", "the(1)", "dog", "The", "the(2)"]


def test_bars_are_the_strongest_words_and_before_them_what_was_removed() -> None:
    rows = removal_rows(REPORT, REMOVALS)
    assert [(row.places, row.name, row.probability, row.says) for row in rows] == [
        ((5,), "the(2)", 0.02, DECLINED),
        ((0,), "Who (question)", 0.1, "dog, less sure"),
    ]
    assert removal_rows(REPORT, REMOVALS, (0,), MaskedOutput(0.1, "dog")) == rows
    first, *rest = removal_rows(REPORT, REMOVALS, (1, 2), MaskedOutput(0.8, "dog"))
    assert (first.places, first.name, first.says, rest) == ((1, 2), "the (question), the(1)", "dog, surer", rows)


@pytest.mark.parametrize(
    ("own", "chance", "how"), [(0.3, 0.5, "worse than"), (0.5, 0.3, "better than"), (0.301, 0.3, "as well as")]
)
def test_attention_is_compared_with_chance_by_the_numbers_that_are_said(own: float, chance: float, how: str) -> None:
    shares = {"attention": np.array([0.1, 0.2, 0.0, 9.0, 0.4, 0.3]), "random": np.zeros(6)}
    figures = {"attention": Faithfulness(own, 0.0), "random": Faithfulness(chance, 0.0)}
    sentence = plain(describe_attention(replace(REPORT, shares=shares, figures=figures), REMOVALS, "attention"))
    assert sentence.startswith(f"It marks “The” most, and not “the(2)”. On this text it finds what matters {how} chance does")
    numbers = f"from 60 % to {100 * (0.6 - own):.0f} % on average; without random words it is {100 * (0.6 - chance):.0f} %."
    assert sentence.replace("\xa0", " ").endswith(numbers)
    shares["attention"][5] = 1.0
    same = replace(REPORT, shares=shares, figures=figures)
    assert plain(describe_attention(same, REMOVALS, "attention")).startswith("It marks “the(2)” most, as it should. ")
    refused = replace(REPORT, refused={"attention": "It has none."})
    assert plain(describe_attention(refused, REMOVALS, "attention")) == "It has none."
