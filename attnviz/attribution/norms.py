"""Norm-weighted attention (Kobayashi et al. 2020, 2021): weights times the length of what they carry, and the residual."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import Tensor

from attnviz.attribution.attention_methods import Mixing, as_array, check_layered, readout_weights, recorded, rolled_out
from attnviz.attribution.passes.tape import Attention, Norm
from attnviz.core.cancellation import cancellation_point
from attnviz.core.errors import ModelError
from attnviz.models.targets import BoundTarget

# Numbers in the vectors between queries and keys that are in memory at once.
SLAB = 16_777_216


@dataclass(frozen=True, eq=False)
class Composition:
    """What each query's position is made of, residual and LayerNorm counted (Kobayashi et al. 2021, arXiv:2109.07152).

    norms   ‖Σ_h α_ij f(x_j) + [i = j] x_i‖ behind LayerNorm
    own     the part that the residual keeps; in self-attention with what the position gives itself
    mixing  ‖Σ_{j≠i}‖ / (own + ‖Σ_{j≠i}‖)
    """

    norms: Float[np.ndarray, "query key"]
    own: Float[np.ndarray, " query"]
    mixing: Float[np.ndarray, " query"]


def value_norms(bound: BoundTarget) -> np.ndarray:
    """‖Σ_h α f(x_j)‖ of the rows from which the output is read, each layer's summing to 1, averaged (Kobayashi et al. 2020).

    Raises:
        ModelError: no such row looks at the text, or nothing is known of what this model's attention carries.
    """
    total, count, readout = np.zeros(bound.n_positions), 0, readout_weights(bound)
    for attention, site in zip(recorded(bound), bound.sites, strict=True):
        rows = readout[site.queries]
        if not rows.any() or site.keys.start >= len(bound.tokens):
            continue
        norms = np.concatenate([as_array(parts.norm(dim=-1)) for _, parts in _parts(attention)])
        total[site.keys] += rows @ (norms / np.maximum(norms.sum(axis=1, keepdims=True), 1e-12))
        count += 1
    if not count:
        raise ModelError("The output's positions look at no token of the text: choose another method.")
    return total[: len(bound.tokens)] / count


def norms_with_residual(bound: BoundTarget) -> np.ndarray:
    """Follow the output down through what each layer makes of positions, residual and LayerNorm counted.

    The product over layers of what Kobayashi et al. 2021 measure, each row summing to 1 (as Modarressi et al. 2022 do,
    arXiv:2205.03286, who add the norm behind the feed-forward layer).

    Raises:
        ModelError: the residual connection of this model is not known.
    """
    check_layered(bound)
    steps = []
    for attention, site in zip(recorded(bound), bound.sites, strict=True):
        of_itself = site.queries == site.keys
        made_of = composition(attention, of_itself=of_itself)
        rows = np.zeros((len(made_of.own), bound.n_positions))
        rows[:, site.keys] = made_of.norms
        if not of_itself:
            rows[np.arange(len(rows)), np.arange(site.queries.start, site.queries.stop)] = made_of.own
        steps.append(Mixing(site, rows / np.maximum(rows.sum(axis=1, keepdims=True), 1e-12)))
    return rolled_out(bound, steps)


def composition(attention: Attention, *, of_itself: bool) -> Composition:
    """Measure the parts of each position's next state; `of_itself`: queries and keys are the same positions.

    Raises:
        ModelError: the residual connection of this model is not known.
    """
    placed, stream = attention.residual()
    if stream is None or attention.after is None:
        raise ModelError("attnviz does not know the residual connection of this model: choose another method.")
    (states,), (sums,) = stream, attention.after.read
    norms, own, mixing = [], [], []
    for rows, parts in _parts(attention):
        kept = states[rows]
        if placed == "after":
            parts, kept = (_scaled(each, sums[rows], attention.after) for each in (parts, kept[:, None]))
            kept = kept.squeeze(1)
        places = torch.arange(len(parts), device=parts.device)
        if of_itself:
            parts[places, rows] += kept
            kept = parts[places, rows]
            others = parts.sum(dim=1) - kept
        else:
            others = parts.sum(dim=1)
        lengths = [each.norm(dim=-1) for each in (kept, others)]
        norms.append(as_array(parts.norm(dim=-1)))
        own.append(as_array(lengths[0]))
        mixing.append(as_array(lengths[1] / (lengths[0] + lengths[1]).clamp(min=1e-12)))
    return Composition(np.concatenate(norms), np.concatenate(own), np.concatenate(mixing))


def carried(attention: Attention) -> Float[Tensor, "head key out"]:
    """f(x_j) = x_j W_V W_O of each head: what a weight of 1 would carry.

    Raises:
        ModelError: what follows this attention is no linear layer of its size.
    """
    if attention.output is None:
        raise ModelError(
            "This model's attention has no output matrix of its own, so norms cannot be computed: choose another method."
        )
    (value,) = attention.value
    return torch.einsum("hkd,ohd->hko", value, attention.output.unflatten(1, (len(value), -1)))


def _parts(attention: Attention) -> Iterator[tuple[Int[Tensor, " query"], Float[Tensor, "query key out"]]]:
    """Σ_h α_ij f(x_j), for some queries at a time."""
    vectors, weights = carried(attention), attention.heads
    step = max(1, SLAB // (vectors.shape[1] * vectors.shape[2]))
    for rows in torch.arange(weights.shape[1], device=weights.device).split(step):
        cancellation_point()
        yield rows, torch.einsum("hqk,hko->qko", weights[:, rows], vectors)


def _scaled(parts: Float[Tensor, "query key out"], read: Float[Tensor, "query out"], norm: Norm) -> Tensor:
    """Apply a norm to a part of what it reads; it is linear, since its σ is that of the whole."""
    mean = read.mean(dim=-1, keepdim=True) if norm.centred else 0.0
    scale = ((read - mean).pow(2).mean(dim=-1, keepdim=True) + norm.eps).rsqrt()
    scale = scale if norm.weight is None else scale * norm.weight
    centred = parts - parts.mean(dim=-1, keepdim=True) if norm.centred else parts
    return centred * scale[:, None]
