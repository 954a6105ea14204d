"""A Hugging Face encoder that was trained to find answers, as an `AnsweringModel`: question and passage read as one pair.

Its layers of attention hold all that question and passage have to do with each other; the blocks between the two are told
apart by the tokens' segments: 0 is the question, 1 the passage. No answer is what the model says by pointing at its first
special token (Rajpurkar et al. 2018, arXiv:1806.03822; Devlin et al. 2019, section 4.3).
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from attnviz.core.cancellation import cancellation_point
from attnviz.core.trace import AttentionTrace, Prompt
from attnviz.models.answer.base import (
    BATCH,
    Answers,
    Logits,
    PassageSearch,
    QuestionAndPassage,
    SpanSearchResult,
    question_of,
)
from attnviz.models.answer.decoding import SpanDecoding
from attnviz.models.hub.encoder import TracedModel
from attnviz.nn.attention import Attended
from attnviz.text.spans import Span, Window


@dataclass(frozen=True, eq=False)
class HubAnswerer(TracedModel):
    """An encoder with a start and an end logit for every token."""

    def _trace(self, prompt: Prompt) -> AttentionTrace:
        return self.answers(prompt).trace if prompt.question else super()._trace(prompt)

    def attended(self, prompt: Prompt) -> dict[str, tuple[Attended, ...]]:
        """Return what the attention reads, as of any encoder; of a question and a passage, over the window of `trace`.

        Raises:
            PromptError: as of `trace`.
        """
        if not prompt.question:
            return super().attended(prompt)
        pair, _, result = self._find(prompt, 1)
        return {"encoder": self.attended_in(pair.cut(result.windows[result.best]))}

    def answers(self, prompt: Prompt, n_best: int = 5) -> Answers:
        """Find the best spans, and trace the window that holds the best one.

        Raises:
            PromptError: there is no question, nothing can be read, or there is too much of either; the message says which.
        """
        pair, search, result = self._find(prompt, n_best)
        read = pair.cut(result.windows[result.best])
        with self.computing():
            _, stacks = self.reader.read(self.tensors(read))
        output = search.output(result, prompt.text, pair.passage)
        trace = self._traced(prompt, {"encoder": stacks["encoder"]}, {"encoder": (read.tokens, read.tokens)}, read, output)
        return Answers(trace, pair.passage, result, search.decoding)

    def located(self, prompt: Prompt) -> tuple[QuestionAndPassage, Window, Span]:
        """Find the best span, and the window of the passage that shows most around it.

        Raises:
            PromptError: there is no question, nothing can be read, or there is too much of either; the message says which.
        """
        pair, _, result = self._find(prompt, 1)
        return pair, result.windows[result.best], result.spans[0]

    def _find(self, prompt: Prompt, n_best: int) -> tuple[QuestionAndPassage, PassageSearch, SpanSearchResult]:
        pair = self._pair(question_of(prompt), prompt.text)
        decoding = SpanDecoding(window=min(SpanDecoding().window, self.card.max_tokens))
        search = PassageSearch(self.card.name, decoding, pair.around)
        return pair, search, search.find(pair.passage, lambda windows: self._logits(pair, windows), n_best)

    def _pair(self, question: str, passage: str) -> QuestionAndPassage:
        return QuestionAndPassage.of(self.encode([question, passage], whole=True), self.card.name)

    def _logits(self, pair: QuestionAndPassage, windows: Sequence[Window]) -> list[Logits]:
        """Compute the logits of each window; all windows of a passage are of one size."""
        logits: list[Logits] = []
        for index in range(0, len(windows), BATCH):
            cancellation_point()
            logits += self._batch(pair, windows[index : index + BATCH])
        return logits

    def row_logits(self, pair: QuestionAndPassage, window: Window, n_rows: int) -> list[Logits]:
        """Compute the logits of one window in each of so many rows of a batch."""
        return self._batch(pair, [window] * n_rows)

    def _batch(self, pair: QuestionAndPassage, windows: Sequence[Window]) -> list[Logits]:
        cut = [self.tensors(pair.cut(window)) for window in windows]
        with self.computing(), torch.inference_mode():
            outputs = self.model(**{name: torch.cat([each[name] for each in cut]) for name in cut[0]})
        return [self._window(pair, *row) for row in zip(outputs.start_logits, outputs.end_logits, strict=True)]

    def _window(self, pair: QuestionAndPassage, start: Tensor, end: Tensor) -> Logits:
        begins, ends = (logits.float().cpu().numpy() for logits in (start, end))
        stop = len(begins) - (len(pair.whole) - pair.stop)
        inputs, mark = pair.whole.inputs["input_ids"], self.tokenizer.cls_token_id
        # Without such a token the model cannot say that there is no answer.
        place = inputs.index(mark) if mark in inputs else None
        if place is not None and place >= pair.stop:
            place -= len(inputs) - len(begins)
        nothing = -np.inf if place is None else float(begins[place] + ends[place])
        return Logits(begins[pair.first : stop], ends[pair.first : stop], nothing)
