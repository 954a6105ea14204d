"""Methods that read the gradient of the score by the tokens' vectors."""

from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

from attnviz.attribution.recorded_pass import Frozen, as_array, curved
from attnviz.core.errors import ModelError, cancellation_point
from attnviz.models.targets import BoundTarget

# Integrated gradients: points of one stretch of the path, the stretches at first, and the most after which they give up.
POINTS, STRETCHES, MOST_STRETCHES = 5, 4, 16
# What their sum may miss, a part of the largest share: "within 5%", Sundararajan et al. 2017, section 5.
MISS = 0.05


def gradient_norm(bound: BoundTarget) -> np.ndarray:
    """‖∂score/∂e_t‖₂: how much the score could move at all (Li et al. 2016, arXiv:1506.01066)."""
    (norms,) = _gradient(bound, bound.embedded()[None]).norm(dim=-1)
    return as_array(norms)


def gradient_times_input(bound: BoundTarget) -> np.ndarray:
    """∂score/∂e_t · e_t: a first-order estimate of what the token gives (Denil et al. 2014, arXiv:1412.6815)."""
    vectors = bound.embedded()[None]
    (shares,) = (_gradient(bound, vectors) * vectors).sum(dim=-1)
    return as_array(shares)


def integrated_gradients(bound: BoundTarget) -> np.ndarray:
    """(e_t − b_t) · ∫₀¹ ∂score/∂e_t(b + α(e − b)) dα (Sundararajan et al. 2017, arXiv:1703.01365); b is the stand-in's vector.

    Shares sum to the score less that of the text with every word masked, and over each stretch of the path to what the score
    gains there: the stretch that misses most is halved until all together miss little, beyond what the model's type rounds.

    Raises:
        ModelError: they still miss too much.
    """
    vectors = bound.embedded()
    start = vectors.clone()
    taken = [place for place in range(len(vectors)) if not bound.tokens[place].special]
    start[taken] = bound.embedding[bound.baseline_id].detach()
    way = vectors - start
    # Gauss and Legendre's points: of as many, the sum that is nearest to the integral of what is smooth.
    points, weights = np.polynomial.legendre.leggauss(POINTS)

    def along(alpha: np.ndarray) -> Float[Tensor, "batch token dim"]:
        return start + torch.tensor(alpha, dtype=way.dtype, device=way.device)[:, None, None] * way

    def score(*alpha: float) -> list[float]:
        with torch.no_grad():
            return bound.outcome_of(along(np.array(alpha))).score.tolist()

    def stretch(low: float, high: float, first: float, last: float) -> _Stretch:
        cancellation_point()
        half = (high - low) / 2
        slopes = (_gradient(bound, along(low + half * (points + 1))) * way).sum(dim=-1)
        shares = half * weights @ as_array(slopes)
        return _Stretch(abs(last - first - float(shares.sum())), low, high, first, last, shares)

    edges = np.linspace(0, 1, STRETCHES + 1).tolist()
    scores = score(*edges)
    stretches = [stretch(*each) for each in zip(edges, edges[1:], scores, scores[1:], strict=False)]
    rounding = 8 * torch.finfo(way.dtype).eps * max(map(abs, scores))
    while True:
        shares = np.sum([each.shares for each in stretches], axis=0)
        if sum(each.miss for each in stretches) <= MISS * np.abs(shares).max() + rounding * len(stretches):
            return shares
        if len(stretches) >= MOST_STRETCHES:
            raise ModelError(
                "Integrated gradients do not add up here, for the score changes too abruptly between the masked text and this "
                "one: choose another method."
            )
        worst = max(stretches, key=lambda each: each.miss)
        stretches.remove(worst)
        middle = (worst.low + worst.high) / 2
        (between,) = score(middle)
        stretches += [
            stretch(worst.low, middle, worst.first, between),
            stretch(middle, worst.high, between, worst.last),
        ]


@dataclass(frozen=True, eq=False)
class _Stretch:
    """A part of the path: by how much its shares miss what the score gains on it, from `first` to `last`."""

    miss: float
    low: float
    high: float
    first: float
    last: float
    shares: Float[np.ndarray, " token"]


def frozen_gradient(bound: BoundTarget) -> tuple[np.ndarray, float]:
    """∂score/∂e_t · e_t where attention weights, LayerNorm's σ and activation ratios are constants; and what biases give.

    The model is linear in its embeddings then, so shares and rest sum to the score: DecompX without its bias (Modarressi et al.
    2023, arXiv:2306.02873).

    Raises:
        ModelError: the model is not linear even so.
    """
    if bound.unfreezable:
        raise ModelError(bound.unfreezable)
    vectors = bound.embedded()[None].requires_grad_()
    with torch.enable_grad(), Frozen():
        score = bound.outcome_of(vectors).score.sum()
    if name := curved(score):
        raise ModelError(f"This model computes with an operation that cannot be held fixed ({name}): choose another method.")
    (gradient,) = torch.autograd.grad(score, vectors)
    (shares,) = (gradient * vectors).detach().double().sum(dim=-1)
    return shares.cpu().numpy(), float(score.detach().double() - shares.sum())


def _gradient(bound: BoundTarget, vectors: Float[Tensor, "batch token dim"]) -> Float[Tensor, "batch token dim"]:
    with torch.enable_grad():
        moved = vectors.detach().clone().requires_grad_()
        (gradient,) = torch.autograd.grad(bound.outcome_of(moved).score.sum(), moved)
    return gradient
