"""Which toy a model is: its task, its kind and its sizes."""

from dataclasses import dataclass
from typing import Literal, get_args

from attnviz.core.errors import ModelError
from attnviz.text.toy_tasks import TOYS

ToyKind = Literal["additive", "dot", "scaled", "transformer"]
TOY_KINDS: tuple[ToyKind, ...] = get_args(ToyKind)
MAX_TOKENS = 64
# What stands in a source for padding that is read like any token: the mark of what is not known.
FILLED = 3


@dataclass(frozen=True)
class ToyConfig:
    """Which task, and which model: `n_layers` and `n_heads` are those of a Transformer; all states are `dim` wide.

    scaled  a Transformer's scores are divided by √d; of an LSTM, the kind says whether they are

    Raises:
        ModelError: there is no such task or kind, or the sizes are none that a toy has.

    >>> ToyConfig("reverse", "additive").name
    'toy-reverse-additive'
    """

    task: str
    kind: ToyKind
    n_layers: int = 1
    n_heads: int = 1
    dim: int = 64
    scaled: bool = True

    def __post_init__(self) -> None:
        if self.task not in TOYS:
            raise ModelError(f"a toy task is one of {', '.join(TOYS)}, not {self.task!r}")
        if self.kind not in TOY_KINDS:
            raise ModelError(f"a toy model is one of {', '.join(TOY_KINDS)}, not {self.kind!r}")
        sizes = self.n_layers, self.n_heads, self.dim
        if not all(type(size) is int and 1 <= size <= most for size, most in zip(sizes, (4, 8, 256), strict=True)):
            raise ModelError(f"a toy model has at most 4 layers, 8 heads and 256 dimensions, not {sizes}")
        if type(self.scaled) is not bool:
            raise ModelError(f"a toy model is scaled or not, and {self.scaled!r} says neither")

    @property
    def name(self) -> str:
        return f"toy-{self.task}-{self.kind}"
