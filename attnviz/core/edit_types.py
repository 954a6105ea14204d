"""What can be changed in a model's attention while it reads a text, one edit at a time.

An edit acts on the weights of one head, or on one column of them, where the model computes them, after its softmax.
"""

import math
from dataclasses import dataclass
from typing import Literal, get_args

from attnviz.core.arrays import KINDS, Kind
from attnviz.core.errors import EditError, described, is_unicode

HeadValue = Literal["zero", "mean", "uniform"]
HEAD_VALUES: tuple[HeadValue, ...] = get_args(HeadValue)
LARGEST_NUMBER = 99_999


@dataclass(frozen=True)
class HeadSet:
    """Set all of a head's output to something that says nothing about this text.

    zero     the head adds nothing: the same as its columns of W_O at zero; its weights are shown as 0
    mean     every row is the mean of the rows of this text, so that the output is the mean of the head's outputs over its
             tokens (mean ablation). Padding is not counted; where attention is causal, and in a decoder that writes, the
             mean is that of the row and those before it; a key that a row may not see gets nothing
    uniform  every row gives the same weight to each key that it may see
    """

    kind: Kind
    layer: int
    head: int
    to: HeadValue = "zero"


@dataclass(frozen=True)
class HeadPatched:
    """Take a head's rows over from the same model reading another text of the same length.

    A decoder that writes takes over row after row, as long as the other text's output has one.
    """

    kind: Kind
    layer: int
    head: int
    text: str


@dataclass(frozen=True)
class LinkCut:
    """Let a query look at all but one key: as if -inf were added to that score before the softmax."""

    kind: Kind
    layer: int
    head: int
    query: int
    key: int


@dataclass(frozen=True)
class WordHidden:
    """Let nobody look at a key: every head of a layer, or of all layers where `layer` is None, has the link to it cut."""

    kind: Kind
    key: int
    layer: int | None = None


@dataclass(frozen=True)
class WeightSet:
    """Set one weight, 0 to 1; the rest of its row keeps its proportions and shares what is left."""

    kind: Kind
    layer: int
    head: int
    query: int
    key: int
    weight: float


Edit = HeadSet | HeadPatched | LinkCut | WordHidden | WeightSet
EDITS: tuple[type[Edit], ...] = get_args(Edit)


def check(edit: Edit) -> None:
    """Check that an edit can be, of some model over some text.

    Raises:
        EditError: it cannot; the message says why.
    """
    if not isinstance(edit, EDITS):
        raise EditError(f"An edit is one of {', '.join(kind.__name__ for kind in EDITS)}, not {described(edit)}.")
    if edit.kind not in KINDS:
        raise EditError(f"The attention that is edited is of kind {', '.join(KINDS)}, not {described(edit.kind)}.")
    for name in ("layer", "head", "query", "key"):
        value = getattr(edit, name, 0)
        if value is None and isinstance(edit, WordHidden):
            continue
        if type(value) is not int or not 0 <= value <= LARGEST_NUMBER:
            raise EditError(f"The {name} of an edit is a whole number from 0 on, not {described(value)}.")
    if isinstance(edit, HeadSet) and edit.to not in HEAD_VALUES:
        raise EditError(f"A head is set to {', '.join(HEAD_VALUES)}, not to {described(edit.to)}.")
    if isinstance(edit, HeadPatched) and not (is_unicode(edit.text) and edit.text.strip() and "\x00" not in edit.text):
        raise EditError(f"A head is patched from a text that can be read, not from {described(edit.text)}.")
    if isinstance(edit, WeightSet):
        weight = edit.weight
        if type(weight) not in (int, float) or not (math.isfinite(weight) and 0 <= weight <= 1):
            raise EditError(f"A weight is a number from 0 to 1, not {described(weight)}.")
        object.__setattr__(edit, "weight", abs(float(weight)))  # 1 is 1.0, and -0.0 is 0.0: they are written alike
