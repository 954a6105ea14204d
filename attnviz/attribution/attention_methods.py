"""Methods that read attention weights, of single layers or followed through all of them."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Float, Int
from scipy.sparse import coo_array
from scipy.sparse.csgraph import maximum_flow
from torch import Tensor

from attnviz.attribution.recorded_pass import Attention, AttentionTape, Norm, as_array
from attnviz.core.errors import ModelError, cancellation_point
from attnviz.models.targets import AttentionSite, BoundTarget

# Attentions differ in size: no two of a list need have as many queries.
Matrix = np.ndarray
Relevance = Float[np.ndarray, " position"]
# Abnar & Zuidema 2020, section 3: half of each step is the residual connection.
RESIDUAL = 0.5
MOST_FLOW_TOKENS = 64


@dataclass(frozen=True, eq=False)
class Mixing:
    """How one attention mixes positions: each row of `rows` has what a query's position is made of, and sums to 1."""

    site: AttentionSite
    rows: Float[np.ndarray, "query position"]


def recorded(bound: BoundTarget) -> tuple[Attention, ...]:
    """Run the model once, and record its attentions.

    Raises:
        ModelError: the model computes its attention in a way that cannot be followed.
    """
    with AttentionTape() as tape, torch.no_grad():
        bound.run(bound.ids[None])
    return checked(tape, bound)


def checked(tape: AttentionTape, bound: BoundTarget) -> tuple[Attention, ...]:
    """Check that the recorded attentions have the sizes that the model declares.

    Raises:
        ModelError: the model computes its attention in a way that cannot be followed.
    """
    shapes = [(site.queries.stop - site.queries.start, site.keys.stop - site.keys.start) for site in bound.sites]
    if shapes != [tuple(each.weights.shape[2:]) for each in tape.attentions]:
        raise ModelError("This model computes its attention in a way that cannot be followed: choose another method.")
    return tuple(tape.attentions)


def head_weights(bound: BoundTarget, kind: str, layer: int, head: int) -> np.ndarray:
    """Read the weights of one head from the output's positions to each token.

    Raises:
        ModelError: there is no such head.
    """
    pairs = [
        (site, as_array(attention.heads[head]))
        for attention, site in zip(recorded(bound), bound.sites, strict=True)
        if (site.kind, site.layer) == (kind, layer) and _has_readout(bound, site) and head < attention.weights.shape[1]
    ]
    if pairs:
        return _seen(bound, pairs)
    raise ModelError(f"The output is not read from a head L{layer}·H{head} of the {kind} attention: choose another head.")


def last_layer(bound: BoundTarget) -> np.ndarray:
    """Average over heads the last layer in which the output's positions look at the whole text."""
    pairs = [pair for pair in _means(bound) if _has_readout(bound, pair[0])]
    if not pairs:
        raise ModelError("The output's positions look at no token of the text: choose another method.")
    # The last of those that see most; an LSTM's steps are all of one layer, and so are two texts that are read apart.
    last, _ = max(reversed(pairs), key=lambda pair: pair[1].shape[1])
    return _seen(bound, [pair for pair in pairs if (pair[0].kind, pair[0].layer) == (last.kind, last.layer)])


def mean_of_layers(bound: BoundTarget) -> np.ndarray:
    """Average over heads and layers the weights from the output's positions."""
    return _seen(bound, [pair for pair in _means(bound) if _has_readout(bound, pair[0])])


def received(bound: BoundTarget) -> np.ndarray:
    """Compute the attention that each token receives: the mean over queries, heads and layers."""
    total, count = np.zeros(bound.n_positions), np.zeros(bound.n_positions)
    for site, weights in _means(bound):
        total[site.keys] += weights.sum(axis=0)
        count[site.keys] += len(weights)
    return (total / np.maximum(count, 1))[: len(bound.tokens)]


def mixings(bound: BoundTarget) -> list[Mixing]:
    """0.5 A + 0.5 I of every attention, heads averaged (Abnar & Zuidema 2020, arXiv:2005.00928, section 3).

    Raises:
        ModelError: its attentions do not stand on each other in layers.
    """
    check_layered(bound)
    made = []
    for site, weights in _means(bound):
        rows = np.zeros((len(weights), bound.n_positions))
        rows[:, site.keys] = (1 - RESIDUAL) * weights
        rows[np.arange(len(weights)), np.arange(site.queries.start, site.queries.stop)] += RESIDUAL
        made.append(Mixing(site, rows))
    return made


def rolled_out(bound: BoundTarget, steps: list[Mixing]) -> np.ndarray:
    """Multiply the mixings of all layers, from the output's positions down to the tokens."""
    relevance = readout_weights(bound)
    for step in reversed(steps):
        readout = relevance[step.site.queries].copy()
        relevance[step.site.queries] = 0
        relevance += readout @ step.rows
    return relevance[: len(bound.tokens)]


def rollout(bound: BoundTarget) -> np.ndarray:
    """Attention rollout: Π_l (0.5 A_l + 0.5 I), Abnar & Zuidema 2020, section 3."""
    return rolled_out(bound, mixings(bound))


def flow(bound: BoundTarget) -> np.ndarray:
    """Compute the maximum flow from the output's positions to each token, weights as capacities (Abnar & Zuidema 2020).

    Raises:
        ModelError: the text is too long for it.
    """
    if bound.n_positions > MOST_FLOW_TOKENS:
        raise ModelError(
            f"Flow is computed for at most {MOST_FLOW_TOKENS} tokens, and this text has {bound.n_positions}: type less."
        )
    steps = [(step.site.queries, step.rows) for step in mixings(bound)]
    return max_flow(steps, readout_weights(bound))[: len(bound.tokens)]


def gradient_weighted(bound: BoundTarget) -> np.ndarray:
    """R ← R + E_h[(∇A ⊙ A)⁺] R, layer by layer (Chefer et al. 2021, arXiv:2103.15679, equations 5 and 6)."""
    vectors = bound.embedded()[None].requires_grad_()
    with torch.enable_grad():
        with AttentionTape() as tape:
            score = bound.outcome_of(vectors).score.sum()
        attentions = checked(tape, bound)
        gradients = torch.autograd.grad(score, [each.given for each in attentions], allow_unused=True)
    relevance = np.eye(bound.n_positions)
    for attention, gradient, site in zip(attentions, gradients, bound.sites, strict=True):
        if gradient is None:
            continue  # the last layer's rows that the output does not read
        weighted = attention.heads * gradient.view_as(attention.heads)
        relevance[site.queries] += as_array(weighted.clamp(min=0).mean(dim=0)) @ relevance[site.keys]
    return (readout_weights(bound) @ (relevance - np.eye(bound.n_positions)))[: len(bound.tokens)]


def check_layered(bound: BoundTarget) -> None:
    """Check that the model has layers of attention to follow.

    Raises:
        ModelError: its attentions do not stand on each other in layers.
    """
    if not bound.layered:
        raise ModelError(
            "This model has an LSTM below a single attention, so there are no layers to follow: choose another method."
        )


def _means(bound: BoundTarget) -> list[tuple[AttentionSite, Matrix]]:
    attentions = zip(bound.sites, recorded(bound), strict=True)
    return [(site, as_array(attention.heads.mean(dim=0))) for site, attention in attentions]


def readout_weights(bound: BoundTarget) -> Relevance:
    """Weigh the positions from which the output is read; 0 elsewhere."""
    relevance = np.zeros(bound.n_positions)
    for position, weight in bound.readout.items():
        relevance[position] = weight
    return relevance


def _has_readout(bound: BoundTarget, site: AttentionSite) -> bool:
    inside = range(site.queries.start, site.queries.stop)
    return any(position in inside for position in bound.readout) and site.keys.start < len(bound.tokens)


def _seen(bound: BoundTarget, pairs: list[tuple[AttentionSite, Matrix]]) -> np.ndarray:
    """Average over some attentions the rows from which the output is read."""
    readout, total, weight = readout_weights(bound), np.zeros(bound.n_positions), 0.0
    for site, weights in pairs:
        total[site.keys] += readout[site.queries] @ weights
        weight += readout[site.queries].sum()
    return total[: len(bound.tokens)] / weight


# The solver counts in whole numbers: a weight of 1 is so many of them, and a flow is exact to one in as many.
UNIT = 10_000_000


def max_flow(
    steps: Sequence[tuple[slice, np.ndarray]], readout: Float[np.ndarray, " position"]
) -> Float[np.ndarray, " position"]:
    """Compute for each position at the bottom the maximum flow to it from the output's positions at the top.

    `steps` has for each layer, lowest first, the positions that it mixes and in which proportions; others are passed on.

    >>> max_flow([(slice(0, 2), np.array([[0.5, 0.5], [0.0, 1.0]]))], np.array([1.0, 0.0]))
    array([0.5, 0.5])
    """
    n_positions, rows, columns, widths = len(readout), [], [], []
    for level, (queries, mixed) in enumerate(steps):
        whole = np.eye(n_positions)
        whole[queries] = mixed
        upper, lower = np.nonzero(whole)
        rows.append((level + 1) * n_positions + upper)
        columns.append(level * n_positions + lower)
        widths.append(whole[upper, lower])
    n_nodes = (len(steps) + 1) * n_positions
    starts = np.flatnonzero(readout)
    # One source above the output's positions, each with its weight as capacity.
    rows.append(np.full(len(starts), n_nodes))
    columns.append(len(steps) * n_positions + starts)
    widths.append(readout[starts])
    capacities = np.rint(np.concatenate(widths) * UNIT).astype(np.int32)
    graph = coo_array((capacities, (np.concatenate(rows), np.concatenate(columns))), shape=(n_nodes + 1, n_nodes + 1)).tocsr()
    return np.array([maximum_flow(graph, n_nodes, position).flow_value / UNIT for position in range(n_positions)])


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
    total, weight, readout = np.zeros(bound.n_positions), 0.0, readout_weights(bound)
    for attention, site in zip(recorded(bound), bound.sites, strict=True):
        rows = readout[site.queries]
        looking = np.flatnonzero(rows)
        if not len(looking) or site.keys.start >= len(bound.tokens):
            continue
        norms = np.concatenate([as_array(parts.norm(dim=-1)) for _, parts in _parts(attention, looking.tolist())])
        total[site.keys] += rows[looking] @ (norms / np.maximum(norms.sum(axis=1, keepdims=True), 1e-12))
        weight += rows.sum()
    if not weight:
        raise ModelError("The output's positions look at no token of the text: choose another method.")
    return total[: len(bound.tokens)] / weight


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
    if stream is None:
        raise ModelError("attnviz does not know the residual connection of this model: choose another method.")
    (states,) = stream
    norms, own, mixing = [], [], []
    for rows, parts in _parts(attention):
        kept = states[rows, None]
        for step in attention.steps:
            parts = _stepped(parts, rows, step)
        if placed == "after" and attention.after is not None:
            parts, kept = (_stepped(each, rows, attention.after) for each in (parts, kept))
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


def _parts(
    attention: Attention, queries: Sequence[int] | None = None
) -> Iterator[tuple[Int[Tensor, " some"], Float[Tensor, "some key out"]]]:
    """Σ_h α_ij f(x_j) of these queries, by default of all, for some of them at a time."""
    vectors, weights = carried(attention), attention.heads
    step = max(1, SLAB // (vectors.shape[1] * vectors.shape[2]))
    places = torch.tensor(range(weights.shape[1]) if queries is None else queries, device=weights.device)
    for rows in places.split(step):
        cancellation_point()
        yield rows, torch.einsum("hqk,hko->qko", weights[:, rows], vectors)


def _stepped(parts: Float[Tensor, "query key out"], rows: Int[Tensor, " query"], step: Norm | Tensor | float) -> Tensor:
    """Apply a norm of a pass over one text, or a factor, to parts of some rows."""
    if not isinstance(step, Norm):
        return parts * step
    return _scaled(parts, step.read.reshape(-1, step.read.shape[-1])[rows], step)


def _scaled(parts: Float[Tensor, "query key out"], read: Float[Tensor, "query out"], norm: Norm) -> Tensor:
    """Apply a norm to a part of what it reads; it is linear, since its σ is that of the whole."""
    mean = read.mean(dim=-1, keepdim=True) if norm.centred else 0.0
    scale = ((read - mean).pow(2).mean(dim=-1, keepdim=True) + norm.eps).rsqrt()
    scale = scale if norm.weight is None else scale * norm.weight
    centred = parts - parts.mean(dim=-1, keepdim=True) if norm.centred else parts
    return centred * scale[:, None]
