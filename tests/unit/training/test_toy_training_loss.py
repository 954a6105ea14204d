"""The loss of every translator, against PyTorch's own."""

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch.nn import functional as F

from attnviz.training.toy_training import cross_entropy


@given(st.integers(0, 2**31), st.sampled_from([0.0, 0.1, 0.5]), st.floats(0.1, 200))
def test_it_is_pytorchs_cross_entropy(seed, smoothing, size):
    generator = torch.Generator().manual_seed(seed)
    scores = (torch.randn(3, 5, 11, generator=generator) * size).requires_grad_()
    labels = torch.randint(0, 11, (3, 5), generator=generator)
    labels[0, 0] = 7
    want = F.cross_entropy(scores.flatten(0, 1), labels.flatten(), ignore_index=0, label_smoothing=smoothing)
    got = cross_entropy(scores, labels, smoothing)
    torch.testing.assert_close(got, want)
    torch.testing.assert_close(
        torch.autograd.grad(got * 3, scores)[0], torch.autograd.grad(want * 3, scores)[0], rtol=1e-4, atol=1e-6
    )


def test_half_precision_scores_are_summed_in_full_precision():
    scores = torch.randn(4, 7, dtype=torch.bfloat16, generator=torch.Generator().manual_seed(2))
    labels = torch.tensor([1, 2, 0, 4])
    assert cross_entropy(scores, labels).dtype == torch.float32
    assert float(cross_entropy(scores, labels)) == pytest.approx(float(F.cross_entropy(scores.float(), labels, ignore_index=0)))
