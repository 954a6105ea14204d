"""Many texts at once: batches of like length through a model, as one trace a text."""

from collections.abc import Iterator, Sequence

import numpy as np
import torch
from torch import Tensor

from attnviz.core.cancellation import cancellation_point
from attnviz.core.errors import PromptError
from attnviz.core.trace import AttentionMap, AttentionTrace, DenseWeights, Prompt
from attnviz.models.hub import hf_attention
from attnviz.models.hub.traced import SINK, TracedModel
from attnviz.text.tokens import Encoded

# So many weights of all heads are held at a time, and so many tokens are read: with four times as many weights a survey of
# 100,000 sentences took 1.4 GB and was no faster.
MOST_WEIGHTS, MOST_TOKENS = 2**22, 2048


def trace_batches(model: TracedModel, texts: Sequence[str]) -> Iterator[tuple[int, AttentionTrace]]:
    """Trace every text, each with its place, texts of like length together; texts that the model cannot read are left out.

    The order is that of the lengths, not that of `texts`.
    """
    encoded = dict(_encoded(model, texts))
    for batch in _batches(encoded, model.card.n_layers * model.card.n_heads):
        cancellation_point()
        yield from _traced(model, texts, batch, [encoded[index] for index in batch])


def _encoded(model: TracedModel, texts: Sequence[str]) -> Iterator[tuple[int, Encoded]]:
    for index, text in enumerate(texts):
        try:
            yield index, model.encode([Prompt(text).text])
        except PromptError:
            continue


def _batches(encoded: dict[int, Encoded], n_heads: int) -> Iterator[list[int]]:
    """Cut the texts, shortest first, into batches that the memory holds."""
    batch: list[int] = []
    for index in sorted(encoded, key=lambda index: (len(encoded[index]), index)):
        length = len(encoded[index])
        size = len(batch) + 1
        if batch and (size * n_heads * length**2 > MOST_WEIGHTS or size * length > MOST_TOKENS):
            yield batch
            batch = []
        batch.append(index)
    if batch:
        yield batch


def _traced(
    model: TracedModel, texts: Sequence[str], batch: list[int], encoded: list[Encoded]
) -> Iterator[tuple[int, AttentionTrace]]:
    with model.computing(), torch.inference_mode(), hf_attention.recording() as recorded:
        model.body(**_padded(model, encoded))
        layers = [hf_attention.weights_of(call).cpu().numpy() for call in recorded.calls]
    longest = max(map(len, encoded))
    for row, (index, read) in enumerate(zip(batch, encoded, strict=True)):
        # Behind the keys of the longest text stands a sink, where there is one.
        rows = [layer[row, :, : len(read)] for layer in layers]
        own = {
            layer: np.concatenate([each[..., : len(read)], each[..., longest:]], axis=2)
            for layer, each in zip(model.layers(model.kind), rows, strict=True)
        }
        unseen = np.zeros_like(next(iter(own.values())))
        store = DenseWeights(tuple(own.get(layer, unseen) for layer in range(model.card.n_layers)))
        keys = (*read.tokens, SINK)[: store.shape[1]]
        # Beside a sink, which stands behind all tokens, weights alone cannot show that none looks ahead.
        causal = model.kind == "decoder" and len(keys) == len(read)
        attention = AttentionMap(model.kind, read.tokens, keys, store, causal)
        yield index, AttentionTrace(model.card.name, Prompt(texts[index]), (attention,), cut=read.cuts[0])


def _padded(model: TracedModel, encoded: list[Encoded]) -> dict[str, Tensor]:
    """Lay texts of several lengths one under another, each filled up at its end with what nobody may look at."""
    longest = max(map(len, encoded))
    fill = {"input_ids": model.tokenizer.pad_token_id or 0}
    names = [name for name in encoded[0].inputs if name in model.accepts]
    rows = {name: [[*each.inputs[name], *[fill.get(name, 0)] * (longest - len(each))] for each in encoded] for name in names}
    rows["attention_mask"] = [[1] * len(each) + [0] * (longest - len(each)) for each in encoded]
    return {name: torch.tensor(values, device=model.model.device) for name, values in rows.items()}
