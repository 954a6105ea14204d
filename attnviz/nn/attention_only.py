"""A decoder of attention alone: tokens and positions in, one or two layers of causal attention, next tokens out.

No feed-forward layers, no normalization: Elhage et al. 2021, *A Mathematical Framework for Transformer Circuits*. With one
layer it cannot look for what followed a token before, for a key does not know what stood before it; with two it can.
"""

from jaxtyping import Float, Int
from torch import Tensor, nn

from attnviz.nn.attention import MultiHeadAttention
from attnviz.nn.positional import SinusoidalPositions


class AttentionOnly(nn.Module):
    """x_0 = E t + P; x_l = x_{l-1} + Attention_l(x_{l-1}); scores = U x_L.

    >>> import torch
    >>> scores, weights = AttentionOnly(n_tokens=11, n_layers=2, n_heads=3, dim=12)(torch.ones(5, 7, dtype=torch.long))
    >>> scores.shape, len(weights), weights[0].shape
    (torch.Size([5, 7, 11]), 2, torch.Size([5, 3, 7, 7]))
    """

    def __init__(self, *, n_tokens: int, n_layers: int, n_heads: int, dim: int, longest: int = 64) -> None:
        super().__init__()
        self.embedding = nn.Embedding(n_tokens, dim)
        self.positions = SinusoidalPositions(longest, dim)
        self.layers = nn.ModuleList(MultiHeadAttention(dim, n_heads) for _ in range(n_layers))
        self.output = nn.Linear(dim, n_tokens, bias=False)

    def forward(
        self, tokens: Int[Tensor, "batch token"]
    ) -> tuple[Float[Tensor, "batch token piece"], tuple[Float[Tensor, "batch head token key"], ...]]:
        """Score every next token, and return the attention of each layer."""
        states, weights = self.positions(self.embedding(tokens)), []
        for layer in self.layers:
            change, attention = layer(states, causal=True)
            states = states + change
            weights.append(attention)
        return self.output(states), tuple(weights)
