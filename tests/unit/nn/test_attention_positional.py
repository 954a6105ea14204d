import math

import pytest
import torch

from attnviz.core.errors import ModelError
from attnviz.nn.attention import LearnedPositions, SinusoidalPositions, sinusoids

KINDS = [SinusoidalPositions, LearnedPositions]


@pytest.mark.parametrize("dim", [1, 2, 7, 22])
def test_sinusoids_are_the_formula(dim):
    table = sinusoids(5003, dim)
    for position in (0, 1, 2, 47, 5002):
        for index in range(dim):
            angle = position / 10000 ** ((index - index % 2) / dim)
            assert table[position, index].item() == pytest.approx((math.cos if index % 2 else math.sin)(angle), abs=1e-7)


@pytest.mark.parametrize("kind", KINDS)
def test_token_by_token_equals_all_at_once(kind):
    positions, states = kind(7, 11), torch.randn(3, 7, 11)
    whole = positions(states)
    steps = [positions(states[:, step : step + 1], start=step) for step in range(7)]
    assert torch.equal(torch.cat(steps, dim=1), whole)
    assert torch.equal(whole - states, (positions(torch.zeros(1, 7, 11)) + states) - states)
    assert len({tuple(row) for row in positions(torch.zeros(1, 7, 11))[0].tolist()}) == 7


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(("start", "n_tokens"), [(0, 8), (7, 1), (5, 3), (-1, 2)])
def test_positions_that_do_not_exist_are_refused(kind, start, n_tokens):
    with pytest.raises(ModelError, match="this model has 7: cut the text"):
        kind(7, 11)(torch.zeros(1, n_tokens, 11), start=start)


def test_learned_positions_learn_and_sinusoids_do_not():
    assert [name for name, _ in LearnedPositions(7, 11).named_parameters()] == ["table"]
    assert not list(SinusoidalPositions(7, 11).state_dict())
    learned = LearnedPositions(7, 11)
    learned(torch.zeros(3, 5, 11)).sum().backward()
    assert learned.table.grad.sum(1).tolist() == [33] * 5 + [0] * 2


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float64])
def test_states_keep_their_precision(dtype):
    assert SinusoidalPositions(7, 11)(torch.zeros(1, 5, 11, dtype=dtype)).dtype == dtype
