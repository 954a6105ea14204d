"""Two traces compared, against the definition written out number by number."""

import math

import numpy as np
import pytest

from attnviz.analysis.whatif_comparison import compare
from attnviz.analysis.wording import Part, plain
from attnviz.core.errors import TraceError
from attnviz.core.trace import AttentionMap, AttentionTrace, DenseWeights, Prompt, Token
from tests.factories import given_map, make_map, sentence, typed

BEFORE, AFTER = sentence("it was tired now"), sentence("it was really tired now")


def trace(attention) -> AttentionTrace:
    return AttentionTrace("mine", Prompt("text"), (attention,))


def reference(one: dict[str, float], other: dict[str, float]) -> float:
    """Σ over all keys of (p log2 p/m + q log2 q/m) / 2, m the mean of both."""
    total = 0.0
    for key in {*one, *other}:
        p, q = one.get(key, 0.0), other.get(key, 0.0)
        m = (p + q) / 2
        total += sum(share * math.log2(share / m) / 2 for share in (p, q) if share > 0)
    return total


def test_every_head_is_the_mean_of_its_rows_by_the_definition():
    one, other = make_map(BEFORE), make_map(AFTER)
    actual = compare(trace(one), trace(other))
    assert actual.divergence.shape == (2, 3)
    for layer in range(2):
        for head in range(3):
            rows = []
            for left, right in actual.queries:
                shares = [
                    {token.text: float(weight) for token, weight in zip(each.keys, each.weights(layer, head)[at], strict=True)}
                    for each, at in ((one, left), (other, right))
                ]
                rows.append(reference(*shares))
            assert actual.divergence[layer, head] == pytest.approx(np.mean(rows), abs=1e-6)
            np.testing.assert_allclose(actual.rows(layer, head), rows, atol=1e-6)


def test_a_trace_is_not_far_from_itself_and_a_head_that_is_off_is_far_from_all():
    one = make_map(BEFORE)
    assert not compare(trace(one), trace(one)).divergence.any()
    said = compare(trace(one), trace(one)).sentence()
    assert plain(said) == "Nothing changed: both sides are the same in every head."
    assert not compare(trace(one), trace(one)).has_changed
    assert compare(trace(one), trace(make_map(AFTER))).has_changed
    off = given_map(np.zeros((3, 3)), typed("a b c"))
    on = given_map(np.eye(3), typed("a b c"))
    actual = compare(trace(on), trace(off))
    assert actual.divergence[0, 0] == pytest.approx(1)
    assert plain(actual.sentence()).startswith("Head 0 of layer 0 is off")


def test_a_head_that_is_off_is_not_the_one_that_changed_most_however_its_rows_are_rounded():
    # Rows of float32 do not sum to 1 exactly, and so are not exactly 1 away from nothing.
    tokens, rounded = typed("a b c"), np.eye(3, dtype=np.float32) * np.float32(1 - 3e-7)
    one, other = (
        np.stack([[first, second]]) for first, second in ((rounded, np.eye(3)), (0 * rounded, np.full((3, 3), 1 / 3)))
    )
    before, after = (trace(AttentionMap("encoder", tokens, tokens, DenseWeights(tuple(weights)))) for weights in (one, other))
    assert compare(before, after).is_off.tolist() == [[True, False]]
    assert compare(before, after).most == (0, 1)


def test_a_link_between_two_words_is_named_before_a_word_that_looks_at_itself():
    one = given_map([[0.5, 0.5, 0.0], [0.5, 0.5, 0.0], [0.0, 0.0, 1.0]], typed("too tired now"))
    other = given_map([[0.1, 0.9, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]], typed("too wide now"))
    assert (
        plain(compare(trace(one), trace(other)).sentence())
        == "“too” now looks at “wide” (90\xa0%; before, “tired” got 50\xa0%)."
    )


def test_what_a_new_word_looks_at_is_told_beside_what_the_word_in_its_place_looked_at():
    one = given_map([[0.5, 0.5, 0.0], [0.1, 0.7, 0.2], [0.0, 0.0, 1.0]], typed("dogs in parks"))
    other = given_map([[0.5, 0.5, 0.0], [0.8, 0.1, 0.1], [0.0, 0.0, 1.0]], typed("dogs green parks"))
    assert plain(compare(trace(one), trace(other)).sentence((0, 0))) == (
        "“green” now looks at “dogs” (80\xa0%; in its place “in” gave 10\xa0%)."
    )


def test_a_link_to_a_special_token_is_named_where_words_gain_next_to_nothing():
    tokens = (Token("[CLS]", 0, 0, special=True), *typed("it saw"))
    one, other = (given_map([[1, 0, 0], row, [0, 0, 1]], tokens) for row in ([0.1, 0.88, 0.02], [0.9, 0.05, 0.05]))
    assert "“it” now looks at “[CLS]” (90" in plain(compare(trace(one), trace(other)).sentence((0, 0)))
    small = given_map([[1, 0, 0], [0.15, 0.8, 0.05], [0, 0, 1]], tokens)
    assert "“it” now looks at “saw” (5" in plain(compare(trace(one), trace(small)).sentence((0, 0)))


def test_the_sentence_says_what_changed_most():
    one = given_map([[0.9, 0.1, 0.0], [0.5, 0.5, 0.0], [0.0, 0.0, 1.0]], typed("it animal street"))
    other = given_map([[0.1, 0.2, 0.7], [0.5, 0.5, 0.0], [0.0, 0.0, 1.0]], typed("it animal street"))
    actual = compare(trace(one), trace(other))
    said = plain(actual.sentence((0, 0)))
    assert said == "“it” now looks at “street” (70\xa0%, was 0\xa0%)."
    assert plain(actual.sentence(models=("A", "B"))) == "In B “it” looks at “street” (70\xa0%, in A 0\xa0%)."
    assert plain(actual.describe_place()) == f"Average change {100 * actual.divergence[0, 0]:.0f}\xa0%."
    np.testing.assert_allclose(actual.difference(0, 0)[0], [-0.8, 0.1, 0.7], atol=1e-6)


def test_a_pronoun_is_looked_at_first_where_it_moved_most_and_only_with_words_of_both_sides():
    before, after = typed("it saw animal tired"), typed("it saw animal wide")
    still, was, now = ([0, 1, 0, 0], [0.1, 0.1, 0.7, 0.1], [0.2, 0.1, 0.3, 0.4])
    moved, other = [[0, 0, 0, 1], [0, 0, 0, 1], [1, 0, 0, 0], [1, 0, 0, 0]], [[0, 0, 1, 0]] * 4

    def of(words, row, second):
        table = np.array([[row, *[still] * 3], [still, *second[1:]]], np.float32)
        return trace(AttentionMap("encoder", words, words, DenseWeights((table,))))

    one, two = of(before, was, moved), of(after, now, other)
    compared = compare(one, two)
    assert (compared.most, compared.first) == ((0, 1), (0, 0))
    assert plain(compared.sentence()) == "“it” now looks less at “animal” (30\xa0%, was 70\xa0%) in head 0 of layer 0."
    assert "(rank 2 of 2; first: head 1 of layer 0)." in plain(compared.describe_place())
    assert "“it”" not in plain(compared.sentence((0, 1))) + plain(compared.sentence(models=("A", "B")))
    assert plain(compare(two, one).sentence()).startswith("“it” now looks more at “animal” (70")
    small = [0.1, 0.1, 0.65, 0.15]
    assert compare(one, of(after, small, other)).first == (0, 1)


def test_what_cannot_be_compared_is_one_sentence():
    with pytest.raises(TraceError, match="models of one shape"):
        compare(trace(make_map(BEFORE)), trace(make_map(BEFORE, heads=5)))
    with pytest.raises(TraceError, match="no token in common"):
        compare(trace(make_map(typed("a b"))), trace(make_map(typed("c d e"))))


def test_the_links_that_changed_most_come_first_and_those_that_did_not_are_none():
    one = given_map([[0.9, 0.1, 0.0], [0.5, 0.5, 0.0], [0.0, 0.0, 1.0]], typed("it animal street"))
    other = given_map([[0.1, 0.2, 0.7], [0.5, 0.5, 0.0], [0.0, 0.0, 1.0]], typed("it animal road"))
    moved = compare(trace(one), trace(other))
    told = [(change.query.text, change.key.text, round(change.was, 2), round(change.now, 2)) for change in moved.changes(0, 0)]
    assert told == [("it", "it", 0.9, 0.1), ("it", "street/road", 0.0, 0.7), ("it", "animal", 0.1, 0.2)]
    assert [change.key.text for change in moved.changes(0, 0, most=1)] == ["it"]
    assert compare(trace(one), trace(one)).changes(0, 0) == ()
    # Words that are alike can be told apart.
    rest, words = [[0.0, 1.0, 0.0], [0.0, 0.0, 1.0]], typed("cat the The")
    one, other = (given_map([first, *rest], words) for first in ([0, 0.5, 0.5], [0, 0.1, 0.9]))
    told = [(change.query.text, change.key.text) for change in compare(trace(one), trace(other)).changes(0, 0)]
    assert told == [("cat", "the(1)"), ("cat", "The(2)")]


def test_a_head_has_its_place_among_all():
    tokens, before = typed("a b"), np.array([[0.5, 0.5], [0.5, 0.5]])
    heads = [np.array([[share, 1 - share], [0.5, 0.5]]) for share in (0.6, 0.9, 0.7)] + [0 * before]
    one, other = (AttentionMap("encoder", tokens, tokens, DenseWeights((np.stack(each),))) for each in ([before] * 4, heads))
    moved = compare(trace(one), trace(other))
    said = [plain(moved.describe_place((0, head))) for head in range(3)]
    assert said[0].endswith(" (rank 3 of 4; first: head 1 of layer 0). Click another.")
    assert said[1].endswith(" (rank 1 of 4). Click another.")
    assert said[2].startswith(f"Average change {100 * moved.divergence[0, 2]:.0f}\xa0% (rank 2 of 4;")
    assert plain(moved.describe_place()) == said[1]
    assert plain(moved.sentence((0, 2))).endswith(" in head 2 of layer 0.")
    assert plain(moved.sentence()).endswith(" in head 1 of layer 0.")
    assert plain(compare(trace(one), trace(one)).describe_place()).startswith("Change a word")


def test_what_moved_is_read_at_its_own_place_on_each_side():
    one, other = make_map(BEFORE), make_map(AFTER)
    actual = compare(trace(one), trace(other))
    assert len(actual.changes(1, 2)) == 6
    assert len(actual.changes(1, 2, most=50)) == len(actual.queries) * len(actual.keys)
    for change in actual.changes(1, 2, most=50):
        before, after = ([token.text for token in each.queries] for each in (one, other))
        query, key = change.query.text, change.key.text
        assert change.was == one.weights(1, 2)[before.index(query), before.index(key)]
        assert change.now == other.weights(1, 2)[after.index(query), after.index(key)]
    np.testing.assert_allclose(actual.difference(1, 2)[0, 2], other.weights(1, 2)[0, 2] - one.weights(1, 2)[0, 2], atol=1e-7)


def test_models_of_other_shapes_are_told_apart_by_their_numbers():
    with pytest.raises(TraceError, match="mine has 2 layers of 3 heads and mine has 4 layers of 5 heads"):
        compare(trace(make_map(BEFORE)), trace(make_map(BEFORE, layers=4, heads=5)))


def test_a_head_that_stays_as_it_was_is_told_so_of_a_text_and_of_two_models():
    tokens, before = typed("a b"), np.full((2, 2), 0.5)
    one, other = (
        AttentionMap("encoder", tokens, tokens, DenseWeights((np.stack([before, each]),))) for each in (before, np.eye(2))
    )
    moved = compare(trace(one), trace(other))
    assert plain(moved.sentence((0, 0))) == "Head 0 of layer 0 looks where it looked before."
    assert moved.sentence((0, 0))[0] == Part("Head 0 of layer 0", strong=True)
    assert plain(moved.sentence((0, 0), models=("A", "B"))) == "Head 0 of layer 0 looks at the same in both models."


def test_a_word_that_gained_is_named_as_it_stands_in_the_second_text():
    one, weights = np.eye(3), np.eye(5)
    one[0], weights[2] = [0.75, 0.25, 0], [0.0, 0, 0.1, 0.2, 0.7]
    moved = compare(
        trace(given_map(one, typed("it animal street"))), trace(given_map(weights, typed("so then it animal street")))
    )
    assert plain(moved.sentence((0, 0))) == "“it” now looks at “street” (70\xa0%, was 0\xa0%)."
    assert [(each.query.text, each.key.text) for each in moved.changes(0, 0, most=2)] == [("it", "street"), ("it", "it")]
    weights[2] = [0.5, 0, 0.25, 0.25, 0]
    moved = compare(
        trace(given_map(one, typed("it animal street"))), trace(given_map(weights, typed("so then it animal street")))
    )
    assert plain(moved.sentence((0, 0))) == "“it” now looks at “so” (50\xa0%, new here)."


@pytest.mark.parametrize(
    ("after", "said"),
    [
        ([0.6, 0.1, 0.05, 0.25], "“it” now looks less at “cat” (5\xa0%, was 60\xa0%)."),
        ([0.4, 0.05, 0.55, 0], "“it” now looks at “[CLS]” (40\xa0%, was 20\xa0%)."),
        ([0.1, 0.1, 0.8, 0], "“it” now looks at “cat” (80\xa0%, was 60\xa0%)."),
        ([0.2, 0.1, 0.002, 0.698], "“it” now looks less at “cat” (under 1\xa0%, was 60\xa0%)."),
    ],
)
def test_what_a_word_lost_comes_before_what_a_special_token_gained(after: list[float], said: str) -> None:
    maps = []
    for row in ([0.2, 0.1, 0.6, 0.1], after):
        weights = np.eye(4)
        weights[1] = np.array(row) / sum(row)
        maps.append(given_map(weights, sentence("it cat")))
    moved = compare(*map(trace, maps))
    assert plain(moved.sentence((0, 0))) == said
    if "less" in said:
        between = plain(moved.sentence((0, 0), models=("A", "B")))
        assert between == said.replace("“it” now", "In B “it”").replace("was", "in A")
