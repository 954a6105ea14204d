"""What is said of a picture is what its numbers are."""

import numpy as np
import pytest

from attnviz.analysis.head_view import View, head_matrix
from attnviz.analysis.wording import Part, describe_head, describe_hidden, describe_link, head_name, percent, plain
from attnviz.core.trace import Token
from tests.factories import given_map, make_map, numbered, pair, sentence, typed

TOKENS = sentence("The animal slept , it")
CELLS = [[1, 0, 0, 0, 0, 0, 0], [0.5, 0, 0.25, 0.25, 0, 0, 0], [1, 0, 0, 0, 0, 0, 0], [1, 0, 0, 0, 0, 0, 0],
         [1, 0, 0, 0, 0, 0, 0], [0.1, 0, 0.68, 0, 0.12, 0.1, 0], [1, 0, 0, 0, 0, 0, 0]]  # fmt: skip


def matrix_of(weights, tokens=TOKENS, **view):
    return head_matrix(given_map(weights, tokens), layer=0, head=0, view=View(**view))


@pytest.mark.parametrize(
    ("cell", "said"),
    [
        ((5, 2), "L3·H1 sends “it” to “animal” with weight 68\xa0%: its strongest link between different words."),
        (
            (1, 3),
            "L3·H1 sends “The” to “slept” with weight 25\xa0%; "
            "its strongest link between different words is “it” to “animal” (68\xa0%).",
        ),
        (
            (0, 0),
            "L3·H1 sends “[CLS]” to “[CLS]” with weight 100\xa0%; "
            "its strongest link between different words is “it” to “animal” (68\xa0%).",
        ),
    ],
)
def test_a_link_is_told_beside_the_strongest(cell, said):
    assert plain(describe_link(matrix_of(CELLS), "L3·H1", cell)) == said


def test_a_link_stands_alone_where_no_words_look_at_each_other():
    weights = np.eye(7)[[0] * 7]
    assert plain(describe_link(matrix_of(weights), "L0", (2, 0))) == "L0 sends “animal” to “[CLS]” with weight 100\xa0%."


def test_a_masked_link_is_not_one_of_weight_zero():
    matrix = head_matrix(make_map(typed("a b c"), causal=True), layer=0, head=0)
    said = plain(describe_link(matrix, "L0·H0", (0, 2)))
    assert said.startswith("“a” cannot look at “c”")


@pytest.mark.parametrize("cell", [(7, 0), (0, 7)])
def test_a_link_that_is_not_there_is_an_error(cell):
    with pytest.raises(IndexError):
        describe_link(matrix_of(CELLS), "L0·H0", cell)


def test_tokens_are_quoted_even_where_they_look_like_a_head():
    tokens = typed("L3·H1 L2")
    said = describe_link(matrix_of([[0.4, 0.6], [0.5, 0.5]], tokens), "L3·H1", (0, 1))
    assert plain(said) == "L3·H1 sends “L3·H1” to “L2” with weight 60\xa0%: its strongest link between different words."
    assert [part.text for part in said if part.strong] == ["L3·H1", "L3·H1", "L2"]


def test_a_token_that_cannot_be_seen_is_shown_and_a_long_one_is_cut():
    tokens = (Token("\n", 0, 1), Token("x" * 400, 1, 401))
    said = plain(describe_link(matrix_of([[0.4, 0.6], [0.5, 0.5]], tokens), "L0·H0", (0, 1)))
    assert said.startswith(f"L0·H0 sends “↵” to “{'x' * 59}…” with")


def test_a_token_that_is_a_part_of_a_word_is_called_a_token():
    tokens = (
        Token("un", 0, 2, word=0),
        Token("seen", 2, 6, word=0),
        Token("cat", 7, 10, word=1),
        Token("un", 0, 2, segment=1, word=0),
    )
    weights = [[0, 0, 1, 0], [0.3, 0, 0.7, 0], [0, 0, 0, 1], [0, 0, 1, 0]]
    said = plain(describe_link(matrix_of(weights, tokens), "L0", (1, 2)))
    assert said.startswith("L0 sends the token “seen” to “cat” with")
    assert said.endswith("is the token “un” to “cat” (100\xa0%).")
    assert plain(describe_link(matrix_of(weights, tokens, words=True), "L0", (0, 1))).startswith("L0 sends “unseen” to “cat”")


def test_plain_joins_the_parts():
    assert plain((Part("a", quoted=True), Part(" and "), Part("L1", strong=True))) == "“a” and L1"


@pytest.mark.parametrize(("head", "name"), [(0, "L7·H0"), (11, "L7·H11"), (None, "L7")])
def test_heads_count_from_zero(head, name):
    assert head_name(7, head) == name


def rolled(by):
    """The words look `by` further on; [CLS] and [SEP] at themselves."""
    weights = np.eye(7)
    weights[1:6] = np.roll(np.eye(7), by, axis=1)[1:6]
    return weights


HEADS = {
    "previous": (rolled(-1), "100\xa0% of its attention goes to the token before"),
    "next": (rolled(1), "100\xa0% of its attention goes to the token after"),
    "itself": (np.eye(7), "100\xa0% of its attention goes to the token itself."),
    "special": (np.eye(7)[[6] * 7], "100\xa0% of its attention goes to special tokens"),
    # The first token is special: its attention is told under one name.
    "first and special": (np.eye(7)[[0] * 7], "100\xa0% of its attention goes to special tokens"),
    "half": ((np.eye(7) + np.full((7, 7), 1 / 7) * 6) / 7, "Its attention has the entropy of"),
    "uniform": (np.full((7, 7), 1 / 7), "Its attention has the entropy of an even spread over 7.0 tokens (2.8 bits)."),
    "four of seven": (
        np.tile([0, 0.25, 0.25, 0.25, 0.25, 0, 0], (7, 1)),
        "Its attention has the entropy of an even spread over 4.0 tokens (",
    ),
    "just mostly": (0.505 * rolled(-1) + 0.495 * np.full((7, 7), 1 / 7), "58\xa0% of its attention goes to the token before"),
}


@pytest.mark.parametrize(("weights", "said"), HEADS.values(), ids=HEADS)
def test_a_head_is_told_by_where_it_looks(weights, said):
    assert plain(describe_head(matrix_of(weights))).startswith(said)


def test_norms_are_told_as_what_moves():
    moved = plain(describe_head(matrix_of(rolled(-1)), "norm share"))
    assert moved == "100\xa0% of what it moves comes from the token before."
    spread = plain(describe_head(matrix_of(np.full((7, 7), 1 / 7)), "norm share"))
    assert spread.startswith("What it moves has the entropy of an even spread over 7.0 tokens")
    hidden = describe_hidden(matrix_of(np.full((7, 7), 1 / 7), hide_special=True), renormalized=False, number="norm share")
    assert hidden.startswith("Hidden tokens hold 29\xa0% of what is moved;")


def test_the_first_token_is_told_where_it_is_not_special():
    said = plain(describe_head(matrix_of(np.eye(5)[[0] * 5], numbered(5))))
    assert said.startswith("100\xa0% of its attention goes to the very first token")


def test_half_is_mostly():
    weights = 0.5 * np.eye(5)[[0] * 5] + 0.5 * np.eye(5)[[2, 3, 4, 2, 2]]
    assert plain(describe_head(matrix_of(weights, numbered(5)))).startswith(
        "50\xa0% of its attention goes to the very first token"
    )


@pytest.mark.parametrize(
    ("hidden", "said"),
    [
        (0.0, ""),
        (0.0001, ""),
        (0.002, "under 1\xa0%"),
        (0.31, "31\xa0%"),
        (0.984, "98\xa0%"),
        (0.997, "over 99\xa0%"),
        (1.0, "100\xa0%"),
    ],
)
def test_what_is_hidden_is_told(hidden, said):
    shown = (1 - hidden) / 5
    weights = np.array([[hidden / 2, *[shown] * 5, hidden / 2]] * 7)
    matrix = matrix_of(weights, hide_special=True)
    sentence_ = describe_hidden(matrix, renormalized=False)
    assert sentence_ == (said and f"Hidden tokens hold {said} of the attention; rows sum to the rest.")
    if said:
        assert describe_hidden(matrix, renormalized=True).endswith("rows are scaled up to sum to 1.")


def test_a_view_of_a_pair_tells_what_it_leaves_out():
    tokens = pair("a", "b")
    weights = np.full((5, 5), 0.2)
    matrix = matrix_of(weights, tokens, between="first-second")
    assert describe_hidden(matrix, renormalized=False).startswith("Hidden tokens hold 60\xa0% of the attention")


@pytest.mark.parametrize(
    ("share", "said"),
    [(0.0, "0"), (0.0049, "under 1"), (0.005, "1"), (0.9949, "99"), (0.995, "over 99"), (0.99949, "over 99"), (0.9995, "100")],
)
def test_a_share_that_is_not_all_or_nothing_is_not_written_so(share, said):
    assert percent(share) == f"{said}\xa0%"
