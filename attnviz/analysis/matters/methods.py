"""The ways of asking which words matter, by name: what a person reads about each."""

import re
from dataclasses import dataclass

from attnviz.core.errors import ModelError


@dataclass(frozen=True)
class Method:
    """One way of asking.

    title   as a person reads it
    paper   where it is from
    slow    it takes a pass of the model for each word, layer or step
    signed  its shares can speak against the output
    """

    name: str
    title: str
    paper: str = ""
    slow: bool = False
    signed: bool = False


_LISTED = (
    Method("frozen-gradient", "Gradient × input, attention held fixed", "arXiv:2306.02873", signed=True),
    Method("attention", "Attention, mean of all layers", "arXiv:1409.0473"),
    Method("last-layer", "Attention, last layer", "arXiv:1409.0473"),
    Method("received", "Attention received", "arXiv:1906.04341"),
    Method("rollout", "Attention rollout", "arXiv:2005.00928"),
    Method("value-norms", "Attention × value norms", "arXiv:2004.10102"),
    Method("norms", "Norms, with residual and LayerNorm", "arXiv:2109.07152"),
    Method("gradient-attention", "Gradient-weighted attention", "arXiv:2103.15679"),
    Method("gradient-norm", "Gradient norm", "arXiv:1506.01066"),
    Method("gradient-input", "Gradient × input", "arXiv:1412.6815", signed=True),
    Method("integrated-gradients", "Integrated gradients", "arXiv:1703.01365", slow=True, signed=True),
    Method("value-zeroing", "Value zeroing", "arXiv:2301.12971", slow=True),
    Method("flow", "Attention flow", "arXiv:2005.00928", slow=True),
    Method("leave-one-out", "Leaving one word out", "arXiv:1612.08220", slow=True, signed=True),
    Method("random", "Chance"),
)
METHODS = {way.name: way for way in _LISTED}


@dataclass(frozen=True)
class HeadMethod(Method):
    """The weights of one head, seen from where the output is read."""

    kind: str = ""
    layer: int = 0
    head: int = 0


_HEAD = re.compile(r"head:(encoder|decoder|cross):(\d{1,4}):(\d{1,4})")


def method_named(name: str) -> Method:
    """Look up a way; "head:cross:2:1" is a head.

    Raises:
        ModelError: there is none of that name.

    >>> method_named("rollout").title
    'Attention rollout'
    >>> method_named("head:cross:2:1").title
    'L2·H1, the head you came from'
    """
    if match := _HEAD.fullmatch(name):
        kind, layer, head = match[1], int(match[2]), int(match[3])
        return HeadMethod(name, f"L{layer}·H{head}, the head you came from", kind=kind, layer=layer, head=head)
    if name not in METHODS:
        raise ModelError(f"{name!r} is no way of asking: choose one of {', '.join(METHODS)}.")
    return METHODS[name]
