"""Digits that add up."""

import numpy as np
import pytest

from attnviz.analysis.compute.steps import largest_remainder, number_text, spelled, units


@pytest.mark.parametrize(
    ("values", "wanted"),
    [
        ([1 / 3, 1 / 3, 1 / 3], (34, 33, 33)),
        ([0.664, 0.168, 0.168], (66, 17, 17)),
        ([0.372, 2.728], (37, 273)),
        ([-0.372, -2.728], (-37, -273)),
        ([-1.004, 0.5, 0.504], (-100, 50, 50)),
        ([0.0, 0.996, 0.004], (0, 100, 0)),
        ([0.0], (0,)),
    ],
)
def test_what_lost_most_gets_the_missing_units(values: list[float], wanted: tuple[int, ...]) -> None:
    assert largest_remainder(values) == wanted


def test_terms_add_up_to_the_sum_as_it_is_shown() -> None:
    generator = np.random.default_rng(5)
    for size in (1, 2, 3, 7, 31):
        values = generator.normal(scale=4, size=size)
        counts = largest_remainder(values)
        assert sum(counts) == units(values.sum())
        assert max(abs(count - 100 * value) for count, value in zip(counts, values, strict=True)) < 1 + 1e-9


def test_a_zero_stays_a_zero_and_what_is_kept_reads_as_if_it_stood_alone() -> None:
    values = np.array([0.8343, 0.08285, 0.08285, 0.0])
    assert largest_remainder(values) == (84, 8, 8, 0)
    assert largest_remainder(values, keep=0) == (83, 9, 8, 0)
    assert sum(largest_remainder(values, keep=0)) == 100


def test_a_sum_of_others_is_met_all_the_same() -> None:
    assert sum(largest_remainder([0.5, 0.25], total=0.8)) == 80
    assert sum(largest_remainder([0.5, 0.25], total=0.6)) == 60
    assert largest_remainder([0.5, 0.25, 0.125], total=0.8) == (48, 22, 10)
    assert largest_remainder([0.5, 0.25, 0.125], total=0.95) == (53, 27, 15)
    assert largest_remainder([0.505], total=0.8, keep=0) == (80,)
    assert largest_remainder([0.0, 0.0], total=0.5) == (0, 0)


def test_minus_is_a_minus_and_zero_has_none() -> None:
    assert (number_text(-1.2), number_text(-0.004), spelled(-7)) == ("−1.20", "0.00", "−0.07")
