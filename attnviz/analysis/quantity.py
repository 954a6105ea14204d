"""The quantities of a map in words: what a number of it is called, what a head of it, and how much a layer changes a token."""

from collections.abc import Mapping

from attnviz.analysis.wording import WEIGHT, head_name
from attnviz.core.quantity import Quantity

TITLES: dict[Quantity, str] = {"weights": "Weights", "norms": "Weights × value norms", "mixing": "Mixing with the residual"}
# What a single number is, in a sentence.
NUMBERS: dict[Quantity, str] = {"weights": WEIGHT, "norms": "norm share", "mixing": "mixing share"}


def head_title(quantity: Quantity, layer: int, head: int | None) -> str:
    """Name a head as its numbers stand; where heads are mixed, the layer.

    >>> head_title("mixing", 3, None), head_title("norms", 3, 1)
    ('Layer 3', 'L3·H1')
    """
    return f"Layer {layer}" if quantity == "mixing" else head_name(layer, head)


def describe_mixing(ratios: Mapping[tuple[str, int], float], kind: str, layer: int) -> str:
    """Say how much a layer changes a token, by its mixing ratio; empty where that is not known.

    >>> describe_mixing({("encoder", 3): 0.19}, "encoder", 3), describe_mixing({}, "encoder", 3)
    ('This layer changes a token by 19%: the rest is what the token was before.', '')
    """
    if (ratio := ratios.get((kind, layer))) is None:
        return ""
    return f"This layer changes a token by {ratio:.0%}: the rest is what the token was before."
