"""Trainings of toys worth watching, each with one line on what to look for, and sensible sizes for any other."""

from dataclasses import dataclass, replace

from attnviz.core.errors import ModelNotFoundError, nearest
from attnviz.models.translate.toy_config import ToyConfig, ToyKind
from attnviz.training.toy_recipe import ToyRecipe


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
