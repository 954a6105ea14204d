"""A view of a head, against the same view computed cell by cell."""

import itertools
import weakref
from dataclasses import replace

import numpy as np
import pytest

from attnviz.analysis.head_view import BETWEEN, HeadView, Lens, View, head_matrix
from attnviz.core.errors import TraceError
from attnviz.core.trace import AttentionMap, Token
from tests.factories import dot_product_map, given_map, make_map, numbered, pair, sentence, special, typed

PAIR = pair("un|believ|able cat|s", "a dog|gy nap|s")
SOURCE = (*typed("the un|think|able ice|berg|s of old"), special("</s>"))
TARGET = (special("<s>"), *typed("des ice|berg|s"))


def groups(tokens: tuple[Token, ...], view: View, axis: int) -> list[list[int]]:
    """The positions that each shown row or column stands for."""
    actual: list[list[int]] = []
    for index, token in enumerate(tokens):
        if view.hide_special and token.special:
            continue
        if view.between != "all" and token.segment != ["first", "second"].index(view.between.split("-")[axis]):
            continue
        last = tokens[actual[-1][0]] if actual else None
        together = last and view.words and token.word is not None and (token.word, token.segment) == (last.word, last.segment)
        if together:
            actual[-1].append(index)
        else:
            actual.append([index])
    return actual


def expected(weights: np.ndarray, rows: list[list[int]], columns: list[list[int]]) -> np.ndarray:
    """The sum over the keys of a word, the mean over its queries, one cell after another."""
    cells = np.zeros((len(rows), len(columns)))
    for i, row in enumerate(rows):
        for j, column in enumerate(columns):
            for query in row:
                for key in column:
                    cells[i, j] += float(weights[query, key]) / len(row)
    return cells


SWITCHES = itertools.product((False, True), repeat=3)
VIEWS = [View(words, hidden, divided, between) for words, hidden, divided in SWITCHES for between in BETWEEN]
ONE = sentence("un|believ|able cat|s")


@pytest.mark.parametrize(
    ("tokens", "view"), [(PAIR, view) for view in VIEWS] + [(ONE, view) for view in VIEWS if view.between == "all"], ids=str
)
def test_every_view_equals_the_cells_computed_one_by_one(tokens, view):
    attention = make_map(tokens)
    weights = attention.weights(1, 2)
    matrix = head_matrix(attention, layer=1, head=2, view=view)
    rows, columns = groups(tokens, view, 0), groups(tokens, view, 1)
    cells = expected(weights, rows, columns)
    hidden = 1 - cells.sum() / len(rows)
    if view.renormalize:
        cells /= cells.sum(axis=1, keepdims=True)
    np.testing.assert_allclose(matrix.weights, cells, atol=1e-6)
    assert matrix.hidden == pytest.approx(hidden, abs=1e-6)
    assert matrix.hidden >= 0
    assert matrix.rows == tuple(row[0] for row in rows)
    assert matrix.columns == tuple(column[0] for column in columns)
    assert matrix.weights.dtype == np.float32
    assert matrix.visible.all()


@pytest.mark.parametrize("words", [False, True])
def test_rows_and_columns_of_two_texts_are_not_swapped(words):
    attention = make_map(TARGET, SOURCE)
    view = View(words=words)
    matrix = head_matrix(attention, layer=0, head=1, view=view)
    rows, columns = groups(TARGET, view, 0), groups(SOURCE, view, 1)
    np.testing.assert_allclose(matrix.weights, expected(attention.weights(0, 1), rows, columns), atol=1e-6)
    np.testing.assert_allclose(matrix.weights.sum(axis=1), 1, atol=1e-6)
    assert matrix.weights.shape == ((3, 6) if words else (5, 10))
    assert [token.text for token in matrix.queries][-1] == ("icebergs" if words else "s")


def test_no_head_is_the_mean_over_heads():
    attention = make_map(PAIR, heads=5)
    total = np.zeros((len(PAIR), len(PAIR)))
    for head in range(5):
        total += attention.weights(1, head) / 5
    np.testing.assert_allclose(head_matrix(attention, layer=1, head=None).weights, total, atol=1e-6)


def test_a_word_is_visible_where_one_of_its_tokens_is():
    attention = make_map(typed("a b|c d|e|f"), causal=True)
    matrix = head_matrix(attention, layer=0, head=0, view=View(words=True))
    assert matrix.visible.tolist() == [[True, False, False], [True, True, False], [True, True, True]]
    np.testing.assert_allclose(matrix.weights.sum(axis=1), 1, atol=1e-6)
    assert not matrix.weights[~matrix.visible].any()


def test_hidden_tokens_take_their_mask_with_them():
    attention = make_map(sentence("a b"), causal=True)
    matrix = head_matrix(attention, layer=0, head=0, view=View(hide_special=True))
    assert matrix.visible.tolist() == [[True, False], [True, True]]


def test_a_row_with_nothing_to_see_stays_zero():
    visible = np.array([[False] * 5, *[[True] * 5] * 4])
    attention = dot_product_map(numbered(5), visible=visible)
    for view in (View(), View(renormalize=True), View(words=True)):
        matrix = head_matrix(attention, layer=0, head=0, view=view)
        assert not matrix.weights[0].any()
        assert not matrix.visible[0].any()
        np.testing.assert_allclose(matrix.weights[1:].sum(axis=1), 1, atol=1e-6)
        assert matrix.hidden == pytest.approx(0, abs=1e-6)


def test_nothing_is_hidden_where_there_is_nothing():
    attention = dot_product_map(numbered(3), visible=np.zeros((3, 3), bool))
    assert head_matrix(attention, layer=0, head=0).hidden == 0


def test_what_is_hidden_of_a_single_row_is_counted():
    keys = (special("<s>"), *typed("a b"))
    attention = given_map([[0.75, 0.125, 0.125]], numbered(1), keys)
    assert head_matrix(attention, layer=0, head=0, view=View(hide_special=True)).hidden == 0.75


PIECES = {
    "bytes of one character": ([("🙂", 0, 1), ("🙂", 0, 1), ("🙂", 0, 1)], "🙂", 1),
    "parts that share a character": ([("a🙂", 0, 2), ("🙂b", 1, 3), ("c", 3, 4)], "a🙂bc", 4),
    "parts side by side": ([("un", 7, 9), ("do", 9, 11)], "undo", 11),
    "one within another": ([("abc", 0, 3), ("a", 0, 1), ("bcd", 1, 4)], "abcd", 4),
    "a mark that covers nothing": ([("▁", 3, 3), ("a", 3, 4), ("b", 4, 5)], "ab", 5),
}


@pytest.mark.parametrize(("parts", "text", "end"), PIECES.values(), ids=PIECES)
def test_a_word_is_written_once(parts, text, end):
    tokens = tuple(Token(part, start, end, word=0, piece=f"#{part}") for part, start, end in parts)
    (word,) = head_matrix(make_map(tokens), layer=0, head=0, view=View(words=True)).keys
    assert (word.text, word.start, word.end, word.piece) == (text, parts[0][1], end, "")


def test_words_of_the_same_number_in_two_texts_stay_apart():
    tokens = (*typed("no"), *typed("no", segment=1))
    assert len(head_matrix(make_map(tokens), layer=0, head=0, view=View(words=True)).keys) == 2


def test_tokens_of_no_word_stay_apart():
    tokens = (Token(" ", 0, 1), Token(" ", 1, 2), Token("a", 2, 3, word=0))
    assert len(head_matrix(make_map(tokens), layer=0, head=0, view=View(words=True)).keys) == 3


A, S = sentence("a b|c"), typed("x y|z w")
OWN = {
    "every token": (make_map(A), View(), (0, 1, 2, 3, 4)),
    "merged": (make_map(A), View(words=True), (0, 1, 2, 3)),
    "hidden": (make_map(A), View(hide_special=True), (0, 1, 2)),
    "within a sentence": (make_map(pair("a b", "c")), View(between="second-second"), (0, 1)),
    "between sentences": (make_map(pair("a b", "c")), View(between="first-second"), (None,) * 4),
    "between two texts": (make_map(A, S), View(), (None,) * 5),
    "the same words in two texts": (make_map(A, A), View(), (None,) * 5),
    "behind a sink": (dot_product_map(S, sink=np.ones(6)), View(), (0, 1, 2, 3)),
}


@pytest.mark.parametrize(("attention", "view", "own"), OWN.values(), ids=OWN)
def test_a_query_knows_its_own_column(attention, view, own):
    assert head_matrix(attention, layer=0, head=0, view=view).own == own


def test_a_query_after_a_cache_knows_its_own_column():
    keys, weights = numbered(5), [[0.2] * 5] * 2
    store = given_map(weights, keys[:2], keys).store
    assert head_matrix(AttentionMap("decoder", keys[3:], keys, store), layer=0, head=0).own == (3, 4)


@pytest.mark.parametrize(
    ("tokens", "view"),
    [
        ((special("[CLS]"), special("[SEP]")), View(hide_special=True)),
        (sentence("a b"), View(between="first-second")),
        (sentence("a b"), View(between="second-first")),
    ],
)
def test_a_view_that_leaves_nothing_says_so(tokens, view):
    with pytest.raises(TraceError, match="Nothing is left to show"):
        Lens(make_map(tokens), view)


@pytest.mark.parametrize(("layer", "head", "message"), [(2, 0, "no layer 2"), (0, 3, "no head 3"), (2, None, "no layer 2")])
def test_a_head_that_is_not_there_is_named(layer, head, message):
    with pytest.raises(TraceError, match=message):
        head_matrix(make_map(numbered(5)), layer=layer, head=head)


@pytest.mark.parametrize(
    ("layer", "head", "mean", "want"),
    [(7, 9, False, (1, 2)), (0, 1, False, (0, 1)), (1, None, False, (1, None)), (0, 1, True, (0, None))],
)
def test_a_view_of_a_head_fits_a_map_with_fewer(layer, head, mean, want):
    shown = HeadView(layer, head, View(), True).within(make_map(sentence("a b")), mean=mean)
    assert (shown.layer, shown.head, shown.full_scale) == (*want, True)
    matrix = shown.matrix(make_map(sentence("a b")))
    np.testing.assert_array_equal(matrix.weights, head_matrix(make_map(sentence("a b")), layer=want[0], head=want[1]).weights)


def test_a_matrix_is_made_once_for_all_who_look_at_it_and_kept_no_longer():
    attention = make_map(numbered(4))
    first = head_matrix(attention, layer=0, head=1)
    assert head_matrix(attention, layer=0, head=1, view=View()) is first
    others = head_matrix(attention, layer=0, head=1, view=View(words=True)), head_matrix(attention, layer=1, head=1)
    assert all(other is not first for other in others)
    kept = weakref.ref(first)
    del first
    assert kept() is None


CACHED = AttentionMap(
    "decoder", numbered(5)[3:], numbered(5), given_map([[0.25] * 4 + [0], [0.2] * 5], numbered(2), numbered(5)).store
)


@pytest.mark.parametrize(
    ("attention", "view", "causal"),
    [
        (make_map(ONE, causal=True), View(), True),
        (make_map(ONE, causal=True), View(words=True), False),
        (make_map(ONE, causal=True), View(hide_special=True), False),
        (make_map(ONE), View(), False),
        (dot_product_map(S, causal=True), View(), True),
        (dot_product_map(S, causal=True, sink=np.ones(6)), View(), False),
        (CACHED, View(), False),
        (replace(CACHED, causal=True), View(), True),
        (dot_product_map(numbered(1), causal=True), View(), False),
    ],
)
def test_a_matrix_is_causal_where_no_query_looks_at_a_later_key(attention, view, causal):
    matrix = head_matrix(attention, layer=0, head=0, view=view)
    assert matrix.causal == causal
    if causal:
        late = np.triu(np.ones(matrix.weights.shape, bool), 1 + len(matrix.keys) - len(matrix.queries))
        assert not matrix.weights[late].any()
        assert not matrix.visible[late].any()


def test_a_part_of_a_matrix_is_cut_with_its_tokens():
    matrix = head_matrix(make_map(ONE), layer=1, head=2)
    part = matrix.part(range(2, 5), range(1, 4))
    np.testing.assert_array_equal(part.weights, matrix.weights[2:5, 1:4])
    assert (part.queries, part.keys) == (ONE[2:5], ONE[1:4])
    assert (part.rows, part.columns, part.own) == ((2, 3, 4), (1, 2, 3), (1, 2, None))
    assert part.visible.shape == (3, 3)
