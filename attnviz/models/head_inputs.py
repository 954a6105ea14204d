"""What one head of a model was given: the vectors behind its weights, from the model's own forward pass over a text.

A trace keeps what its pictures need. What queries, keys and values were made of, and the states behind additive attention, are
computed again when somebody asks.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Protocol, runtime_checkable

import numpy as np
import torch
from jaxtyping import Bool, Int
from torch import Tensor

from attnviz.core.arrays import causal_triangle
from attnviz.core.head_inputs import Additive, DotProduct, Ingredients, Projected, Projections
from attnviz.core.trace import AttentionMap, AttentionTrace, Prompt
from attnviz.core.weights import QueryKeyWeights
from attnviz.models.base import AttentionModel
from attnviz.models.result import Result, run_task
from attnviz.models.translate.decode import DecodingOptions
from attnviz.models.translate.own import TranslationModel
from attnviz.nn.attention import AdditiveAttention, Attended
from attnviz.nn.decoding import START
from attnviz.nn.seq2seq import Seq2Seq


@runtime_checkable
class InspectableModel(Protocol):
    """A model that tells what its attentions read."""

    def attended(self, prompt: Prompt) -> Mapping[str, Sequence[Attended]]:
        """Return what each attention reads, by kind, lowest layer first; a kind may be missing."""
        ...


@dataclass(frozen=True, eq=False)
class InspectedTrace:
    """A trace, and the function that looks into one of its heads."""

    trace: AttentionTrace
    model: AttentionModel
    pieces: tuple[int, ...] = ()

    def head(self, kind: str, layer: int, head: int) -> Ingredients | None:
        """Return what a head's weights were computed from; None: the model gives its weights, but not what is behind them.

        Raises:
            TraceError: there is no such map, layer or head.
        """
        attention = self.trace.map(kind)
        attention.weights(layer, head)  # says so where there is none
        if isinstance(self.model, TranslationModel):
            return self._written(self.model, kind, layer, head)
        inputs = _queries_and_keys(attention, layer, head)
        if inputs is None or not (read := self._attended.get(kind)):
            return inputs
        made = _projections(read[layer], head, attention.n_heads)
        # What a model does with its projections before it compares them, as by rotary embedding, would make this untrue.
        true = _agree(made.query.vectors, inputs.query) and _agree(made.key.vectors, inputs.key)
        return replace(inputs, made=made) if true else inputs

    @cached_property
    def _attended(self) -> Mapping[str, Sequence[Attended]]:
        """Return what the attentions of a model read, by kind and layer, where it shows it."""
        return self.model.attended(self.trace.prompt) if isinstance(self.model, InspectableModel) else {}

    def _written(self, translator: TranslationModel, kind: str, layer: int, head: int) -> Ingredients:
        read, _, _ = translator.read(self.trace.prompt.text)
        inputs = torch.tensor([[START, *self.pieces[:-1]]], device=read.device)
        with torch.inference_mode():
            if isinstance(translator.model, Seq2Seq):
                return _recurrent(translator.model, read, inputs)
            attended = translator.model.attended(read, inputs)[kind][layer]
        n_queries, n_heads = inputs.shape[1], translator.card.n_heads
        visible = causal_triangle(n_queries, n_queries) if kind == "decoder" else None
        return _dot_product(attended, head, n_heads, visible)


def inspect_trace(model: AttentionModel, prompt: Prompt, begins: Sequence[str] = ()) -> InspectedTrace:
    """Trace a prompt, to inspect its heads; `begins` names the pieces that a translation begins with, or consists of.

    Raises:
        AttnvizError: the prompt is not one this model can read; the message says why and what to do.
    """
    return inspect_result(model, run_inspectable(model, prompt, begins))


def run_inspectable(model: AttentionModel, prompt: Prompt, begins: Sequence[str] = ()) -> Result:
    """Run a model for a result whose heads can be inspected; `begins` as of `inspect_trace`, which says what is raised."""
    # A model of the hub writes by itself, unless Translate has found something else.
    if begins or (isinstance(model, TranslationModel) and not prompt.target):
        return run_task(model, "translate", prompt, options=DecodingOptions(begins=tuple(begins)))
    return run_task(model, "encode", prompt)


def inspect_result(model: AttentionModel, result: Result) -> InspectedTrace:
    """Inspect the heads of a result of `run_inspectable` by the same model."""
    pieces: tuple[int, ...] = ()
    if isinstance(model, TranslationModel):
        target = result.prompt.target
        pieces = model.forced(target) if target else model.pieces(result.draft.pieces)
    return InspectedTrace(result.trace, model, pieces)


def _queries_and_keys(attention: AttentionMap, layer: int, head: int) -> DotProduct | None:
    if not isinstance(attention.store, QueryKeyWeights):
        return None
    stored = attention.store.layers[layer]
    groups = stored.query.shape[0] // stored.key.shape[0]
    bias = stored.bias if stored.bias is None or stored.bias.shape[0] > 1 else np.repeat(stored.bias, head + 1, axis=0)
    return DotProduct(
        query=stored.query[head],
        key=stored.key[head // groups],
        value=None if stored.value is None else stored.value[head // groups],
        scaling=stored.scaling,
        visible=stored.visible_keys(),
        bias=None if bias is None else bias[head],
        softcap=stored.softcap,
        sink=None if stored.sink is None else float(stored.sink[head]),
    )


def _recurrent(model: Seq2Seq, read: Int[Tensor, "one key"], inputs: Int[Tensor, "one query"]) -> Ingredients:
    """Run an LSTM decoder step by step, and keep the state that asks at each step."""
    source, states = model.read(read), []
    state = source.state
    for embedded in model.tokens(inputs).unbind(dim=1):
        states.append(state.hidden[-1])
        _, state, _ = model.step(embedded, state, source)
    queries, attention = torch.stack(states, dim=1), model.attention
    if isinstance(attention, AdditiveAttention):
        weights = attention.query.weight, attention.query.bias, attention.key.weight, attention.energy.weight[0]
        return Additive(_array(queries[0]), _array(source.annotations.value[0]), *map(_array, weights))
    return _dot_product(Attended(attention, queries, model.encoder(read)[0]), 0, 1)


def _dot_product(states: Attended, head: int, n_heads: int, visible: Bool[np.ndarray, "query key"] | None = None) -> DotProduct:
    attention: Any = states.attention
    made = _projections(states, head, n_heads)
    return DotProduct(made.query.vectors, made.key.vectors, made.value.vectors, attention.scaling, visible, made=made)


def _projections(read: Attended, head: int, n_heads: int) -> Projections:
    """Cut one head's rows out of the matrices that all heads share, with the states they multiply."""
    attention: Any = read.attention
    width = attention.query.out_features // n_heads
    own = slice(head * width, (head + 1) * width)

    def projected(states: Tensor, layer: Any) -> Projected:
        return Projected(_array(states[0]), _array(layer.weight[own]), _array(layer.bias[own]))

    return Projections(
        projected(read.asking, attention.query),
        projected(read.offering, attention.key),
        projected(read.offering, attention.value),
    )


def _agree(made: np.ndarray, kept: np.ndarray) -> bool:
    return made.shape == kept.shape and np.allclose(made, kept, atol=1e-4)


def _array(tensor: Tensor) -> np.ndarray:
    return tensor.detach().float().cpu().numpy()
