"""What all models that answer have in common: windows of a passage in, the best spans out, scored under edits and explained."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import torch
from jaxtyping import Float, Int
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
from attnviz.models.capabilities import Capabilities
from attnviz.models.scoring import Scorer
from attnviz.models.targets import Outcome
from attnviz.text.spans import Span, Window, pair_logits
from attnviz.text.tokens import Encoded


class SpanFinder(Capabilities):
    """Finds the answer to a question in a passage of any length.

    What inherits from this says how it decodes spans (`span_decoding`), how it lays both texts together (`_pair`), what logits
    it gives of some windows (`_batch`), and what it shows of one (`_window_trace`).
    """

    def span_decoding(self) -> SpanDecoding:
        """Say how logits become an answer."""
        raise NotImplementedError

    def _pair(self, question: str, passage: str) -> QuestionAndPassage:
        raise NotImplementedError

    def _batch(self, pair: QuestionAndPassage, windows: Sequence[Window]) -> list[Logits]:
        raise NotImplementedError

    def _window_trace(self, prompt: Prompt, pair: QuestionAndPassage, window: Window, output: str) -> AttentionTrace:
        raise NotImplementedError

    def answers(self, prompt: Prompt, n_best: int = 5) -> Answers:
        """Find the best spans, and trace the window that holds the best one.

        Raises:
            PromptError: there is no question, nothing can be read, or there is too much of either; the message says which.
        """
        pair, search, result = self.find(prompt, n_best)
        output = search.output(result, prompt.text, pair.passage)
        trace = self._window_trace(prompt, pair, result.windows[result.best], output)
        return Answers(trace, pair.passage, result, search.decoding)

    def located(self, prompt: Prompt) -> tuple[QuestionAndPassage, Window, Span]:
        """Find the best span, and the window of the passage that shows most around it.

        Raises:
            PromptError: as of `answers`.
        """
        pair, _, result = self.find(prompt, 1)
        return pair, result.windows[result.best], result.spans[0]

    def find(self, prompt: Prompt, n_best: int) -> tuple[QuestionAndPassage, PassageSearch, SpanSearchResult]:
        """Look through a passage for the best spans.

        Raises:
            PromptError: as of `answers`.
        """
        pair = self._pair(question_of(prompt), prompt.text)
        search = PassageSearch(self.card.name, self.span_decoding(), pair.around)
        return pair, search, search.find(pair.passage, lambda windows: self._logits(pair, windows), n_best)

    def _logits(self, pair: QuestionAndPassage, windows: Sequence[Window]) -> list[Logits]:
        """Compute the logits of each window; all windows of a passage are of one size."""
        logits: list[Logits] = []
        for index in range(0, len(windows), BATCH):
            cancellation_point()
            logits += self._batch(pair, windows[index : index + BATCH])
        return logits

    def span_scorer(self, prompt: Prompt) -> Scorer:
        """Prepare to score the best span: ln p of it among all spans of the window that shows it, and no answer.

        Raises:
            PromptError: as of `answers`.
        """
        pair, window, span = self.located(prompt)
        start, length, decoding = span.start - window.start, span.end - span.start, self.span_decoding()

        def forward(n_rows: int) -> Tensor:
            return torch.tensor([of_span(logits) for logits in self._batch(pair, [window] * n_rows)], dtype=torch.float64)

        def of_span(logits: Logits) -> float:
            pairs = pair_logits(logits.start, logits.end, limit=decoding.limit, length_penalty=decoding.length_penalty)
            everything = np.append(pairs[np.isfinite(pairs)], logits.nothing)
            top = float(everything.max())
            return float(pairs[start, length]) - top - float(np.log(np.exp(everything - top).sum()))

        return Scorer(self, "nats", 1, forward, len(pair.cut(window)))


def span_outcome(
    start: Float[Tensor, "batch token"],
    end: Float[Tensor, "batch token"],
    span: Span,
    decoding: SpanDecoding,
    nothing: Float[Tensor, " batch"],
) -> Outcome:
    """Score a span by its two logits, and as ln p among all legal spans and no answer at all."""
    score = start[:, span.start] + end[:, span.end]
    others = [nothing]
    for length in range(min(decoding.limit, start.shape[1] - 1) + 1):
        pairs = start[:, : start.shape[1] - length] + end[:, length:] - decoding.length_penalty * length
        others.append(pairs.logsumexp(dim=1))
    own = score - decoding.length_penalty * (span.end - span.start)
    return Outcome(score, own - torch.stack(others, dim=1).logsumexp(dim=1))


def span_facts(
    read: Encoded, answer: slice, text: str, encoder: Any, run: Callable[[Int[Tensor, "batch token"]], Outcome]
) -> dict[str, Any]:
    """Return what a `BoundTarget` of any answerer says of a span: the tokens `answer` of a window's question and passage."""
    special = {place for place, token in enumerate(read.tokens) if token.special}
    inside = range(answer.start, answer.stop)
    words = text[read.tokens[answer.start].start : read.tokens[answer.stop - 1].end]
    return {
        "target": f"the answer “{words}”",
        "tokens": read.tokens,
        "ids": torch.tensor(read.inputs["input_ids"], device=encoder.model.device),
        "embedding": encoder.model.get_input_embeddings().weight,
        "baseline_id": encoder.tokenizer.mask_token_id,
        "fixed": frozenset(special | set(inside)),
        # The start logit is read from its first token, the end logit from its last.
        "readout": {answer.start: 0.5, answer.stop - 1: 0.5} if len(inside) > 1 else {answer.start: 1.0},
        "run": run,
        "n_positions": len(read),
    }
