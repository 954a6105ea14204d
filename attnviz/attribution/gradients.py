"""Methods that read the gradient of the score by the tokens' vectors."""

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

from attnviz.attribution.recorded_pass import Frozen, as_array, curved
from attnviz.core.errors import ModelError, cancellation_point
from attnviz.models.targets import BoundTarget

# Points at which integrated gradients evaluate the gradient, and how many of them go through the model at once.
STEPS, BATCH = 20, 5


def gradient_norm(bound: BoundTarget) -> np.ndarray:
    """‖∂score/∂e_t‖₂: how much the score could move at all (Li et al. 2016, arXiv:1506.01066)."""
    (norms,) = _gradient(bound, bound.embedded()[None]).norm(dim=-1)
    return as_array(norms)


def gradient_times_input(bound: BoundTarget) -> np.ndarray:
    """∂score/∂e_t · e_t: a first-order estimate of what the token gives (Denil et al. 2014, arXiv:1412.6815)."""
    vectors = bound.embedded()[None]
    (shares,) = (_gradient(bound, vectors) * vectors).sum(dim=-1)
    return as_array(shares)


def integrated_gradients(bound: BoundTarget, steps: int = STEPS) -> np.ndarray:
    """(e_t − b_t) · ∫₀¹ ∂score/∂e_t(b + α(e − b)) dα (Sundararajan et al. 2017, arXiv:1703.01365); b is the stand-in's vector.

    Shares sum to the score less that of the text with every word masked.
    """
    vectors = bound.embedded()
    start = vectors.clone()
    taken = [place for place in range(len(vectors)) if not bound.tokens[place].special]
    start[taken] = bound.embedding[bound.baseline_id].detach()
    # Gauss and Legendre's points: of as many steps, the sum that is nearest to the integral of what is smooth.
    points, weights = np.polynomial.legendre.leggauss(steps)
    total = torch.zeros_like(vectors)
    for first in range(0, steps, BATCH):
        cancellation_point()
        some = slice(first, first + BATCH)
        alpha, weight = (
            torch.tensor(each[some], dtype=vectors.dtype, device=vectors.device)[:, None, None]
            for each in ((points + 1) / 2, weights / 2)
        )
        total += (_gradient(bound, start + alpha * (vectors - start)) * weight).sum(dim=0)
    return as_array(((vectors - start) * total).sum(dim=-1))


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
