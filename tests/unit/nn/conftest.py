"""Sizes and masks for the mechanisms: every size another prime, so that swapped axes cannot pass."""

import pytest
import torch

# float32 against float32: the bar for every comparison of values and of gradients.
TOLERANCE = {"atol": 1e-5, "rtol": 1e-5}


@pytest.fixture
def visible():
    """Three sentences of at most seven tokens: one whole, one with padding at its end, one that is all padding."""
    lengths = torch.tensor([7, 5, 0])
    return torch.arange(7) < lengths[:, None]


@pytest.fixture
def source():
    """Three sentences of seven, five and two tokens; 0 is padding."""
    tokens = torch.randint(1, 17, (3, 7))
    return tokens.masked_fill(torch.arange(7) >= torch.tensor([7, 5, 2])[:, None], 0)


@pytest.fixture
def inputs():
    return torch.randint(1, 19, (3, 11))


@pytest.fixture
def same():
    """Assert that two results, torch or NumPy, are the same to 1e-5 (or to `atol`)."""

    def check(got, want, **tolerance):
        got, want = torch.as_tensor(got), torch.as_tensor(want)
        torch.testing.assert_close(got, want.to(got.dtype), **(TOLERANCE | tolerance))

    return check


@pytest.fixture
def parameters():
    """The parameters of a module as the oracle takes them."""
    return lambda module: {name: value.detach().numpy() for name, value in module.state_dict().items()}


@pytest.fixture
def copy_attention():
    """Copy our multi-head attention into `nn.MultiheadAttention`, which stacks the three projections in one matrix.

    Returns pairs of what must have the same gradient: a tuple of our parameters, and torch's stack of them.
    """

    def copy(module, twin):
        three = (module.query, module.key, module.value)
        pairs = [(tuple(layer.weight for layer in three), twin.in_proj_weight)]
        pairs += [(tuple(layer.bias for layer in three), twin.in_proj_bias)]
        pairs += [((module.output.weight,), twin.out_proj.weight), ((module.output.bias,), twin.out_proj.bias)]
        with torch.no_grad():
            for ours, theirs in pairs:
                theirs.copy_(torch.cat(ours))
        return pairs

    return copy


@pytest.fixture
def same_gradients(same):
    """Assert that two scalars have the same gradients with respect to pairs as `copy_attention` returns them."""

    def check(got, want, pairs):
        theirs = torch.autograd.grad(want, [other for _, other in pairs])
        for (ours, _), other in zip(pairs, theirs, strict=True):
            mine = torch.cat(torch.autograd.grad(got, ours, retain_graph=True))
            assert mine.isfinite().all()
            same(mine, other)

    return check
