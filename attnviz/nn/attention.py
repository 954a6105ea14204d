"""The published attention mechanisms, batch first, each returning `(output, weights)`.

All of them weigh the values for each query. They differ in how a query is compared with a key.

    additive                  vᵀ tanh(W q + U k)    Bahdanau, Cho & Bengio 2014, arXiv:1409.0473
    dot product               q·k                   Luong, Pham & Manning 2015, arXiv:1508.04025
    scaled, with many heads   q·k / √d              Vaswani et al. 2017, arXiv:1706.03762

What holds for every one:

- `visible` is a boolean mask: True means "may be attended to". A masked cell weighs exactly 0, and a query that sees nothing
  has a row of zeros and a context of zeros, with finite gradients.
- The weights returned are those before dropout: a picture shows what the model weighs, not what one training step dropped.
- `project` does the work that is the same for every query. Its result can stand in for the memory, so that a decoder
  projects a sentence once and attends to it at every step.

Both classes add a vector for each position to the states. `start` is the position of the first token given: a decoder that
writes token by token passes the number of tokens already written.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import torch
from jaxtyping import Bool, Float
from torch import Tensor, nn
from torch.nn import functional as F

from attnviz.core.errors import ModelError
from attnviz.nn.apply_edits import AttentionCall, changed, changed_one


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
    """Return the rows of `n_tokens` positions; a slice alone would silently come back short."""
    end, n_positions = start + n_tokens, table.shape[0]
    if not 0 <= start <= end <= n_positions:
        raise ModelError(f"Positions {start} to {end - 1} were asked for, but this model has {n_positions}: cut the text.")
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
        """Add its position to each of the states."""
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
        """Add its position to each of the states."""
        return states + _rows(self.table, start, states.shape[1])


def masked_scores(
    scores: Float[Tensor, "*batch query key"], visible: Bool[Tensor, "*#batch #query key"] | None = None
) -> Float[Tensor, "*batch query key"]:
    """Scores as a softmax would have them: -inf where a key is not visible."""
    return scores if visible is None else scores.masked_fill(~visible, -torch.inf)


def masked_softmax(
    scores: Float[Tensor, "*batch query key"], visible: Bool[Tensor, "*#batch #query key"] | None = None
) -> Float[Tensor, "*batch query key"]:
    """Softmax over the visible keys: α_ij = exp(e_ij) / Σ_k exp(e_ik), Bahdanau et al. 2014, equation 6.

    >>> masked_softmax(torch.zeros(1, 4), torch.tensor([[True, True, False, False]]))
    tensor([[0.5000, 0.5000, 0.0000, 0.0000]])
    """
    if visible is None:
        return scores.softmax(dim=-1)
    # exp(-inf) is exactly 0. A large negative number in its place would turn a row that sees nothing into a uniform one.
    scores = scores.masked_fill(~visible, -torch.inf)
    # But a row of nothing but -inf is 0 / 0. It gets harmless scores before the softmax, and zeros after it, so that no NaN
    # arises on the way there or back; `masked_fill` passes no gradient to what it filled.
    blind = ~visible.any(dim=-1, keepdim=True)
    return scores.masked_fill(blind, 0).softmax(dim=-1).masked_fill(blind, 0)


def past_visible(n_queries: int, n_keys: int, device: torch.device | None = None) -> Bool[Tensor, "query key"]:
    """Make the causal mask: a query sees its own position and those before it. Vaswani et al. 2017, section 3.2.3.

    >>> past_visible(2, 3)
    tensor([[ True,  True, False],
            [ True,  True,  True]])
    """
    # Queries are aligned to the end of the keys: with a cache of earlier keys, the last query is still the last token.
    return torch.ones(n_queries, n_keys, dtype=torch.bool, device=device).tril(n_keys - n_queries)


def attend(
    query: Float[Tensor, "*batch query dim"],
    key: Float[Tensor, "*batch key dim"],
    value: Float[Tensor, "*batch key value_dim"],
    *,
    visible: Bool[Tensor, "*#batch #query key"] | None = None,
    scaling: float | None = None,
    dropout: float = 0.0,
) -> tuple[Float[Tensor, "*batch query value_dim"], Float[Tensor, "*batch query key"]]:
    """Attention(Q, K, V) = softmax(Q Kᵀ / √d) V, Vaswani et al. 2017, equation 1.

    `scaling` replaces 1/√d; `dropout` is the probability with which a weight is left out of the context (0 to evaluate).

    >>> context, weights = attend(torch.ones(2, 3, 5), torch.ones(2, 7, 5), torch.ones(2, 7, 11))
    >>> context.shape, weights.shape
    (torch.Size([2, 3, 11]), torch.Size([2, 3, 7]))
    """
    # A dot product of d independent terms of variance 1 has variance d: unscaled, it would push the softmax into
    # regions where its gradient is almost 0 (section 3.2.1).
    if scaling is None:
        scaling = 1 / math.sqrt(query.shape[-1])
    weights = masked_softmax((query * scaling) @ key.transpose(-2, -1), visible)
    return F.dropout(weights, dropout, training=dropout > 0) @ value, weights


@dataclass(frozen=True, eq=False)
class KeyValues:
    """What a memory looks like to a mechanism: the keys that queries are compared with, the values they average.

    >>> cache = KeyValues(torch.ones(2, 5, 7), torch.ones(2, 5, 7))
    >>> cache.append(cache).key.shape
    torch.Size([2, 10, 7])
    """

    key: Float[Tensor, "*batch key dim"]
    value: Float[Tensor, "*batch key value_dim"]

    def append(self, later: "KeyValues") -> "KeyValues":
        """These keys and values, then the later ones: the cache of a decoder that writes token by token."""
        # A new value, not a longer old one: two hypotheses of a beam may share the same past.
        return KeyValues(torch.cat([self.key, later.key], dim=-2), torch.cat([self.value, later.value], dim=-2))


def _mask(
    query: Float[Tensor, "*batch query dim"],
    key: Float[Tensor, "*batch key dim"],
    visible: Bool[Tensor, "rows key"] | None,
    causal: bool,
) -> Bool[Tensor, "#rows #query key"] | None:
    """Padding and causality as one mask: a key must pass both."""
    padding = None if visible is None else visible[:, None, :]
    if not causal:
        return padding
    past = past_visible(query.shape[-2], key.shape[-2], query.device)[None]
    return past if padding is None else padding & past


class SingleHeadAttention(nn.Module):
    """softmax(Q Kᵀ) V with Q = X W_Q, K = Y W_K, V = Y W_V; scaled, Q Kᵀ / √d: Vaswani et al. 2017, equation 1.

    Unscaled, the score of Luong et al. 2015, section 3.1, "general": h_tᵀ W h_s with W = W_Q W_Kᵀ.
    Queries and memory may differ in size, as a decoder's states and a bidirectional encoder's do.

    >>> attention = SingleHeadAttention(5, 7, 11, scaled=False)
    >>> context, weights = attention(torch.ones(2, 3, 5), torch.ones(2, 13, 7))
    >>> context.shape, weights.shape
    (torch.Size([2, 3, 11]), torch.Size([2, 3, 13]))
    """

    def __init__(self, query_dim: int, memory_dim: int, dim: int, *, scaled: bool = True, dropout: float = 0.0) -> None:
        super().__init__()
        self.scaling = dim**-0.5 if scaled else 1.0
        self.dropout = dropout
        self.query = nn.Linear(query_dim, dim)
        self.key = nn.Linear(memory_dim, dim)
        self.value = nn.Linear(memory_dim, dim)

    def project(self, memory: Float[Tensor, "batch key memory_dim"]) -> KeyValues:
        """Compute the keys and values of a memory, once for any number of queries."""
        return KeyValues(self.key(memory), self.value(memory))

    def forward(
        self,
        states: Float[Tensor, "batch query query_dim"],
        memory: Float[Tensor, "batch key memory_dim"] | KeyValues | None = None,
        *,
        visible: Bool[Tensor, "batch key"] | None = None,
        causal: bool = False,
        start: int = 0,
    ) -> tuple[Float[Tensor, "batch query dim"], Float[Tensor, "batch query key"]]:
        """Attend from `states` to `memory`, or to themselves where there is none; `start` is the place of the first query."""
        source = states if memory is None else memory
        known = source if isinstance(source, KeyValues) else self.project(source)
        query = self.query(states)
        mask = _mask(query, known.key, visible, causal)
        dropout = self.dropout if self.training else 0.0
        context, weights = attend(query, known.key, known.value, visible=mask, scaling=self.scaling, dropout=dropout)
        scores = lambda: masked_scores((query * self.scaling) @ known.key.transpose(-2, -1), mask)
        return changed_one(self, (context, weights), scores, known.value, start)


class MultiHeadAttention(nn.Module):
    """Concat(head_1, …, head_h) W_O, head_i = Attention(Q W_i^Q, K W_i^K, V W_i^V): Vaswani et al. 2017, section 3.2.2.

    Self-attention is `attention(states)`, cross-attention `attention(states, memory)`. To decode token by token, keep a cache:
    `cache = cache.append(attention.project(newest))`, then `attention(newest, cache)`. `scaled=False` leaves out 1/√d.

    Raises:
        ModelError: the heads do not divide the dimension.

    >>> output, weights = MultiHeadAttention(22, 2)(torch.ones(3, 5, 22), causal=True)
    >>> output.shape, weights.shape
    (torch.Size([3, 5, 22]), torch.Size([3, 2, 5, 5]))
    """

    def __init__(self, dim: int, n_heads: int, *, scaled: bool = True, dropout: float = 0.0) -> None:
        super().__init__()
        if n_heads < 1 or dim % n_heads:
            raise ModelError(f"{n_heads} heads cannot share {dim} dimensions: choose a number of heads that divides {dim}.")
        self.n_heads = n_heads
        self.scaling = (dim // n_heads) ** -0.5 if scaled else 1.0
        self.dropout = dropout
        # The projections of all heads stand in one matrix: rows i·d to (i+1)·d belong to head i.
        self.query = nn.Linear(dim, dim)
        self.key = nn.Linear(dim, dim)
        self.value = nn.Linear(dim, dim)
        self.output = nn.Linear(dim, dim)

    def _split(self, states: Float[Tensor, "batch token dim"]) -> Float[Tensor, "batch head token head_dim"]:
        # Split first, then swap: reshaping straight to (head, token) would mix tokens into heads without any error.
        return states.unflatten(-1, (self.n_heads, -1)).transpose(1, 2)

    def queries(self, states: Float[Tensor, "batch query dim"]) -> Float[Tensor, "batch head query head_dim"]:
        """Compute the queries of all heads."""
        return self._split(self.query(states))

    def project(self, memory: Float[Tensor, "batch key dim"]) -> KeyValues:
        """Compute the keys and values of all heads, once for any number of queries."""
        return KeyValues(self._split(self.key(memory)), self._split(self.value(memory)))

    def forward(
        self,
        states: Float[Tensor, "batch query dim"],
        memory: Float[Tensor, "batch key dim"] | KeyValues | None = None,
        *,
        visible: Bool[Tensor, "batch key"] | None = None,
        causal: bool = False,
    ) -> tuple[Float[Tensor, "batch query dim"], Float[Tensor, "batch head query key"]]:
        """Attend from `states` to `memory`, or to themselves where there is none."""
        source = states if memory is None else memory
        known = source if isinstance(source, KeyValues) else self.project(source)
        query = self.queries(states)
        mask = _mask(query, known.key, visible, causal)
        context, weights = attend(
            query,
            known.key,
            known.value,
            # Every head sees the same keys; what they make of them is their own.
            visible=None if mask is None else mask[:, None],
            scaling=self.scaling,
            dropout=self.dropout if self.training else 0.0,
        )
        context, weights = self._edited(context, weights, query, known, mask)
        # The heads side by side again; W_O lets them speak to each other.
        return self.output(context.transpose(1, 2).flatten(start_dim=2)), weights

    def _edited(
        self, context: Tensor, weights: Tensor, query: Tensor, known: KeyValues, mask: Tensor | None
    ) -> tuple[Any, Any]:
        """Apply the edits to the heads' contexts and weights, where this attention is edited."""
        scores = partial(self._scores, query, known.key, mask)
        return changed(self, AttentionCall(context, scores, lambda heads: known.value[:, heads], weights))

    def _scores(
        self, query: Tensor, key: Tensor, mask: Tensor | None, heads: Sequence[int]
    ) -> Float[Tensor, "batch some query key"]:
        some = query[:, heads] * self.scaling
        return masked_scores(some @ key[:, heads].transpose(-2, -1), None if mask is None else mask[:, None])


@dataclass(frozen=True, eq=False)
class Attended:
    """One attention of a forward pass, and the X that it read: `states` became queries, `memory` keys and values.

    attention  a module whose `query`, `key` and `value` are linear layers, the heads side by side
    """

    attention: nn.Module
    states: Float[Tensor, "batch query dim"]
    memory: Float[Tensor, "batch key memory_dim"]


class AdditiveAttention(nn.Module):
    """e_ij = vᵀ tanh(W s_{i-1} + U h_j), c_i = Σ_j α_ij h_j: Bahdanau et al. 2014, section 3.1 and appendix A.1.2.

    The values are the annotations h_j themselves: the context has the size of the memory.

    >>> attention = AdditiveAttention(5, 7, 11)
    >>> sentence = attention.project(torch.ones(2, 13, 7))
    >>> context, weights = attention(torch.ones(2, 1, 5), sentence)
    >>> context.shape, weights.shape
    (torch.Size([2, 1, 7]), torch.Size([2, 1, 13]))
    """

    def __init__(self, query_dim: int, memory_dim: int, dim: int) -> None:
        super().__init__()
        self.query = nn.Linear(query_dim, dim)
        # One bias inside the tanh is enough, and one outside would move all energies of a row alike: softmax ignores it.
        self.key = nn.Linear(memory_dim, dim, bias=False)
        self.energy = nn.Linear(dim, 1, bias=False)

    def project(self, memory: Float[Tensor, "batch key memory_dim"]) -> KeyValues:
        """U h_j beside h_j: it does not depend on the decoder's step, so a sentence needs it once (appendix A.1.2)."""
        return KeyValues(self.key(memory), memory)

    def forward(
        self,
        states: Float[Tensor, "batch query query_dim"],
        memory: Float[Tensor, "batch key memory_dim"] | KeyValues,
        *,
        visible: Bool[Tensor, "batch key"] | None = None,
        start: int = 0,
    ) -> tuple[Float[Tensor, "batch query memory_dim"], Float[Tensor, "batch query key"]]:
        """Align every state with every annotation; `start` is the place of the first state."""
        known = memory if isinstance(memory, KeyValues) else self.project(memory)
        # Every pair gets a small network of its own: this tensor is batch × query × key × dim.
        energy = self.energy((self.query(states)[:, :, None, :] + known.key[:, None, :, :]).tanh()).squeeze(-1)
        # Without the mask, padding would take its share of the softmax.
        mask = None if visible is None else visible[:, None, :]
        alignment = masked_softmax(energy, mask)
        computed = (alignment @ known.value, alignment)
        return changed_one(self, computed, lambda: masked_scores(energy, mask), known.value, start)
