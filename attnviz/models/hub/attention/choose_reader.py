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
from attnviz.core.row_sums import rounding_of
from attnviz.models.edit.find_softmax import Softmax, editable_kinds, trace_softmaxes
from attnviz.models.hub.attention import hf_attention
from attnviz.models.hub.attention.attention_readers import (
    AttentionFunctionReader,
    AttentionStack,
    EagerReader,
    Reader,
    Stacks,
    attention_kinds,
    quiet_options,
)
from attnviz.models.hub.attention.unsupported import unsupported

# How a model says that token ids are not enough for it: one of text and images, for example.
_MODEL_FAILURES = (RuntimeError, ValueError, TypeError, KeyError, AttributeError, IndexError)
# What one layer rounds in few bits, in units of one rounding: products, softmax, norms and sums one after the other. Errors of
# several layers add up as steps of a random walk do, and no more than that share of a row may go elsewhere.
LAYER_ROUNDINGS, MANY_LAYERS, MOST_DISTANCE = 8, 32, 0.15


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
        if _is_true(got, want, softmaxes, model.dtype):
            return recording
        model.set_attn_implementation("eager")
    if not want.stacks:
        raise unsupported(model, [each.failure for each in (want, got) if each.failure is not None])
    stores = {kind: stack.store for kind, stack in want.stacks.items()}
    return eager.edit_at(editable_kinds(attention_kinds(model), softmaxes, stores, model.dtype))


def are_weights_of(model: Any, inputs: Mapping[str, Tensor], stacks: Stacks) -> bool:
    """Whether a model under "eager" gives these weights when asked; also where it gives none that can be read."""
    return _same_stacks(stacks, _attempt(EagerReader(model), inputs).stacks, model.dtype)


def _attempt(reader: Reader, inputs: Mapping[str, Tensor]) -> Attempt:
    """What a reader reads; nothing where the model cannot be read in this way."""
    try:
        return Attempt(*reader.read(inputs))
    except (UnsupportedModelError, TraceError, *_MODEL_FAILURES) as failure:
        return Attempt(failure=failure)


def _is_true(got: Attempt, want: Attempt, softmaxes: Sequence[Softmax], dtype: torch.dtype) -> bool:
    """Whether what was recorded is what the model gives when asked; of one that gives nothing, what its softmaxes gave."""
    if not got.stacks or got.output is None or not (want.output is None or same_states(want.output, got.output)):
        return False
    if want.stacks:
        return _same_stacks(got.stacks, want.stacks, dtype)
    made = [each.weights[0].float().cpu().numpy() for each in softmaxes]
    return all(
        any(near(stack.store.layer(layer), each, layer, dtype) for each in made)
        for stack in got.stacks.values()
        for layer in stack.attending
    )


def same_states(one: Tensor, other: Tensor) -> bool:
    """Whether two computations of the same states differ by rounding alone.

    In fewer bits than float32, what each layer rounds adds up: there the mean distance of a token's states counts, as a share
    of their length.
    """
    if not (rounding := rounding_of(other.dtype)):
        return torch.allclose(one.float(), other.float(), atol=1e-3, rtol=1e-3)
    one, other = one.float(), other.float()
    distance = (one - other).norm(dim=-1) / other.norm(dim=-1).clamp(min=torch.finfo(torch.float32).tiny)
    return bool(distance.mean() <= min(MOST_DISTANCE, LAYER_ROUNDINGS * MANY_LAYERS**0.5 * rounding))


def _same_stacks(got: Stacks, want: Stacks, dtype: torch.dtype) -> bool:
    """Whether two readings of the same tokens, by a model of that type, differ by rounding alone."""
    return all(kind in got and _same(got[kind], want[kind], dtype) for kind in want)


def _same(got: AttentionStack, want: AttentionStack, dtype: torch.dtype) -> bool:
    if len(got.attending) != len(want.attending):
        return False
    pairs = zip(got.attending, want.attending, strict=True)
    return all(near(got.store.layer(one), want.store.layer(other), one, dtype) for one, other in pairs)


def near(got: np.ndarray, want: np.ndarray, layer: int, dtype: torch.dtype) -> bool:
    """Whether weights are the same; a sink, which is the last column, need not be among those that the model gives.

    In fewer bits than float32, scores are off by their size times the rounding, and the layers below add theirs: of single
    weights nothing can be said, and the mean over rows of what they give to other keys counts. What is wrong moves far more.
    """
    if got.shape[:2] != want.shape[:2]:
        return False
    got, want = got[..., : want.shape[2]], want[..., : got.shape[2]]
    if not (rounding := rounding_of(dtype)):
        return np.allclose(got, want, atol=1e-2)
    moved = np.abs(got - want).sum(axis=-1).mean() / 2
    return bool(moved <= min(MOST_DISTANCE, LAYER_ROUNDINGS * (layer + 1) ** 0.5 * rounding))
