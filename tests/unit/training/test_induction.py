"""Induction: what is learned from, and that two layers find it where one does not."""

import numpy as np
import pytest

from attnviz.training.induction import InductionRecipe, repeated, train


def test_a_text_repeats_itself_and_no_letter_stands_twice_before():
    generator = np.random.default_rng(3)
    lengths = set()
    for _ in range(9):
        tokens = repeated(generator, InductionRecipe(batch=5)).numpy()
        period = tokens.shape[1] // 2
        lengths.add(period)
        assert (tokens[:, :period] == tokens[:, period:]).all()
        assert all(len(set(row[:period])) == period for row in tokens.tolist())
    assert len(lengths) > 2


def test_everything_follows_from_the_seed():
    recipe = InductionRecipe(steps=4, batch=3)
    first, again = (list(train(recipe, every=2)) for _ in range(2))
    assert [look.loss for look in first] == [look.loss for look in again]
    assert first[-1].loss != list(train(InductionRecipe(steps=4, batch=3, seed=2), every=2))[-1].loss


@pytest.mark.gate
def test_two_layers_find_what_followed_before_and_one_does_not(unchecked):
    two, one = (
        list(train(InductionRecipe(n_layers=layers, steps=150, learning_rate=6e-3), every=150))[-1] for layers in (2, 1)
    )
    assert two.induction.max() >= 0.85
    assert two.accuracy > 0.9
    assert one.induction.max() <= 0.3
