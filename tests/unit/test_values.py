"""Values stay as they are made: frozen, and equal by what they hold, or by identity where that is arrays."""

import importlib
from collections.abc import Iterator
from dataclasses import fields, is_dataclass
from pathlib import Path
from typing import Any, get_args, get_type_hints

import numpy as np
import torch
from jaxtyping import AbstractArray

import attnviz

LAYERS = ("analysis", "attribution", "core", "figures", "models", "nn", "survey", "text")
# What is filled or counted while a model runs.
MUTABLE = {
    "Attention", "AttentionTape", "Contexts", "Embedded", "HeadEdits", "Intervention", "Streams", "Tape", "_Alone", "_Biases",
    "_Ended", "_Gradients", "_Inputs", "_Layer", "_Leaves", "_Patch", "_Started",
}  # fmt: skip


def classes() -> Iterator[type]:
    """All classes of what has no browser and no shell."""
    package = Path(attnviz.__file__).parent
    for path in sorted(path for layer in LAYERS for path in (package / layer).rglob("*.py") if path.stem != "__init__"):
        module = importlib.import_module(".".join(path.relative_to(package.parent).with_suffix("").parts))
        yield from (each for each in vars(module).values() if isinstance(each, type) and each.__module__ == module.__name__)


def values() -> Iterator[type]:
    return filter(is_dataclass, classes())


def compares_by_identity(hint: Any) -> bool:
    """Whether a type says that not all of it can be compared: an array, a module, what is known by its methods alone."""
    if get_args(hint):
        return any(map(compares_by_identity, get_args(hint)))
    if is_dataclass(hint):
        return hint.__eq__ is object.__eq__
    arrays = (AbstractArray, np.ndarray, torch.Tensor, torch.nn.Module)
    return getattr(hint, "_is_protocol", False) or (isinstance(hint, type) and issubclass(hint, arrays))


def test_a_class_that_names_its_fields_is_a_dataclass() -> None:
    plain = (each for each in classes() if not is_dataclass(each) and not issubclass(each, tuple | torch.nn.Module))
    named = (each for each in plain if vars(each).get("__annotations__") and not getattr(each, "_is_protocol", False))
    assert not [each.__name__ for each in named]


def test_values_are_frozen() -> None:
    mutable = [each for each in values() if not each.__dataclass_params__.frozen]
    assert {each.__name__ for each in mutable} == MUTABLE
    assert {each.__eq__ for each in mutable} == {object.__eq__}


def test_values_that_hold_arrays_compare_by_identity_and_others_by_what_they_hold() -> None:
    wrong = []
    for value in (each for each in values() if each.__name__ not in MUTABLE):
        hints = get_type_hints(value)
        holds = any(compares_by_identity(hints[each.name]) for each in fields(value))
        wrong += [value] * ((value.__eq__ is object.__eq__) != holds)
    assert [each.__name__ for each in wrong] == []
