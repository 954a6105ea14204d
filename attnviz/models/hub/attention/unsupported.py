"""Why the attention of a model cannot be read, in one sentence: what it needs beside a text, or what went wrong."""

import inspect
from collections.abc import Collection, Sequence
from typing import Any

from attnviz.core.errors import TraceError, UnsupportedModelError

_ELSE = "choose a transformer that reads text, such as bert-base-uncased"
# What inputs of models that read something else than a text are called.
_SENSES = {
    "pixel": "images", "image": "images", "visual": "images", "video": "videos", "audio": "sound", "input_features": "sound",
    "input_values": "sound", "bbox": "the places of its words on a page", "action": "actions",
}  # fmt: skip


def unsupported(model: Any, failures: Sequence[Exception]) -> UnsupportedModelError:
    """Say why a model cannot be read; `failures` are what was raised when it was tried, none where it gave no attention."""
    name = model.config.model_type
    for failure in failures:
        if isinstance(failure, UnsupportedModelError):
            return failure
        if isinstance(failure, TraceError):
            return UnsupportedModelError(f"What {name} models give as their attention cannot be shown ({failure}); {_ELSE}.")
    if not failures:
        if sense := _sense_of(inspect.signature(model.forward).parameters):
            return UnsupportedModelError(f"{name} models give no attention of a text alone: they read {sense}, too; {_ELSE}.")
        return UnsupportedModelError(f"{name} models have no attention that can be shown; {_ELSE}.")
    reason = " ".join(str(failures[0]).split()).rstrip(".")[:160] or type(failures[0]).__name__
    if sense := _sense(model, reason):
        return UnsupportedModelError(f"{name} models cannot read a text alone, but with {sense} beside it; {_ELSE}.")
    if "scalar type" in reason and len(types := _types(model)) > 1:
        # transformers converts some tensors of a checkpoint and not others, such as XLNet's.
        return UnsupportedModelError(
            f"This {name} model has weights in {' and '.join(types)}, with which it cannot compute ({reason}): convert it by "
            f"model.to(torch.{types[0]}), and wrap it then."
        )
    return UnsupportedModelError(f"This {name} model cannot read a short text ({reason}); {_ELSE}.")


def _types(model: Any) -> list[str]:
    """List the types of a model's weights, that of its config first."""
    known = {str(tensor.dtype).removeprefix("torch.") for tensor in model.parameters() if tensor.is_floating_point()}
    first = str(model.config.dtype).removeprefix("torch.")
    return sorted(known, key=lambda each: (each != first, each))


def _sense(model: Any, reason: str) -> str:
    """What a model misses beside a text, by what it says; empty where it misses nothing else."""
    said = _sense_of([reason])
    if said or "NoneType" not in reason:
        return said
    # Some do not say what they miss, and look into what is not there.
    return _sense_of(inspect.signature(model.forward).parameters)


def _sense_of(texts: Collection[str]) -> str:
    """Name the first sense of which one of these texts speaks; empty: none does."""
    return next((sense for part, sense in _SENSES.items() if any(part in text for text in texts)), "")
