"""Intervals over texts that are drawn again, against draws one by one."""

import numpy as np
import pytest

from attnviz.analysis.whatif_comparison import bootstrap, mean_interval


@pytest.mark.parametrize("one_by_one", [False, True])
def test_the_interval_holds_95_of_100_ratios_of_what_was_drawn(one_by_one: bool) -> None:
    dice = np.random.default_rng(3)
    totals, sizes = dice.random((7, 2, 3)), dice.integers(1, 5, 7).astype(float)
    again, ratios = np.random.default_rng(11), []
    numbers = again.integers(0, 7, (40, 7)) if one_by_one else again.multinomial(7, [1 / 7] * 7, size=40)
    for row in numbers:
        drawn = row if one_by_one else np.repeat(np.arange(7), row)
        ratios.append(sum(totals[text] for text in drawn) / sum(sizes[text] for text in drawn))
    want = np.quantile(ratios, [0.025, 0.975], axis=0)
    np.testing.assert_allclose(bootstrap(totals, sizes, draws=40, seed=11, one_by_one=one_by_one), want)


def test_the_draws_are_the_same_every_time_and_a_thousand() -> None:
    values = np.random.default_rng(3).random((5, 1))
    np.testing.assert_array_equal(bootstrap(values, np.ones(5)), bootstrap(values, np.ones(5), draws=1000, seed=1979))
    drawn = np.random.default_rng(1979).multinomial(5, np.full(5, 0.2), size=1000) @ values / 5
    np.testing.assert_allclose(bootstrap(values, np.ones(5)), np.quantile(drawn, [0.025, 0.975], axis=0))


def test_of_no_texts_nothing_is_known() -> None:
    assert bootstrap(np.zeros((0, 2)), np.zeros(0)).tolist() == [[0, 0], [1, 1]]


def test_texts_without_any_place_are_not_drawn() -> None:
    totals, sizes = np.array([[2.0], [0.0], [1.0], [0.0]]), np.array([3.0, 0.0, 2.0, 0.0])
    np.testing.assert_array_equal(bootstrap(totals, sizes), bootstrap(totals[::2], sizes[::2]))
    # Drawn, the others would be all that is there in eight of 27 samples.
    assert bootstrap(np.array([1.0, 0.0, 0.0]), np.array([1.0, 0.0, 0.0])).tolist() == [1, 1]
    assert bootstrap(np.zeros((3, 1)), np.zeros(3)).tolist() == [[0], [1]]


def test_the_interval_of_a_mean_is_that_of_two_thousand_draws_text_after_text() -> None:
    values = [0.25, 1.0, 4.0]
    means = np.array(values)[np.random.default_rng(0).integers(0, 3, (2000, 3))].mean(axis=1)
    interval = mean_interval(values)
    assert (interval.mean, interval.low, interval.high) == pytest.approx((1.75, *np.quantile(means, [0.025, 0.975])))
