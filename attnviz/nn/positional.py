"""Positions for a mechanism that has none: attention sees a set of tokens, so their order must be in the tokens themselves.

Both classes add a vector for each position to the states. `start` is the position of the first token given: a decoder that
writes token by token passes the number of tokens already written.
"""

import torch
from jaxtyping import Float
from torch import Tensor, nn

from attnviz.core.errors import ModelError


def sinusoids(n_positions: int, dim: int) -> Float[Tensor, "position dim"]:
    """PE(p, 2i) = sin(p / 10000^(2i/d)), PE(p, 2i+1) = cos(p / 10000^(2i/d)): Vaswani et al. 2017, section 3.5.

    >>> sinusoids(2, 3)
    tensor([[0.0000, 1.0000, 0.0000],
            [0.8415, 0.5403, 0.0022]])
    """
    # In float64, for the angle of a late position is large and float32 would round it by more than its sine may err.
    position = torch.arange(n_positions, dtype=torch.float64)
    pair = torch.arange(0, dim, 2, dtype=torch.float64)
    # One row a position, one column a pair of dimensions: from a wavelength of 2π to almost 10000 · 2π.
    angle = position[:, None] / 10000 ** (pair / dim)
    table = torch.empty(n_positions, dim, dtype=torch.float64)
    table[:, 0::2] = angle.sin()
    # With an odd dimension the last sine has no cosine beside it.
    table[:, 1::2] = angle[:, : dim // 2].cos()
    return table.float()


def _rows(table: Float[Tensor, "position dim"], start: int, n_tokens: int) -> Float[Tensor, "token dim"]:
    """The rows of `n_tokens` positions; a slice alone would silently come back short."""
    end, n_positions = start + n_tokens, table.shape[0]
    if not 0 <= start <= end <= n_positions:
        raise ModelError(f"positions {start} to {end - 1} were asked for, but this model has {n_positions}: cut the text")
    return table[start:end]


class SinusoidalPositions(nn.Module):
    """x_p + PE(p): positions that are computed, not learned. Vaswani et al. 2017, section 3.5.

    Raises:
        ModelError: there are more tokens than positions.

    >>> SinusoidalPositions(5, 3)(torch.zeros(1, 2, 3))[0, 0]
    tensor([0., 1., 0.])
    """

    table: Tensor

    def __init__(self, max_tokens: int, dim: int) -> None:
        super().__init__()
        # A buffer moves with the model to its device; not persistent, as a formula needs no place in the weights file.
        self.register_buffer("table", sinusoids(max_tokens, dim), persistent=False)

    def forward(self, states: Float[Tensor, "batch token dim"], start: int = 0) -> Float[Tensor, "batch token dim"]:
        """The states, each with its position added."""
        return states + _rows(self.table, start, states.shape[1]).to(states.dtype)


class LearnedPositions(nn.Module):
    """x_p + P_p, one learned vector a position: Gehring et al. 2017, arXiv:1705.03122, section 3.1.

    Raises:
        ModelError: there are more tokens than positions.

    >>> LearnedPositions(5, 3)(torch.zeros(1, 2, 3)).shape
    torch.Size([1, 2, 3])
    """

    def __init__(self, max_tokens: int, dim: int) -> None:
        super().__init__()
        self.table = nn.Parameter(torch.empty(max_tokens, dim))
        # Small at first: a position should nudge a token, not drown it, before training has said how much it matters.
        nn.init.normal_(self.table, std=0.02)

    def forward(self, states: Float[Tensor, "batch token dim"], start: int = 0) -> Float[Tensor, "batch token dim"]:
        """The states, each with its position added."""
        return states + _rows(self.table, start, states.shape[1])
