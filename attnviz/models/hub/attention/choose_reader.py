"""Which of the two readers is right for a model: not looked up but measured, on the same few tokens, when it is loaded.

The attention function records queries and keys and is preferred, but trusted only if it says what the model itself says.
Models that do not call it are asked for their weights instead.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import torch
from torch import Tensor

from attnviz.core.errors import TraceError, UnsupportedModelError
from attnviz.core.trace import Kind
from attnviz.models.edit.find_softmax import Softmax, editable_kinds, trace_softmaxes
from attnviz.models.hub.attention import hf_attention
from attnviz.models.hub.attention.attention_readers import (
    AttentionFunctionReader,
    EagerReader,
    Reader,
    Stacks,
    attention_kinds,
    quiet_options,
)
from attnviz.models.hub.attention.unsupported import unsupported

# How a model says that token ids are not enough for it: one of text and images, for example.
_MODEL_FAILURES = (RuntimeError, ValueError, TypeError, KeyError, AttributeError, IndexError)


@dataclass(frozen=True, eq=False)
class Attempt:
    """What a reader read, or why it could not."""

    output: Tensor | None = None
    stacks: Stacks = field(default_factory=dict)
    failure: Exception | None = None


def reader_for(model: Any, inputs: Mapping[str, Tensor]) -> Reader:
    """The reader that tells the truth about `model`, found by reading `inputs` in both ways. The model comes under "eager".

    Raises:
        UnsupportedModelError: neither way shows any attention; the message says why.
    """
    eager = EagerReader(model)
    want, got = _attempt(eager, inputs), Attempt()
    softmaxes = trace_softmaxes(model, lambda: model(**inputs, **quiet_options(model)))
    if model._can_set_attn_implementation():
        model.set_attn_implementation(hf_attention.NAME)
        recording = AttentionFunctionReader(model)
        got = _attempt(recording, inputs)
        if _is_true(got, want, softmaxes):
            return recording
        model.set_attn_implementation("eager")
    if not want.stacks:
        raise unsupported(model, [each.failure for each in (want, got) if each.failure is not None])
    return eager.edit_at(
        editable_kinds(attention_kinds(model), softmaxes, {kind: stack.store for kind, stack in want.stacks.items()})
    )


def _attempt(reader: Reader, inputs: Mapping[str, Tensor]) -> Attempt:
    """What a reader reads; nothing where the model cannot be read in this way."""
    try:
        return Attempt(*reader.read(inputs))
    except (UnsupportedModelError, TraceError, *_MODEL_FAILURES) as failure:
        return Attempt(failure=failure)


def _is_true(got: Attempt, want: Attempt, softmaxes: Sequence[Softmax]) -> bool:
    """Whether what was recorded is what the model gives when asked; of one that gives nothing, what its softmaxes gave."""
    if not got.stacks or got.output is None or not _agree(want.output, got.output):
        return False
    if want.stacks:
        return all(_same(got, want, kind) for kind in want.stacks)
    made = [each.weights[0].float().cpu().numpy() for each in softmaxes]
    shown = [stack.store.layer(layer) for stack in got.stacks.values() for layer in stack.attending]
    return all(any(_near(layer, each) for each in made) for layer in shown)


def _agree(want: Tensor | None, got: Tensor) -> bool:
    # Half precision rounds at 1e-3; what is wrong is wrong by far more than rounding.
    tolerance = 1e-3 if got.dtype == torch.float32 else 5e-2
    return want is None or torch.allclose(want.float(), got.float(), atol=tolerance, rtol=tolerance)


def _same(got: Attempt, want: Attempt, kind: Kind) -> bool:
    if kind not in got.stacks or len(got.stacks[kind].attending) != len(want.stacks[kind].attending):
        return False
    pairs = zip(got.stacks[kind].attending, want.stacks[kind].attending, strict=True)
    return all(_near(got.stacks[kind].store.layer(one), want.stacks[kind].store.layer(other)) for one, other in pairs)


def _near(got: np.ndarray, want: np.ndarray) -> bool:
    """Whether weights are the same; a sink, which is the last column, need not be among those that the model gives."""
    return got.shape[:2] == want.shape[:2] and np.allclose(got[..., : want.shape[2]], want[..., : got.shape[2]], atol=1e-2)
