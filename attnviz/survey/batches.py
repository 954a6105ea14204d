"""Many texts at once: batches of like length through a model, as one trace a text."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import torch
from jaxtyping import Float
from torch import Tensor

from attnviz.core.cancellation import cancellation_point
from attnviz.core.errors import ModelError, PromptError
from attnviz.core.trace import AttentionMap, AttentionTrace, DenseWeights, Prompt
from attnviz.models.base import AttentionModel
from attnviz.models.hub import hf_attention
from attnviz.models.hub.capture import AttentionFunctionReader
from attnviz.models.hub.encoder import TracedModel
from attnviz.text.tokens import Encoded

# So many weights of all heads are held at a time, and so many tokens are read: with four times as many weights a survey of
# 100,000 sentences took 1.4 GB and was no faster.
MOST_WEIGHTS, MOST_TOKENS = 2**22, 2048
SHORT_TARGET = "."


@dataclass(frozen=True)
class Surveyed:
    """A trace and the place of its text among those that were given."""

    index: int
    trace: AttentionTrace

    @property
    def attention(self) -> AttentionMap:
        """How the text looks at itself.

        Raises:
            ModelError: it does not: the model only looks at it while it writes.
        """
        first = self.trace.maps[0]
        if first.kind == "cross":
            raise ModelError(
                f"{self.trace.model} has no attention of a text to itself, which claims are about: choose an encoder, a "
                "decoder or a Transformer."
            )
        return first


def trace_all(model: AttentionModel, texts: Sequence[str]) -> Iterator[Surveyed]:
    """Trace every text, texts of like length together where the model allows it; texts that it cannot read are left out.

    The order is that of the lengths, not that of `texts`.
    """
    stack = _stack_of(model)
    if stack is None:
        # What a translator writes says nothing of how it reads: it is given something short, and need not search.
        target = SHORT_TARGET if "target" in model.card.reads else None
        for index, text in enumerate(texts):
            cancellation_point()
            try:
                yield Surveyed(index, model.trace(Prompt(text, target=target)))
            except PromptError:
                continue
        return
    encoded = dict(_encoded(stack, texts))
    for batch in _batches(encoded, stack.card.n_layers * stack.card.n_heads):
        cancellation_point()
        yield from _traced(stack, texts, batch, [encoded[index] for index in batch])


def _stack_of(model: AttentionModel) -> TracedModel | None:
    """Find the one stack of layers that reads a text alone, if its queries and keys can be recorded."""
    stack = getattr(model, "encoder", model)
    if not isinstance(stack, TracedModel) or stack.card.architecture == "encoder-decoder":
        return None
    return stack if isinstance(stack.reader, AttentionFunctionReader) else None


def _encoded(stack: TracedModel, texts: Sequence[str]) -> Iterator[tuple[int, Encoded]]:
    for index, text in enumerate(texts):
        try:
            yield index, stack.encode([Prompt(text).text])
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


def _traced(stack: TracedModel, texts: Sequence[str], batch: list[int], encoded: list[Encoded]) -> Iterator[Surveyed]:
    with stack.computing(), torch.inference_mode(), hf_attention.recording() as recorded:
        stack.body(**_padded(stack, encoded))
        layers = [weights_of(call).cpu().numpy() for call in recorded.calls]
    kind = "decoder" if stack.card.architecture == "decoder" else "encoder"
    for row, (index, read) in enumerate(zip(batch, encoded, strict=True)):
        size = len(read)
        store = DenseWeights(tuple(layer[row, :, :size, :size].copy() for layer in layers))
        attention = AttentionMap(kind, read.tokens, read.tokens, store, causal=kind == "decoder")
        trace = AttentionTrace(stack.card.name, Prompt(texts[index]), (attention,), cut=read.cuts[0])
        yield Surveyed(index, trace)


def _padded(stack: TracedModel, encoded: list[Encoded]) -> dict[str, Tensor]:
    """Lay texts of several lengths one under another, each padded at its end; padding is masked."""
    longest = max(map(len, encoded))
    fill = {"input_ids": stack.tokenizer.pad_token_id or 0}
    names = [name for name in encoded[0].inputs if name in stack.accepts]
    rows = {name: [[*each.inputs[name], *[fill.get(name, 0)] * (longest - len(each))] for each in encoded] for name in names}
    rows["attention_mask"] = [[1] * len(each) + [0] * (longest - len(each)) for each in encoded]
    return {name: torch.tensor(values, device=stack.model.device) for name, values in rows.items()}


def weights_of(call: hf_attention.Call) -> Float[Tensor, "batch head query column"]:
    """Compute softmax(mask(softcap(scaling · Q Kᵀ) + bias)) of a whole batch, in float32.

    A sink takes its share and gives no column: rows are what is left beside it.
    """
    groups = call.query.shape[1] // call.key.shape[1]
    key = call.key.repeat_interleave(groups, dim=1) if groups > 1 else call.key
    scores = (call.query @ key.transpose(2, 3)).float() * call.scaling
    if call.softcap is not None:
        scores = torch.tanh(scores / call.softcap) * call.softcap
    if call.bias is not None:
        scores = scores + call.bias.float()
    if call.mask is not None:
        scores = scores.masked_fill(~call.mask, float("-inf")) if call.mask.dtype == torch.bool else scores + call.mask.float()
    if call.causal:
        n_queries, n_keys = scores.shape[2:]
        past = torch.ones(n_queries, n_keys, dtype=torch.bool, device=scores.device).tril(n_keys - n_queries)
        scores = scores.masked_fill(~past, float("-inf"))
    return scores.softmax(dim=3).nan_to_num(0.0)
