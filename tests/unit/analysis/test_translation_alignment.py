"""Hard links and sentences, held to matrices made by hand."""

import itertools
import re

import numpy as np
import pytest

from attnviz.analysis.head_metrics import Link
from attnviz.analysis.head_view import HeadMatrix, View, head_matrix
from attnviz.analysis.translation_alignment import (
    balanced_links,
    clearest_link,
    describe_alignment,
    describe_likelihood,
    describe_origin,
    links_from,
    origin_of,
    read_as,
    strongest_links,
    truer,
)
from attnviz.analysis.wording import plain
from attnviz.core.errors import TraceError
from tests.factories import given_map, special, typed


def matrix(weights, target: str, source: str, **view: bool) -> HeadMatrix:
    queries = (*typed(target), special("</s>"))
    return head_matrix(given_map(weights, queries, typed(source)), layer=0, head=0, view=View(**view))


RED_CAR = matrix(
    [[0.9, 0.0, 0.1], [0.1, 0.2, 0.7], [0.0, 0.8, 0.2], [0.1, 0.1, 0.8]],
    "une voiture rouge",
    "a red car",
)
NEVER = matrix(
    [[0.1, 0.9, 0.0], [0.2, 0.6, 0.2], [0.1, 0.1, 0.8], [0.0, 0.7, 0.3], [0.3, 0.3, 0.4]],
    "il n' mange jamais",
    "he never eats",
)


def test_a_row_is_named_after_what_it_reads_or_after_what_it_writes():
    weights = [[0.9, 0.1, 0.0], [0.2, 0.2, 0.6], [0.0, 0.8, 0.2]]
    target = typed("voi|ture rouge")
    attention = given_map(weights, (special("<s>"), *target[:2]), typed("a red car"))
    written = target
    for merged, shifted, naive in (
        (False, {"<s>": 0, "voi": 1, "ture": 2}, {"voi": 0, "ture": 1, "rouge": 2}),
        (True, {"<s>": [0], "voiture": [1, 2]}, {"voiture": [0, 1], "rouge": [2]}),
    ):
        for reading, wanted in (("shifted", shifted), ("naive", naive)):
            actual = head_matrix(read_as(attention, written, reading), layer=0, head=0, view=View(words=merged))
            assert [token.text for token in actual.queries] == list(wanted)
            for row, steps in zip(actual.weights, wanted.values(), strict=True):
                np.testing.assert_allclose(row, np.mean(np.array(weights)[np.atleast_1d(steps)], axis=0), atol=1e-6)
    with pytest.raises(TraceError, match="3 query positions but 2 query tokens"):
        read_as(attention, written[:2], "naive")


def test_each_target_token_has_its_strongest_link_and_special_ones_none():
    assert [(link.query, link.key) for link in strongest_links(RED_CAR)] == [(0, 0), (1, 2), (2, 1)]
    assert [link.weight for link in strongest_links(RED_CAR)] == pytest.approx([0.9, 0.7, 0.8])


def test_links_from_a_weight_on():
    links = links_from(RED_CAR, 0.2)
    assert [(link.query, link.key) for link in links] == [(0, 0), (1, 1), (1, 2), (2, 1), (2, 2)]
    assert all(link.weight == RED_CAR.weights[link.query, link.key] for link in links)
    assert [(link.query, link.key) for link in links_from(RED_CAR, 0.75)] == [(0, 0), (2, 1)]


def test_no_link_of_no_weight():
    assert (0, 1) not in [(link.query, link.key) for link in links_from(RED_CAR, 0.0)]


def test_words_are_aligned_by_their_pieces():
    merged = matrix([[0.5, 0.3, 0.2], [0.1, 0.7, 0.2], [1, 0, 0]], "voi|ture", "c|ar red", words=True)
    np.testing.assert_allclose(merged.weights[0], [0.8, 0.2], atol=1e-6)
    (link,) = strongest_links(merged)
    assert (link.query, link.key) == (0, 0)
    assert link.weight == pytest.approx(0.8)


def test_the_surest_link_is_between_longer_words_that_differ():
    actual = matrix(
        [[0.95, 0.0, 0.05], [0.2, 0.8, 0.0], [0.0, 0.1, 0.9], [0.2, 0.3, 0.5]], "en chantait Boston", "in sang Boston"
    )
    assert clearest_link(actual) == Link(1, 1, float(actual.weights[1, 1]))
    short = matrix([[0.2, 0.8], [0.9, 0.1], [0.5, 0.5]], "il va", "go he")
    assert clearest_link(short) == Link(1, 0, float(short.weights[1, 0]))
    assert clearest_link(matrix([[0.2, 0.8]], "", "go he")) is None


def test_the_origin_of_a_word_that_is_there():
    assert origin_of(RED_CAR, "rouge") == Link(2, 1, float(RED_CAR.weights[2, 1]))
    assert origin_of(RED_CAR, "red") is None
    assert origin_of(RED_CAR, "</s>") is None


def test_a_weak_link_does_not_show_that_the_order_changed():
    firm = matrix([[0.1, 0.9, 0], [0.55, 0.25, 0.2], [0, 0, 1]], "le connais", "know him .")
    assert "the order changed" in plain(describe_alignment(firm))
    weak = matrix([[0.1, 0.9, 0], [0.45, 0.35, 0.2], [0, 0, 1]], "le connais", "know him .")
    assert plain(describe_alignment(weak)) == "The clearest link is from “le” to “him”."


@pytest.mark.parametrize("said", ["Salut", "😀", "🇫🇷"])
def test_one_word_has_no_order(said):
    assert plain(describe_alignment(matrix([[1.0], [1.0]], said, "Hello"))) == f"The clearest link is from “{said}” to “Hello”."


def test_where_a_word_comes_from():
    assert plain(describe_origin(RED_CAR, 1, 2)) == "“voiture” comes from “car” (0.70)."
    assert plain(describe_origin(RED_CAR, 1, 1)) == "“voiture” takes 0.20 from “red”, and most from “car” (0.70)."
    torn = matrix([[0.35, 0.33, 0.32], [0, 0, 1]], "de", "a red car")
    assert plain(describe_origin(torn, 0, 0)) == "“de” has no clear source; it looks most at “a” (0.35)."


def test_a_changed_order_is_told():
    message = plain(describe_alignment(RED_CAR))
    assert message.startswith("“voiture” stands before “rouge”, but “car” after “red”: the order changed.")


def test_several_words_that_look_at_one_are_told():
    assert plain(describe_alignment(NEVER)).endswith("“il”, “n'” and “jamais” all look mostly at “never”.")


def test_an_order_that_was_kept_is_told():
    kept = matrix([[0.9, 0.1], [0.2, 0.8], [0.5, 0.5]], "il chante", "he sings")
    assert plain(describe_alignment(kept)) == "The clearly linked words stand in the same order in both languages."


def test_nothing_is_made_of_weak_links_and_punctuation():
    weak = matrix([[0.35, 0.33, 0.32], [0.0, 0.0, 1.0], [0, 0, 1]], "de .", "a red .")
    assert plain(describe_alignment(weak)) == "No word of the translation looks mainly at one word of the source."


@pytest.mark.parametrize(
    ("given", "own", "said"),
    [
        (-2.3, -2.3, "as likely to this model as its own: log p −2.30 against −2.30."),
        (-3.3, -2.3, "2.7 times less likely than its own: log p −3.30 against −2.30."),
        (-2.0, -5.0, "20 times more likely"),
        (-42.3, -2.3, "10¹⁷ times less likely"),
        (-2.31, -2.3, "1.0 times less likely"),
        (-2.309, -2.3, "as likely to this model as its own"),
        (-2.3 - np.log(9.9), -2.3, "9.9 times less likely"),
        (-16.1, -2.3, "984,609 times less likely"),
        (-16.2, -2.3, "10⁶ times less likely"),
        (-np.inf, -2.3, "infinitely less likely than its own: log p −∞ against −2.30."),
    ],
)
def test_how_much_worse_a_given_target_is(given, own, said):
    assert said in plain(describe_likelihood(given, own))


def test_balanced_links_give_every_source_word_its_share():
    """Both target words look most at "the", and "cat" has nobody else. Special tokens are left alone; weights stay."""
    popular = matrix([[0.8, 0.2], [0.6, 0.4], [0.5, 0.5]], "le chat", "the cat")
    assert [(link.query, link.key) for link in strongest_links(popular)] == [(0, 0), (1, 0)]
    assert balanced_links(popular) == (
        Link(0, 0, float(popular.weights[0, 0])),
        Link(1, 1, float(popular.weights[1, 1])),
    )


def test_balanced_links_join_words_with_words():
    """ "le" rests on the full stop and the exclamation mark on "cat"; a dash has no punctuation to be linked with."""
    resting = matrix([[0.1, 0.2, 0.7], [0.1, 0.8, 0.1], [0.1, 0.6, 0.3], [0.2, 0.2, 0.6]], "le chat !", "the cat .")
    assert [(link.query, link.key) for link in strongest_links(resting)] == [(0, 2), (1, 1), (2, 1)]
    assert [(link.query, link.key) for link in balanced_links(resting)] == [(0, 0), (1, 1), (2, 2)]
    alone = matrix([[0.25, 0.75], [0.5, 0.5], [0.5, 0.5]], "chat —", "the cat")
    assert [link.query for link in balanced_links(alone)] == [0]


@pytest.mark.parametrize("seed", range(4))
def test_links_and_sentences_of_any_matrix_are_those_of_loops(seed):
    dice = np.random.default_rng(seed)
    target, source = "il est Parti hier , Paris", "he left Paris yesterday ."
    weights = np.round(dice.dirichlet(np.full(5, 0.3), 7) * 4) / 4
    weights[weights.sum(axis=1) != 1] = [0.5, 0.25, 0, 0.25, 0]
    shown = matrix(weights, target, source)
    queries, keys = target.split(), source.split()
    best = [(row, int(np.argmax(weights[row])), weights[row].max()) for row in range(6)]
    assert [(link.query, link.key, link.weight) for link in strongest_links(shown)] == best
    words = [each for each in best if queries[each[0]] != ","]
    words = [each for each in words if keys[each[1]] != "."] or words
    longer = [
        each for each in words
        if len(queries[each[0]]) >= 4 and len(keys[each[1]]) >= 4 and queries[each[0]].lower() != keys[each[1]].lower()
    ]  # fmt: skip
    assert clearest_link(shown) == Link(*max(longer or words, key=lambda each: each[2]))
    linked = [each for each in best if each[2] >= 0.4 and queries[each[0]] != "," and keys[each[1]] != "."]
    crossing = [pair for pair in itertools.pairwise(each for each in linked if each[2] >= 0.5) if pair[1][1] < pair[0][1]]
    said = plain(describe_alignment(shown))
    assert ("order changed" in said) == bool(crossing)
    if crossing:
        (one, first, _), (two, second, _) = max(crossing, key=lambda pair: min(pair[0][2], pair[1][2]))
        assert f"“{queries[one]}” stands before “{queries[two]}”, but “{keys[first]}” after “{keys[second]}”" in said
    becomes = {key: [queries[each[0]] for each in linked if each[1] == key] for _, key, _ in linked}
    key, several = max(becomes.items(), key=lambda item: len(item[1]))
    assert bool(re.search(" look most(ly)? at ", said)) == (len(several) > 1)
    if len(several) > 1:
        mostly = "mostly" if all(each[2] >= 0.5 for each in linked if each[1] == key) else "most"
        names = f"{', '.join(f'“{name}”' for name in several[:-1])} and “{several[-1]}”"
        assert said.endswith(f"{names} {'both' if len(several) == 2 else 'all'} look {mostly} at “{keys[key]}”.")


def test_the_reading_with_the_lower_error_is_the_truer_one():
    figures = {"AER in domain L3·H0 naive": 0.3, "AER in domain L3·H0 shifted": 0.3,
               "AER in domain L1·H0 naive": 0.1, "AER in domain L1·H0 shifted": 0.2, "AER in domain L1 mean naive": 0.1,
               "AER in domain L1 mean shifted": 0.3, "AER in domain L0·H0 naive": 0.1, "AER in domain L2 naive": 0.1,
               "AER in domain L2 shifted": 0.2, "AER in domain L4·H1 shifted": 0.2}  # fmt: skip
    assert [truer(figures, *place) for place in ((1, 0), (1, None), (0, 0), (2, None), (3, 0), (4, 1))] == [
        "naive",
        "naive",
        "naive",
        "naive",
        "shifted",
        "naive",
    ]
