"""What makes shares faithful: the words that go first, and two orders of the same words."""

import numpy as np
import pytest
from scipy import stats

from attnviz.analysis.matters import (
    AttributionReport,
    Faithfulness,
    counts_of,
    curve_points,
    kendall_tau,
    removed_tokens,
    verdict,
)


def report(**changes) -> AttributionReport:
    shares = {"a": np.array([0.5, 9.0, 0.5, -1.0, 2.0]), "leave-one-out": np.array([1.0, -9.0, 3.0, 0.5, 2.0])}
    return AttributionReport("yes", 0.5, tuple("vwxyz"), frozenset({1}), shares, {}, {}, **changes)


@pytest.mark.parametrize("seed", range(6))
def test_the_rank_correlation_is_scipys(seed: int) -> None:
    first, second = np.random.default_rng(seed).integers(0, 4, (2, 9)).astype(float)
    assert kendall_tau(first, second) == pytest.approx(stats.kendalltau(first, second).statistic)


@pytest.mark.parametrize("tied", [0, 1])
def test_what_ranks_nothing_agrees_with_nothing(tied: int) -> None:
    orders = [np.arange(3.0), np.arange(3.0)]
    orders[tied] = np.zeros(3)
    assert kendall_tau(*orders) == 0


@pytest.mark.parametrize(
    ("n_words", "counts", "points"),
    [(1, [1] * 5, [0, 1]), (3, [1, 1, 1, 1, 2], [0, 1, 2, 3]), (100, [1, 5, 10, 20, 50], [*range(0, 101, 10)])],
)
def test_how_many_words_go(n_words: int, counts: list[int], points: list[int]) -> None:
    assert counts_of(n_words) == counts
    assert curve_points(n_words) == points


def test_the_first_words_go_or_all_others() -> None:
    groups = [(0, 1), (2,), (5, 6), (3,)]
    first, rest = removed_tokens(np.array([2, 0, 3, 1]), groups, 8, [0, 1, 3])
    gone, left = [[], [5, 6], [0, 1, 3, 5, 6]], [[0, 1, 2, 3, 5, 6], [0, 1, 2, 3], [2]]
    assert [np.flatnonzero(row).tolist() for row in first] == gone
    assert [np.flatnonzero(row).tolist() for row in rest] == left


@pytest.mark.parametrize(
    ("own", "chance", "says"),
    [(0.5, 0.3, "better than"), (0.1, 0.3, "worse than"), (0.304, 0.296, "as good as"), (0.296, 0.304, "as good as"),
     (0.31, 0.30, "better than"), (0.30, 0.31, "worse than")],
)  # fmt: skip
def test_figures_that_print_alike_are_alike(own: float, chance: float, says: str) -> None:
    said = verdict({"a": Faithfulness(own, 0.0)}, "a", None, Faithfulness(chance, 0.0))
    assert f"{says} chance" in said
    assert "est is" not in said


def test_words_that_are_never_masked_have_no_rank_and_no_say() -> None:
    assert report().ranked("a") == (4, 0, 2, 3)
    want = stats.kendalltau([0.5, 0.5, -1.0, 2.0], [1.0, 3.0, 0.5, 2.0]).statistic
    assert report().agreement("a") == pytest.approx(want)
    assert report().agreement("b") is None
    assert AttributionReport("yes", 0.5, ("a",), frozenset(), {"a": np.ones(1)}, {}, {}).agreement("a") is None


def test_figures_of_other_methods_join_those_there_are() -> None:
    figures, refused = {"c": Faithfulness(1.0, 2.0)}, {"d": "no"}
    other = AttributionReport("yes", 0.5, tuple("vwxyz"), frozenset(), {"c": np.ones(5)}, figures, refused)
    both = report(part="the start").joined(other)
    assert (set(both.shares), set(both.figures), both.refused) == ({"a", "leave-one-out", "c"}, {"c"}, refused)
    assert (both.own, both.part) == (frozenset({1}), "the start")
