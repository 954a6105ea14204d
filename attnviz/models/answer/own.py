"""Our own answerers: the embedded encoder, changed by training, and blocks of cross-attention between its two texts.

Their trace has two maps. `cross` are the blocks of `attnviz.nn.qa`: the passage's tokens ask, the question's are asked.
`encoder` is what the encoder did with both before: as one pair, or each on its own, and then neither may look at the other.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import Tensor

from attnviz.core.arrays import EditedHeads
from attnviz.core.cancellation import cancellation_point
from attnviz.core.edits import NO_EDITS, Edits
from attnviz.core.trace import AttentionMap, AttentionTrace, Prompt, QueryKeyWeights
from attnviz.core.weights import QueryKeyLayer
from attnviz.models.answer.base import (
    BATCH,
    Answers,
    Logits,
    PassageSearch,
    QuestionAndPassage,
    SpanSearchResult,
    question_of,
    text_of,
)
from attnviz.models.answer.decoding import SpanDecoding
from attnviz.models.base import ModelCard
from attnviz.models.edit.points import EditPoints, edited, with_edited_heads
from attnviz.models.hub.encoder import TracedModel
from attnviz.models.query_key_layer import query_key_layer
from attnviz.nn.attention import Attended
from attnviz.nn.edit import edited_pass
from attnviz.nn.qa import Answerer
from attnviz.text.spans import Span, Window
from attnviz.text.tokens import Encoded


class BestSpan(NamedTuple):
    """The text of a passage's best span, its probability, that of no answer, and all logits."""

    text: str
    probability: float
    nothing: float
    logits: Logits


@dataclass(frozen=True, eq=False)
class AnswerModel:
    """An encoder whose weights are this model's own, and the answerer that stands on it."""

    card: ModelCard
    encoder: TracedModel
    answerer: Answerer
    decoding: SpanDecoding

    def trace(self, prompt: Prompt | str, edits: Edits | str = NO_EDITS) -> AttentionTrace:
        """Trace the window of the passage that holds the best answer; of a text alone, the encoder; with the edits.

        Raises:
            PromptError: nothing can be read, or there is too much; the message says which.
            EditError: the model does not have what is edited.
        """
        prompt = Prompt.of(prompt)
        with edited(self, prompt, Edits.of(edits)):
            if prompt.question:
                return self.answers(prompt).trace
            return replace(self.encoder.trace(prompt), model=self.card.name)

    def edit_points(self) -> EditPoints:
        """Say which attentions there are to edit."""
        blocks: Any = self.answerer.blocks
        size = len(blocks), self.answerer.config.block.n_heads
        return EditPoints(
            {"encoder": (self.card.n_layers, self.card.n_heads), "cross": size},
            {id(block.attention): "cross" for block in blocks},
        )

    def answers(self, prompt: Prompt, n_best: int = 5) -> Answers:
        """Find the best spans, and trace the window that holds the best one.

        Raises:
            PromptError: there is no question, nothing can be read, or there is too much of either; the message says which.
        """
        pair, search, result = self._find(prompt, n_best)
        maps = self._maps(pair, result.windows[result.best])
        output = search.output(result, prompt.text, pair.passage)
        facts: dict[str, Any] = {"revision": self.card.revision, "edits": edited_pass.current()}
        trace = AttentionTrace(self.card.name, prompt, maps, output, **facts)
        return Answers(trace, pair.passage, result, self.decoding)

    def best(self, prompt: Prompt) -> BestSpan:
        """Find the best span, as `answers` does, without a trace.

        Raises:
            PromptError: there is no question, nothing can be read, or there is too much of either; the message says which.
        """
        pair, _, result = self._find(prompt, 1)
        best = result.spans[0]
        return BestSpan(text_of(best, prompt.text, pair.passage), best.probability, result.nothing, result.logits)

    def located(self, prompt: Prompt) -> tuple[QuestionAndPassage, Window, Span]:
        """Find the best span, and the window of the passage that shows most around it.

        Raises:
            PromptError: there is no question, nothing can be read, or there is too much of either; the message says which.
        """
        pair, _, result = self._find(prompt, 1)
        return pair, result.windows[result.best], result.spans[0]

    def _find(self, prompt: Prompt, n_best: int) -> tuple[QuestionAndPassage, PassageSearch, SpanSearchResult]:
        pair = self._pair(question_of(prompt), prompt.text)
        if (edits := edited_pass.running()) and not self.answerer.config.joint:
            edits.shifts = (0, self.n_asking(pair))
        search = PassageSearch(self.card.name, self.decoding, pair.around)
        return pair, search, search.find(pair.passage, lambda windows: self._logits(pair, windows), n_best)

    def _pair(self, question: str, passage: str) -> QuestionAndPassage:
        """Both texts as one, [CLS] question [SEP] passage [SEP]; or one behind the other, each with marks of its own."""
        if self.answerer.config.joint:
            return QuestionAndPassage.of(self.encoder.encode([question, passage], whole=True), self.card.name)
        first, second = (self.encoder.encode([text], whole=True) for text in (question, passage))
        inputs = {name: [*values, *second.inputs[name]] for name, values in first.inputs.items()}
        tokens = (*first.tokens, *(replace(token, segment=1) for token in second.tokens))
        return QuestionAndPassage.of(Encoded(inputs, tokens, (None, None)), self.card.name)

    def n_asking(self, pair: QuestionAndPassage) -> int:
        """Count the tokens of the question's side; a passage that is read on its own begins with a mark."""
        return pair.first if self.answerer.config.joint else pair.first - 1

    def _logits(self, pair: QuestionAndPassage, windows: Sequence[Window]) -> list[Logits]:
        """Compute the logits of each window; all windows of a passage are of one size."""
        logits: list[Logits] = []
        for index in range(0, len(windows), BATCH):
            cancellation_point()
            logits += self._batch(pair, windows[index : index + BATCH])
        return logits

    def row_logits(self, pair: QuestionAndPassage, window: Window, n_rows: int) -> list[Logits]:
        """Compute the logits of one window in each of so many rows of a batch."""
        if (edits := edited_pass.running()) and not self.answerer.config.joint:
            edits.shifts = (0, self.n_asking(pair))
        return self._batch(pair, [window] * n_rows)

    def _batch(self, pair: QuestionAndPassage, windows: Sequence[Window]) -> list[Logits]:
        n_asking, ids = self.n_asking(pair), self._ids([pair.cut(window) for window in windows])
        visible = torch.ones_like(ids, dtype=torch.bool)
        with torch.inference_mode():
            start, end, _ = self.answerer(
                ids[:, :n_asking],
                ids[:, n_asking:],
                question_visible=visible[:, :n_asking],
                context_visible=visible[:, n_asking:],
            )
        part = slice(pair.first - n_asking, pair.first - n_asking + windows[0].size)
        rows = zip(start[:, part].float().cpu().numpy(), end[:, part].float().cpu().numpy(), strict=True)
        return [Logits(begins, ends) for begins, ends in rows]

    def _ids(self, read: Sequence[Encoded]) -> Int[Tensor, "window token"]:
        return torch.tensor([each.inputs["input_ids"] for each in read], device=self.encoder.model.device)

    def attended(self, prompt: Prompt) -> dict[str, tuple[Attended, ...]]:
        """Return what the attention of each layer reads, over the window of `trace`, by kind.

        Raises:
            PromptError: as of `trace`.
        """
        if not prompt.question:
            return self.encoder.attended(prompt)
        pair, _, result = self._find(prompt, 1)
        window = result.windows[result.best]
        question, context, _ = self._read(pair, window)
        with torch.inference_mode():
            across = self.answerer.attended(question, context)
        layers = zip(*(self.encoder.attended_in(side) for side in self._sides(pair, window)), strict=True)
        return {"encoder": tuple(map(_beside, layers)), "cross": across}

    def _maps(self, pair: QuestionAndPassage, window: Window) -> tuple[AttentionMap, ...]:
        """Build the maps of the encoder's attention over a window, and of the cross-attention."""
        read, n_asking = pair.cut(window), self.n_asking(pair)
        question, context, layers = self._read(pair, window)
        with torch.inference_mode():
            across = with_edited_heads("cross", [*map(query_key_layer, self.answerer.attended(question, context))])
        return (
            AttentionMap("encoder", read.tokens, read.tokens, QueryKeyWeights(layers)),
            AttentionMap("cross", read.tokens[n_asking:], read.tokens[:n_asking], QueryKeyWeights(across)),
        )

    def _sides(self, pair: QuestionAndPassage, window: Window) -> tuple[Encoded, ...]:
        """Split into what the encoder reads at a time: both texts, or each on its own."""
        read, n_asking = pair.cut(window), self.n_asking(pair)
        if self.answerer.config.joint:
            return (read,)
        return tuple(
            replace(read, inputs={name: ids[part] for name, ids in read.inputs.items()}, tokens=read.tokens[part])
            for part in (slice(n_asking), slice(n_asking, None))
        )

    def _read(
        self, pair: QuestionAndPassage, window: Window
    ) -> tuple[Float[Tensor, "one question state"], Float[Tensor, "one context state"], tuple[QueryKeyLayer, ...]]:
        """Compute the states of the question and of a window of the passage, and the encoder's layers over both."""
        states, layers = zip(*map(self.encoder.states, self._sides(pair, window)), strict=True)
        whole, n_asking = torch.cat(states, dim=1), self.n_asking(pair)
        return whole[:, :n_asking], whole[:, n_asking:], layers[0] if len(layers) == 1 else tuple(map(_apart, *layers))


def _beside(sides: Sequence[Attended]) -> Attended:
    """Join one layer's states over texts that were read each on its own."""
    asking, offering = (torch.cat([getattr(side, name) for side in sides], dim=1) for name in ("asking", "offering"))
    return Attended(sides[0].attention, asking, offering)


def _apart(first: QueryKeyLayer, second: QueryKeyLayer) -> QueryKeyLayer:
    """Join one layer over two texts that were read each on its own, with what lies between them masked."""

    def joined(name: str) -> Any:
        return np.concatenate([getattr(first, name), getattr(second, name)], axis=1)

    n_first, n_second = first.shape[0], second.shape[0]
    own = np.repeat([0, 1], [n_first, n_second])
    value = None if first.value is None or second.value is None else joined("value")
    edited = sorted({head for side in (first, second) if side.edited for head in side.edited.heads})
    weights = [_blocks(first.weights(slice(head, head + 1))[0], second.weights(slice(head, head + 1))[0]) for head in edited]
    visible = own[:, None] == own[None, :]
    return QueryKeyLayer(
        joined("query"),
        joined("key"),
        first.scaling,
        visible=visible,
        value=value,
        edited=EditedHeads(tuple(edited), np.stack(weights)) if edited else None,
    )


def _blocks(first: np.ndarray, second: np.ndarray) -> np.ndarray:
    """Put two matrices along a diagonal."""
    whole = np.zeros(tuple(np.add(first.shape, second.shape)), dtype=np.float32)
    whole[: len(first), : first.shape[1]], whole[len(first) :, first.shape[1] :] = first, second
    return whole
