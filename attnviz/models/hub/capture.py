"""Two ways to read the attention of a forward pass, and how the right one is found.

The attention function records queries and keys and is preferred. Models that do not call it are asked for their weights
instead. Which way is right is not looked up but measured: when a model is loaded, both read the same few tokens, and that
function is trusted only if it says what the model itself says.
"""

import inspect
import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol, runtime_checkable

import numpy as np
import torch
from torch import Tensor, nn

from attnviz.core.errors import TraceError, UnsupportedModelError
from attnviz.core.quantity import MaskedWeights, spread_window
from attnviz.core.query_key import QueryKeyLayer, QueryKeyWeights
from attnviz.core.trace import Kind
from attnviz.core.weights import DenseWeights, WeightStore
from attnviz.models.edit.points import with_edited_heads
from attnviz.models.edit.softmax import Softmax, editable_kinds, trace_softmaxes
from attnviz.models.hub import hf_attention as tape
from attnviz.nn.edit import edited_pass

_CROSS = re.compile(r"cross|encdec|encoder_attn|enc_attn", re.IGNORECASE)
_OUTPUTS: dict[str, Kind] = {
    "attentions": "encoder",
    "encoder_attentions": "encoder",
    "decoder_attentions": "decoder",
    "cross_attentions": "cross",
}
_ELSE = "choose a transformer that reads text, such as bert-base-uncased"
# What inputs of models that read something else than a text are called.
_SENSES = {
    "pixel": "images", "image": "images", "visual": "images", "video": "videos", "audio": "sound", "input_features": "sound",
    "input_values": "sound", "bbox": "the places of its words on a page", "action": "actions",
}  # fmt: skip
# How a model says that token ids are not enough for it: one of text and images, for example.
MODEL_FAILURES = (RuntimeError, ValueError, TypeError, KeyError, AttributeError, IndexError)


@dataclass(frozen=True, eq=False)
class AttentionStack:
    """The attention of one kind that a forward pass made; `causal` if no token looked ahead.

    attending  which layers attend, by the model's own numbers; the others mix tokens otherwise, and are masked
    """

    store: WeightStore
    causal: bool
    attending: tuple[int, ...]


Stacks = dict[Kind, AttentionStack]


@runtime_checkable
class Reader(Protocol):
    """Runs a model and reads its attention.

    kinds    the kind of each attention of an encoder-decoder, by the id of its module; None: no attention can be edited
    records  whether it reads queries and keys, not weights alone
    """

    kinds: Mapping[int, Kind] | None = None
    records: bool = False

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

    records = True

    def __init__(self, model: Any) -> None:
        self._model = model
        self._options = _quiet_options(model)
        self.kinds = attention_kinds(model)

    def ask(self, inputs: Mapping[str, Tensor], *, row: int = 0) -> tuple[Any, Stacks]:
        with torch.inference_mode(), tape.recording() as recorded:
            outputs = self._model(**inputs, **self._options)
        calls: dict[Kind, list[tape.Call]] = {}
        kinds = self.kinds or {}
        for call in recorded.calls:
            calls.setdefault(kinds.get(id(call.module), "encoder"), []).append(call)
        return outputs, {kind: self._stack(kind, recorded.layers(some, row=row), some) for kind, some in calls.items()}

    def _stack(self, kind: Kind, layers: tuple[QueryKeyLayer, ...], calls: Sequence[tape.Call]) -> AttentionStack:
        causal = kind != "cross" and all(
            layer.causal or (layer.visible is not None and not np.triu(layer.visible, k=1).any()) for layer in layers
        )
        numbers = layer_numbers([call.module for call in calls])
        n_layers = numbers[-1] + 1 if self.kinds else max(self._n_layers(), numbers[-1] + 1)
        if n_layers > len(layers):
            # What mixes tokens without attention, such as a convolution, keeps its number: nothing is visible in it.
            empty = _unseen(layers[0])
            layers = tuple(layers[numbers.index(place)] if place in numbers else empty for place in range(n_layers))
        now = edited_pass.running()
        # What has no kind of its own is edited as the stack that it is.
        layers = with_edited_heads(now.stack if now and not self.kinds else kind, layers)
        return AttentionStack(QueryKeyWeights(layers), causal, numbers)

    def _n_layers(self) -> int:
        """Count the layers, those above the last attention too. A model may have been cut behind its configuration."""
        n_layers = getattr(self._model.config.get_text_config(), "num_hidden_layers", None)
        there = any(isinstance(each, nn.ModuleList) and len(each) == n_layers for each in self._model.modules())
        return n_layers if there and n_layers else 0


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
                arrays, window = spread_window(arrays, inputs["input_ids"].shape[1]) if kind == "encoder" else (arrays, None)
                causal = kind != "cross" and not any(np.triu(layer, k=1).any() for layer in arrays)
                store = DenseWeights(tuple(arrays)) if window is None else MaskedWeights(tuple(arrays), (window,) * len(arrays))
                stacks[kind] = AttentionStack(store, causal, tuple(range(len(arrays))))
        return outputs, stacks

    def edit_at(self, kinds: Mapping[int, Kind] | None) -> "EagerReader":
        """Let edits act, where the softmax of each attention is known."""
        self.kinds = kinds
        return self


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
    softmaxes = trace_softmaxes(model, lambda: model(**inputs, **_quiet_options(model)))
    if model._can_set_attn_implementation():
        model.set_attn_implementation(tape.NAME)
        recording = AttentionFunctionReader(model)
        got = _attempt(recording, inputs)
        if _is_true(got, want, softmaxes):
            return recording
        model.set_attn_implementation("eager")
    if not want.stacks:
        raise _unsupported(model, [each.failure for each in (want, got) if each.failure is not None])
    return eager.edit_at(
        editable_kinds(attention_kinds(model), softmaxes, {kind: stack.store for kind, stack in want.stacks.items()})
    )


def _attempt(reader: Reader, inputs: Mapping[str, Tensor]) -> Attempt:
    """What a reader reads; nothing where the model cannot be read in this way."""
    try:
        return Attempt(*reader.read(inputs))
    except (UnsupportedModelError, TraceError, *MODEL_FAILURES) as failure:
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


def layer_numbers(modules: Sequence[Any]) -> tuple[int, ...]:
    """Number the attentions of a stack as the model numbers its layers; where it does not, one after the other."""
    own = [number for module in modules if isinstance(number := getattr(module, "layer_idx", None), int)]
    return tuple(own) if len(own) == len(modules) and own == sorted(set(own)) else tuple(range(len(modules)))


def _unseen(layer: QueryKeyLayer) -> QueryKeyLayer:
    """A layer of as many heads and tokens in which nothing can be seen."""
    n_heads, (n_queries, n_keys) = layer.query.shape[0], layer.shape
    nothing = np.zeros((n_queries, n_keys), bool)
    sink = None if layer.sink is None else np.zeros(n_heads, np.float32)
    query, key = np.zeros((n_heads, n_queries, 1), np.float32), np.zeros((1, n_keys, 1), np.float32)
    return QueryKeyLayer(query, key, scaling=1.0, visible=nothing, sink=sink)


def _quiet_options(model: nn.Module) -> dict[str, Any]:
    """What keeps a forward pass from remembering keys for a next one."""
    return {"use_cache": False} if takes(model, "use_cache") else {}


def takes(model: nn.Module, name: str) -> bool:
    """Whether a forward pass takes an input of that name; some hand on whatever they are given."""
    known = inspect.signature(model.forward).parameters
    return name in known or "input_ids" not in known


def attention_kinds(model: Any) -> dict[int, Kind]:
    """The kind of attention of each module of an encoder-decoder, told by its place and name."""
    if not model.config.is_encoder_decoder:
        return {}
    inside = {id(module) for module in model.get_encoder().modules()}
    return {
        id(module): "encoder" if id(module) in inside else "cross" if _CROSS.search(name) else "decoder"
        for name, module in model.named_modules()
    }


def _unsupported(model: Any, failures: Sequence[Exception]) -> UnsupportedModelError:
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
    return UnsupportedModelError(f"This {name} model cannot read a short text ({reason}); {_ELSE}.")


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
