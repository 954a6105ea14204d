"""Two ways to read the attention of a forward pass, and how the right one is found.

The attention function records queries and keys and is preferred. Models that do not call it are asked for their weights
instead. Which way is right is not looked up but measured: when a model is loaded, both read the same few tokens, and that
function is trusted only if it says what the model itself says.
"""

import inspect
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

import numpy as np
import torch
from torch import Tensor, nn

from attnviz.core.errors import TraceError, UnsupportedModelError
from attnviz.core.trace import Kind
from attnviz.core.weights import DenseWeights, QueryKeyLayer, QueryKeyWeights, WeightStore
from attnviz.models.edit.points import with_edited_heads
from attnviz.models.hub import hf_attention as tape
from attnviz.nn.edit import edited_pass

_CROSS = re.compile(r"cross|encdec|encoder_attn|enc_attn", re.IGNORECASE)
_OUTPUTS: dict[str, Kind] = {
    "attentions": "encoder",
    "encoder_attentions": "encoder",
    "decoder_attentions": "decoder",
    "cross_attentions": "cross",
}
# How a model says that token ids are not enough for it: one of text and images, for example.
MODEL_FAILURES = (RuntimeError, ValueError, TypeError, KeyError, AttributeError, IndexError)


@dataclass(frozen=True, eq=False)
class AttentionStack:
    """The attention of one kind that a forward pass made; `causal` if no token looked ahead."""

    store: WeightStore
    causal: bool


Stacks = dict[Kind, AttentionStack]


@runtime_checkable
class Reader(Protocol):
    """Runs a model and reads its attention.

    kinds  the kind of each attention of an encoder-decoder, by the id of its module; None: no attention can be told and edited
    """

    kinds: Mapping[int, Kind] | None = None

    def ask(self, inputs: Mapping[str, Tensor], *, row: int = 0) -> tuple[Any, Stacks]:
        """One forward pass: the model's outputs by name, and the attention by kind in one row of the batch.

        A model of one stack has its attention under "encoder", whether it looks ahead or not.
        """
        ...

    def read(self, inputs: Mapping[str, Tensor], *, row: int = 0) -> tuple[Tensor, Stacks]:
        """The same, of the outputs the first alone."""
        outputs, stacks = self.ask(inputs, row=row)
        return outputs[0], stacks


class AttentionFunctionReader(Reader):
    """Reads queries and keys through the attention function. The model must run under `tape.NAME`."""

    def __init__(self, model: Any) -> None:
        self._model = model
        self._options = _quiet_options(model)
        self.kinds = _kinds(model)

    def ask(self, inputs: Mapping[str, Tensor], *, row: int = 0) -> tuple[Any, Stacks]:
        with torch.inference_mode(), tape.recording() as recorded:
            outputs = self._model(**inputs, **self._options)
        calls: dict[Kind, list[tape.Call]] = {}
        kinds = self.kinds or {}
        for call in recorded.calls:
            calls.setdefault(kinds.get(id(call.module), "encoder"), []).append(call)
        now = edited_pass.running()
        layers: dict[Kind, tuple[QueryKeyLayer, ...]] = {kind: recorded.layers(some, row=row) for kind, some in calls.items()}
        return outputs, {
            # What has no kind of its own is edited as the stack that it is.
            kind: _stack(with_edited_heads(now.stack if now and not self.kinds else kind, some), kind)
            for kind, some in layers.items()
        }


class EagerReader(Reader):
    """Reads the weights that a model gives when asked. The model must run under "eager"."""

    def __init__(self, model: Any) -> None:
        self._model = model
        self._options = _quiet_options(model) | {"output_attentions": True}

    def ask(self, inputs: Mapping[str, Tensor], *, row: int = 0) -> tuple[Any, Stacks]:
        with torch.inference_mode():
            outputs = self._model(**inputs, **self._options)
        stacks: Stacks = {}
        for name, layers in outputs.items():
            if (kind := _OUTPUTS.get(name)) is None:
                continue
            # Some call other things "attentions": attention has a batch, heads, queries and keys.
            fit = [layer for layer in layers or () if isinstance(layer, Tensor) and layer.ndim == 4]
            arrays = [layer[row].float().cpu().numpy() for layer in fit]
            if arrays:
                causal = kind != "cross" and not any(np.triu(layer, k=1).any() for layer in arrays)
                stacks[kind] = AttentionStack(DenseWeights(tuple(arrays)), causal)
        return outputs, stacks


def reader_for(model: Any, inputs: Mapping[str, Tensor]) -> Reader:
    """The reader that tells the truth about `model`, found by reading `inputs` in both ways. The model comes under "eager".

    Raises:
        UnsupportedModelError: neither way shows any attention.
    """
    eager = EagerReader(model)
    want_output, want = _attempt(eager, inputs)
    if model._can_set_attn_implementation():
        model.set_attn_implementation(tape.NAME)
        recording = AttentionFunctionReader(model)
        output, got = _attempt(recording, inputs)
        if got and output is not None and _agree(want_output, output) and all(_same(got, want, kind) for kind in want):
            return recording
        model.set_attn_implementation("eager")
    if not want:
        raise UnsupportedModelError(
            f"A {model.config.model_type} model has no attention that can be shown; "
            "choose a transformer, such as bert-base-uncased."
        )
    return eager


def _attempt(reader: Reader, inputs: Mapping[str, Tensor]) -> tuple[Tensor | None, Stacks]:
    """What a reader reads; nothing where the model cannot be read in this way."""
    try:
        return reader.read(inputs)
    except (UnsupportedModelError, TraceError, *MODEL_FAILURES):
        return None, {}


def _agree(want: Tensor | None, got: Tensor) -> bool:
    # Half precision rounds at 1e-3; what is wrong is wrong by far more than rounding.
    tolerance = 1e-3 if got.dtype == torch.float32 else 5e-2
    return want is None or torch.allclose(want.float(), got.float(), atol=tolerance, rtol=tolerance)


def _same(got: Stacks, want: Stacks, kind: Kind) -> bool:
    if kind not in got or got[kind].store.n_layers != want[kind].store.n_layers:
        return False
    n_keys = want[kind].store.shape[1]
    return all(
        np.allclose(got[kind].store.layer(layer)[..., :n_keys], want[kind].store.layer(layer), atol=1e-2)
        for layer in range(want[kind].store.n_layers)
    )


def _stack(layers: Sequence[Any], kind: Kind) -> AttentionStack:
    causal = kind != "cross" and all(
        layer.causal or (layer.visible is not None and not np.triu(layer.visible, k=1).any()) for layer in layers
    )
    return AttentionStack(QueryKeyWeights(tuple(layers)), causal)


def _quiet_options(model: nn.Module) -> dict[str, Any]:
    """What keeps a forward pass from remembering keys for a next one."""
    return {"use_cache": False} if "use_cache" in inspect.signature(model.forward).parameters else {}


def _kinds(model: Any) -> dict[int, Kind]:
    """The kind of attention of each module of an encoder-decoder, told by its place and name."""
    if not model.config.is_encoder_decoder:
        return {}
    inside = {id(module) for module in model.get_encoder().modules()}
    return {
        id(module): "encoder" if id(module) in inside else "cross" if _CROSS.search(name) else "decoder"
        for name, module in model.named_modules()
    }
