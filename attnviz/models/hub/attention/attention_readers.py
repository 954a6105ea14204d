"""Two readers of the attention of a forward pass: one records queries and keys, one asks a model for its weights."""

import inspect
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

import numpy as np
import torch
from torch import Tensor, nn

from attnviz.core.quantity import MaskedWeights, spread_window
from attnviz.core.query_key import QueryKeyLayer, QueryKeyWeights
from attnviz.core.row_sums import renormalize, rounding_of
from attnviz.core.trace import Kind
from attnviz.core.weights import DenseWeights, WeightStore
from attnviz.models.edit.edit_points import with_edited_heads
from attnviz.models.hub.attention import hf_attention
from attnviz.models.hub.attention.card_weights import CardLayer, CardWeights
from attnviz.nn.edit import edited_pass

_CROSS = re.compile(r"cross|encdec|encoder_attn|enc_attn", re.IGNORECASE)
_OUTPUTS: dict[str, Kind] = {
    "attentions": "encoder",
    "encoder_attentions": "encoder",
    "decoder_attentions": "decoder",
    "cross_attentions": "cross",
}


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
    """Reads queries and keys through the attention function. The model must run under `hf_attention.NAME`."""

    records = True

    def __init__(self, model: Any) -> None:
        self._model = model
        self._options = quiet_options(model)
        self.kinds = attention_kinds(model)

    def ask(self, inputs: Mapping[str, Tensor], *, row: int = 0) -> tuple[Any, Stacks]:
        with torch.inference_mode(), hf_attention.recording() as recorded:
            outputs = self._model(**inputs, **self._options)
        calls: dict[Kind, list[hf_attention.Call]] = {}
        kinds = self.kinds or {}
        for call in recorded.calls:
            calls.setdefault(kinds.get(id(call.module), "encoder"), []).append(call)
        return outputs, {kind: self._stack(kind, recorded.layers(some, row=row), some) for kind, some in calls.items()}

    def _stack(
        self, kind: Kind, layers: tuple[QueryKeyLayer, ...] | tuple[CardLayer, ...], calls: Sequence[hf_attention.Call]
    ) -> AttentionStack:
        causal = kind != "cross" and all(
            layer.causal or (layer.visible is not None and not np.triu(layer.visible, k=1).any()) for layer in layers
        )
        numbers = layer_numbers([call.module for call in calls])
        n_layers = numbers[-1] + 1 if self.kinds else max(self._n_layers(), numbers[-1] + 1)
        now = edited_pass.running()
        on_card = [layer for layer in layers if isinstance(layer, CardLayer)]
        if on_card and now is None and n_layers == len(layers):
            return AttentionStack(CardWeights(on_card), causal, numbers)
        layers = tuple(layer.converted if isinstance(layer, CardLayer) else layer for layer in layers)
        if n_layers > len(layers):
            # What mixes tokens without attention, such as a convolution, keeps its number: nothing is visible in it.
            empty = _unseen(layers[0])
            layers = tuple(layers[numbers.index(place)] if place in numbers else empty for place in range(n_layers))
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
        self._options = quiet_options(model) | {"output_attentions": True}

    def ask(self, inputs: Mapping[str, Tensor], *, row: int = 0) -> tuple[Any, Stacks]:
        with torch.inference_mode():
            outputs = self._model(**inputs, **self._options)
        stacks: Stacks = {}
        for name, layers in outputs.items():
            if (kind := _OUTPUTS.get(name)) is None:
                continue
            # Some call other things "attentions": attention has a batch, heads, queries and keys.
            fit = [layer for layer in layers or () if isinstance(layer, Tensor) and layer.ndim == 4]
            arrays = [renormalize(_row(each, row), place, rounding_of(each.dtype)) for place, each in enumerate(fit)]
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


def _row(weights: Tensor, row: int) -> np.ndarray:
    return weights[row].float().cpu().numpy()


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


def quiet_options(model: nn.Module) -> dict[str, Any]:
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
