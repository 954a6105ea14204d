"""Weights as they are saved: close enough to those that were trained, and the same once more."""

import pytest
import torch

from attnviz.models.shipped_models import unpacked
from recipes.export import packed


@pytest.fixture
def weights() -> dict[str, torch.Tensor]:
    generator = torch.Generator().manual_seed(5)
    sizes = torch.tensor([1e-6, 1.0, 1e3, 0.0, 1e-38])[:, None]
    drawn = {"encoder.tokens.weight": (5, 13), "cells.0.weight_ih": (5, 17)}
    matrices = {name: sizes * torch.randn(shape, generator=generator) for name, shape in drawn.items()}
    return {**matrices, "norm.bias": torch.randn(7, generator=generator)}


def test_every_row_has_a_step_of_its_own_and_an_embedding_half_of_it(weights):
    restored = unpacked(packed(weights))
    assert set(restored) == set(weights)
    for name, part in (("encoder.tokens.weight", 256), ("cells.0.weight_ih", 128)):
        value, actual = weights[name][:4], restored[name][:4]
        assert actual.dtype == torch.float32
        # A power of two next to rms / part, and half of it by rounding.
        limits = value.square().mean(1, keepdim=True).sqrt() / part * 2**0.5 / 2
        assert bool(((actual - value).abs() <= limits).all())
        # Not a whole bit finer than it has to be.
        assert bool(((actual - value).abs().amax(1) >= limits[:, 0] / 4)[:3].all())
        assert not restored[name][3:].any()
    torch.testing.assert_close(restored["norm.bias"], weights["norm.bias"].half().float(), rtol=0, atol=0)


def test_what_was_packed_stays_as_it_is(weights):
    once = unpacked(packed(weights))
    for name, value in unpacked(packed(once)).items():
        assert torch.equal(value, once[name]), name


def test_a_number_that_outweighs_its_row_fits_and_signs_stay():
    row = torch.zeros(2, 65537)
    row[0, 3], row[1, 5], row[1, 7] = 1.0, -1.0, -0.75
    restored = unpacked(packed({"w": row}))["w"]
    torch.testing.assert_close(restored, row, rtol=2**-15, atol=0)
