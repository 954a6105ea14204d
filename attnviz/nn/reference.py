"""Attention in plain NumPy, written as the papers print it: what the torch modules are compared with.

It shares no code with them: a mask chooses which terms are summed here, and fills in -inf there. `parameters` maps the names of
a torch module's `state_dict` to arrays. Speed is no concern.
"""

from collections.abc import Mapping

import numpy as np
from jaxtyping import Bool, Float

Parameters = Mapping[str, Float[np.ndarray, "..."]]


def softmax(
    scores: Float[np.ndarray, "*batch query key"], visible: Bool[np.ndarray, "*#batch #query key"] | None = None
) -> Float[np.ndarray, "*batch query key"]:
    """exp(e_ij) / Σ_k exp(e_ik) over the visible keys k; a row that sees none is all zeros.

    >>> softmax(np.array([[1000.0, 1000.0, 0.0]]))
    array([[0.5, 0.5, 0. ]])
    """
    seen = np.broadcast_to(True if visible is None else visible, scores.shape)
    # Dividing both sides by exp(highest) changes nothing but the range: no exponent is above 0, so nothing overflows.
    highest = np.max(scores, axis=-1, keepdims=True, where=seen, initial=-np.inf)
    # Only what is seen is subtracted and exponentiated at all. What is not seen stays the 0 it started as.
    exponent = np.subtract(scores, highest, where=seen, out=np.zeros_like(scores))
    energy = np.exp(exponent, where=seen, out=np.zeros_like(scores))
    total = energy.sum(axis=-1, keepdims=True)
    return np.divide(energy, total, where=total > 0, out=np.zeros_like(scores))


def attend(
    query: Float[np.ndarray, "*batch query dim"],
    key: Float[np.ndarray, "*batch key dim"],
    value: Float[np.ndarray, "*batch key value_dim"],
    *,
    visible: Bool[np.ndarray, "*#batch #query key"] | None = None,
    scaling: float | None = None,
) -> tuple[Float[np.ndarray, "*batch query value_dim"], Float[np.ndarray, "*batch query key"]]:
    """softmax(Q Kᵀ / √d) V, Vaswani et al. 2017, equation 1; `scaling` replaces 1/√d.

    >>> attend(np.ones((1, 2)), np.ones((2, 2)), np.array([[1.0], [3.0]]))[0]
    array([[2.]])
    """
    scores = np.einsum("...qd,...kd->...qk", query, key)
    weights = softmax(scores / np.sqrt(query.shape[-1]) if scaling is None else scores * scaling, visible)
    return np.einsum("...qk,...kd->...qd", weights, value), weights


def linear(
    states: Float[np.ndarray, "*batch dim"], parameters: Parameters, name: str, rows: slice = slice(None)
) -> Float[np.ndarray, "*batch out"]:
    """x Wᵀ + b: the layer of that name, or some of its outputs.

    >>> linear(np.array([2.0]), {"query.weight": np.array([[3.0]]), "query.bias": np.array([1.0])}, "query")
    array([7.])
    """
    product = states @ parameters[f"{name}.weight"][rows].T
    return product + parameters[f"{name}.bias"][rows] if f"{name}.bias" in parameters else product
