"""What one head of a model was given: the vectors behind its weights, from the model's own forward pass over a text.

A trace keeps what its pictures need. Values, and the states behind additive attention, are computed again when somebody asks.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor

from attnviz.ingredients import Additive, DotProduct, Ingredients
from attnviz.models.drafts import Wish, draft
from attnviz.models.protocol import AttentionModel
from attnviz.models.translation import TranslationModel
from attnviz.nn.attention import AdditiveAttention
from attnviz.nn.decoding import START
from attnviz.nn.seq2seq import Seq2Seq
from attnviz.trace import AttentionMap, AttentionTrace, Prompt
from attnviz.weights import QueryKeyWeights


@dataclass(frozen=True, eq=False)
class Opened:
    """A trace, and the function that looks into one of its heads."""

    trace: AttentionTrace
    model: AttentionModel
    pieces: tuple[int, ...] = ()

    def head(self, kind: str, layer: int, head: int) -> Ingredients | None:
        """What the weights of a head were computed from; None: the model gives its weights, but not what is behind them.

        Raises:
            TraceError: there is no such map, layer or head.
        """
        attention = self.trace.map(kind)
        attention.weights(layer, head)  # says so where there is none
        if isinstance(self.model, TranslationModel) and isinstance(self.model.model, Seq2Seq):
            return _recurrent(self.model, self.model.model, self.trace.prompt.text, self.pieces)
        return _queries_and_keys(attention, layer, head)


def open_trace(model: AttentionModel, prompt: Prompt, begins: Sequence[str] = ()) -> Opened:
    """One forward pass; `begins` are names of the pieces that a translation begins with, or consists of.

    Raises:
        AttnvizError: the prompt is not one this model can read; the message says why and what to do.
    """
    if not isinstance(model, TranslationModel):
        # A model of the hub writes by itself, unless Translate has found something else.
        return Opened(draft(model, prompt, Wish(begins=tuple(begins))).trace if begins else model.trace(prompt), model)
    if prompt.target:
        return Opened(model.trace(prompt), model, model.forced(prompt.target))
    found = draft(model, prompt, Wish(begins=tuple(begins)))
    return Opened(found.trace, model, model.pieces(found.pieces))


def _queries_and_keys(attention: AttentionMap, layer: int, head: int) -> DotProduct | None:
    if not isinstance(attention.store, QueryKeyWeights):
        return None
    found = attention.store.layers[layer]
    groups = found.query.shape[0] // found.key.shape[0]
    bias = found.bias if found.bias is None or found.bias.shape[0] > 1 else np.repeat(found.bias, head + 1, axis=0)
    return DotProduct(
        query=found.query[head],
        key=found.key[head // groups],
        value=None if found.value is None else found.value[head // groups],
        scaling=found.scaling,
        visible=found.visible_keys(),
        bias=None if bias is None else bias[head],
        softcap=found.softcap,
        sink=None if found.sink is None else float(found.sink[head]),
    )


def _recurrent(translator: TranslationModel, model: Seq2Seq, text: str, pieces: Sequence[int]) -> Ingredients:
    """The decoder, step by step over these pieces: the state that each of them was asked for with."""
    read, _, _ = translator.read(text)
    states = []
    with torch.inference_mode():
        source = model.read(read)
        state, given = source.state, torch.tensor([[START, *pieces[:-1]]], device=read.device)
        for embedded in model.tokens(given).unbind(dim=1):
            states.append(state.hidden[-1][0])
            _, state, _ = model.step(embedded, state, source)
    queries, known = torch.stack(states), source.annotations
    attention: Any = model.attention
    if isinstance(attention, AdditiveAttention):
        weights = attention.query.weight, attention.query.bias, attention.key.weight, attention.energy.weight[0]
        return Additive(_array(queries), _array(known.value[0]), *map(_array, weights))
    query = attention.query(queries)
    return DotProduct(_array(query), _array(known.key[0]), _array(known.value[0]), attention.scaling)


def _array(tensor: Tensor) -> np.ndarray:
    return tensor.detach().float().cpu().numpy()
