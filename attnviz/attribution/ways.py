"""The ways of asking what matters, by name: one function each, all with one signature."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import numpy as np

from attnviz.attribution import attention, gradients, norms, removal
from attnviz.attribution.reading import Reading
from attnviz.attribution.value_zeroing import value_zeroing
from attnviz.core.errors import ModelError
from attnviz.core.shares import Shares

Ask = Callable[[Reading], np.ndarray | tuple[np.ndarray, float]]


@dataclass(frozen=True)
class Way:
    """One way of asking.

    title   as a person reads it
    slow    it takes a pass of the model for each word, layer or step
    signed  its shares can speak against the output
    paper   where it is from
    """

    name: str
    title: str
    ask: Ask
    paper: str = ""
    slow: bool = False
    signed: bool = False


_LISTED = (
    Way(
        "frozen-gradient", "gradient × input, attention held fixed", gradients.frozen_gradient, "arXiv:2306.02873", signed=True
    ),
    Way("attention", "attention, mean of all layers", attention.mean_of_layers, "arXiv:1409.0473"),
    Way("last-layer", "attention, last layer", attention.last_layer, "arXiv:1409.0473"),
    Way("received", "attention received", attention.received, "arXiv:1906.04341"),
    Way("rollout", "attention rollout", attention.rollout, "arXiv:2005.00928"),
    Way("value-norms", "attention × value norms", norms.value_norms, "arXiv:2004.10102"),
    Way("norms", "norms, with residual and LayerNorm", norms.norms_with_residual, "arXiv:2109.07152"),
    Way("gradient-attention", "gradient-weighted attention", attention.gradient_weighted, "arXiv:2103.15679"),
    Way("gradient-norm", "gradient norm", gradients.gradient_norm, "arXiv:1506.01066"),
    Way("gradient-input", "gradient × input", gradients.gradient_times_input, "arXiv:1412.6815", signed=True),
    Way("integrated-gradients", "integrated gradients", gradients.integrated_gradients, "arXiv:1703.01365", True, True),
    Way("value-zeroing", "value zeroing", value_zeroing, "arXiv:2301.12971", True),
    Way("flow", "attention flow", attention.flow, "arXiv:2005.00928", True),
    Way("leave-one-out", "leaving one word out", removal.leave_one_out, "arXiv:1612.08220", True, True),
    Way("random", "chance", removal.random_shares),
)
WAYS = {way.name: way for way in _LISTED}


def head_way(kind: str, layer: int, head: int) -> Way:
    """Make a way of one head's weights.

    >>> head_way("encoder", 3, 1).name
    'L3·H1'
    """
    ask = partial(attention.head_weights, kind=kind, layer=layer, head=head)
    return Way(f"L{layer}·H{head}", f"the head L{layer}·H{head}", ask, "arXiv:1706.03762")


def way_named(name: str) -> Way:
    """Look up a way.

    Raises:
        ModelError: there is none of that name.
    """
    if name not in WAYS:
        raise ModelError(f"{name!r} is no way of asking: choose one of {', '.join(WAYS)}.")
    return WAYS[name]


def shares(way: Way, reading: Reading) -> Shares:
    """Ask one way what each token was worth to the target.

    Raises:
        ModelError: the way does not apply to this model or this text; the message says why.
    """
    values, rest = made if isinstance(made := way.ask(reading), tuple) else (made, None)
    return Shares(way.name, reading.target, reading.tokens, values, way.signed, rest)
