"""The inputs of one head: the vectors behind its weights, from the model's own forward pass over a text.

A trace keeps what its pictures need. What queries, keys and values were made of, and the states behind additive attention, are
computed again when somebody asks.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from torch import Tensor

from attnviz.core.head_inputs import Additive, DotProduct, Ingredients, Projected, Projections
from attnviz.core.trace import AttentionMap, AttentionTrace, Kind, Prompt
from attnviz.core.weights import DenseWeights, QueryKeyWeights, causal_triangle
from attnviz.models.base import AttentionModel, DecodingOptions
from attnviz.models.capabilities import capabilities
from attnviz.models.result import Result
from attnviz.models.tasks import run_task
from attnviz.nn.attention import AdditiveAttention, Attended


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
        read = self._attended.get(attention.kind)
        if isinstance(attention.store, DenseWeights):
            return None if read is None else _computed(read[layer], head, attention)
        inputs = _queries_and_keys(attention, layer, head)
        if inputs is None or read is None:
            return inputs
        made = _projections(read[layer], head, attention.n_heads)
        # What a model does with its projections before it compares them, as by rotary embedding, would make this untrue.
        true = _agree(made.query.vectors, inputs.query) and _agree(made.key.vectors, inputs.key)
        return replace(inputs, made=made) if true else inputs

    @cached_property
    def _attended(self) -> Mapping[Kind, Sequence[Attended]]:
        """Return what the attentions of a model read, by kind and layer, where it shows it."""
        return capabilities(self.model).attended(self.trace.prompt, self.pieces)


def run_inspectable(model: AttentionModel, prompt: Prompt, begins: Sequence[str] = ()) -> Result:
    """Run a model for a result whose heads can be inspected; `begins` names the pieces that a translation begins with.

    Raises:
        AttnvizError: the prompt is not one this model can read; the message says why and what to do.
    """
    # A model of the hub writes by itself, unless Translate has found something else.
    if begins or (capabilities(model).shows_writing and not prompt.target):
        return run_task(model, "translate", prompt, options=DecodingOptions(begins=tuple(begins)))
    return run_task(model, "encode", prompt)


def inspect_result(model: AttentionModel, result: Result) -> InspectedTrace:
    """Inspect the heads of a result of `run_inspectable` by the same model."""
    pieces = capabilities(model).translator().known_pieces(result.draft.pieces) if result.task == "translate" else ()
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


def _computed(read: Attended, head: int, attention: AttentionMap) -> Ingredients:
    """Compute what a head compares from what its module reads."""
    module: Any = read.attention
    if isinstance(module, AdditiveAttention):
        weights = module.query.weight, module.query.bias, module.key.weight, module.energy.weight[0]
        return Additive(_array(read.states[0]), _array(read.memory[0]), *map(_array, weights))
    made = _projections(read, head, attention.n_heads)
    visible = causal_triangle(*attention.store.shape) if attention.causal else None
    return DotProduct(made.query.vectors, made.key.vectors, made.value.vectors, module.scaling, visible, made=made)


def _projections(read: Attended, head: int, n_heads: int) -> Projections:
    """Cut one head's rows out of the matrices that all heads share, with the states they multiply."""
    attention: Any = read.attention
    width = attention.query.out_features // n_heads
    own = slice(head * width, (head + 1) * width)

    def projected(states: Tensor, layer: Any) -> Projected:
        return Projected(_array(states[0]), _array(layer.weight[own]), _array(layer.bias[own]))

    return Projections(
        projected(read.states, attention.query), projected(read.memory, attention.key), projected(read.memory, attention.value)
    )


def _agree(one: np.ndarray, other: np.ndarray) -> bool:
    return one.shape == other.shape and np.allclose(one, other, atol=1e-4)


def _array(tensor: Tensor) -> np.ndarray:
    return tensor.detach().float().cpu().numpy()
