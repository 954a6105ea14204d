"""Which toy a model is: its task, its kind and its sizes."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Literal, get_args

from attnviz.core.errors import ModelError, ModelNotFoundError, nearest
from attnviz.text.toy_tasks import TOYS, Toy

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
            raise ModelError(f"A toy task is one of {', '.join(TOYS)}, not {self.task!r}.")
        if self.kind not in TOY_KINDS:
            raise ModelError(f"A toy model is one of {', '.join(TOY_KINDS)}, not {self.kind!r}.")
        sizes = self.n_layers, self.n_heads, self.dim
        if not all(type(size) is int and 1 <= size <= most for size, most in zip(sizes, (4, 8, 256), strict=True)):
            raise ModelError(f"A toy model has at most 4 layers, 8 heads and 256 dimensions, not {sizes}.")
        if type(self.scaled) is not bool:
            raise ModelError(f"A toy model is scaled or not, and {self.scaled!r} says neither.")

    @property
    def name(self) -> str:
        return f"toy-{self.task}-{self.kind}"


# The largest number of steps, and seed, of a recipe; and of examples in a batch.
MOST, MOST_BATCH = 100_000, 1_000


@dataclass(frozen=True)
class ToyRecipe:
    """All that decides a toy model.

    masked  False: padding is read like any token, to see what breaks
    teacher_forcing  share of the decoder's steps that read the true token, of an LSTM
    """

    model: ToyConfig
    steps: int = 300
    batch: int = 64
    learning_rate: float = 5e-3
    teacher_forcing: float = 1.0
    masked: bool = True
    seed: int = 1

    @property
    def task(self) -> Toy:
        return TOYS[self.model.task]

    @staticmethod
    def of(facts: Mapping[str, Any]) -> "ToyRecipe":
        """Rebuild the recipe that `dataclasses.asdict` made these values of.

        Raises:
            ModelError: they are not such values.
        """
        try:
            recipe = ToyRecipe(ToyConfig(**facts["model"]), **{name: value for name, value in facts.items() if name != "model"})
            return _checked(recipe)
        except (KeyError, TypeError, ValueError, OverflowError) as error:
            raise ModelError("The recipe in this file is damaged: train the model again.") from error


def _checked(recipe: ToyRecipe) -> ToyRecipe:
    whole = (recipe.steps, MOST), (recipe.batch, MOST_BATCH), (recipe.seed, MOST)
    if not all(type(number) is int and 0 < number <= most for number, most in whole) or type(recipe.masked) is not bool:
        raise ValueError("sizes of a recipe are positive whole numbers")
    if not (0 <= recipe.teacher_forcing <= 1 and 0 < recipe.learning_rate <= 1):
        raise ValueError("shares and rates are between 0 and 1")
    return recipe


@dataclass(frozen=True)
class Preset:
    """A recipe by its name in a shell, its label on the page, and what to look for."""

    name: str
    label: str
    notice: str
    recipe: ToyRecipe


def sensible(task: str, kind: ToyKind, n_layers: int = 1, n_heads: int = 1) -> ToyRecipe:
    """Make a recipe that is long enough for its model to align: sizes and rates were found by trying."""
    if kind == "transformer":
        config = ToyConfig(task, kind, n_layers, n_heads)
        return ToyRecipe(config, steps=1000, learning_rate=5e-3 if n_layers == 1 else 3e-3)
    return ToyRecipe(ToyConfig(task, kind, dim=48), steps=250 if task == "dates" else 150, learning_rate=1e-2)


PRESETS = (
    Preset(
        "toy-reverse", "Reverse",
        "To write backwards the model has to look from right to left: watch the diagonal appear, and the letters become right "
        "with it.",
        sensible("reverse", "additive"),
    ),
    Preset(
        "toy-copy", "Copy",
        "The other diagonal. A dot product finds it as well as Bahdanau's small network does.",
        sensible("copy", "dot"),
    ),
    Preset(
        "toy-sort", "Sort digits",
        "No diagonal here: where the model looks depends on what it reads. Equal digits may be taken in any order.",
        sensible("sort", "additive"),
    ),
    Preset(
        "toy-dates", "Dates",
        "The year moves to the front, and a month's name becomes a number: many letters, one origin. Its dashes come from "
        "nowhere.",
        sensible("dates", "additive"),
    ),
    Preset(
        "toy-numbers", "Number words",
        "“twelve” becomes two digits, and “hundred” none: which word does each digit look at?",
        sensible("numbers", "additive"),
    ),
    Preset(
        "toy-transformer", "A Transformer",
        "One layer, one head, no recurrence: it has to count from positions alone, and takes longer to find the diagonal.",
        sensible("reverse", "transformer"),
    ),
    Preset(
        "toy-heads", "Four heads",
        "Four heads share the work. The one that aligns best is drawn: choose another in the sidebar, and compare.",
        sensible("dates", "transformer", n_heads=4),
    ),
    Preset(
        "toy-unmasked", "No padding mask",
        "The columns ∅ are padding, which this model is not kept from reading: see how much attention goes there before it "
        "learns not to look.",
        replace(sensible("reverse", "additive"), masked=False),
    ),
)  # fmt: skip


def preset(name: str) -> Preset:
    """Look up a preset by its name.

    Raises:
        ModelNotFoundError: there is none; the message has the nearest name.

    >>> preset("toy-reverse").recipe.model.task
    'reverse'
    """
    known = next((each for each in PRESETS if each.name == name), None)
    if known is None:
        names = [each.name for each in PRESETS]
        raise ModelNotFoundError(f"There is no toy {name[:60]!r}: choose {' or '.join(nearest(name, names) or names)}.")
    return known
