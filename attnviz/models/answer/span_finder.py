"""What all models that answer have in common: windows of a passage in, the best spans out, scored under edits and explained."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import Tensor

from attnviz.core.cancellation import cancellation_point
from attnviz.core.trace import AttentionTrace, Prompt
from attnviz.models.answer.answers import Answers, Logits, SpanSearchResult, text_of
from attnviz.models.answer.decoding import SpanDecoding
from attnviz.models.answer.passage_search import BATCH, PassageSearch, QuestionAndPassage, question_of
from attnviz.models.batched_edits import Scorer
from attnviz.models.capabilities import Capabilities
from attnviz.models.hub.targets import baseline_id
from attnviz.models.targets import Outcome, Target, target_labels
from attnviz.text.spans import DECLINED, Span, Window, pair_logits

ANSWER, NO_ANSWER = "answer", "unanswered"
_PART = "the window with the likeliest answer, tokens {:,} to {:,} of {:,}"
_ALL_SPANS = "Here all spans are weighed at once, which is not linear: choose another method."


@dataclass(frozen=True)
class LocatedSpan:
    """A span, and the window of the passage that shows most around it; or that there is no answer there.

    span     its tokens, counted from the window's first; None: no answer
    readout  the tokens of the window from which the score is read, with their weights
    """

    pair: QuestionAndPassage
    window: Window
    span: Span | None
    readout: Mapping[int, float]


class SpanFinder(Capabilities):
    """Finds the answer to a question in a passage of any length.

    What inherits from this says how it decodes spans (`span_decoding`), how it lays both texts together (`_pair`), what logits
    it gives of some windows (`_batch`), and what it shows of one (`_window_trace`).
    """

    @property
    def can_decline(self) -> bool:
        """Whether it can say that the passage does not answer."""
        return True

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
        """Find the best spans, and trace the window that holds the best one."""
        pair, search, result = self.find(prompt, n_best)
        output = search.output(result, prompt.text, pair.passage)
        trace = self._window_trace(prompt, pair, result.windows[result.best], output)
        return Answers(trace, pair.passage, result, search.decoding)

    def located(self, prompt: Prompt, kind: str = ANSWER) -> LocatedSpan:
        """Find the best span, or, of kind `NO_ANSWER`, the window in which that would be; of no kind, what the model says.

        Raises:
            PromptError: as of `answers`.
        """
        pair, search, result = self.find(prompt, 1)
        kind = kind or (NO_ANSWER if search.declines(result) else ANSWER)
        window, best = result.windows[result.best], result.spans[0]
        if kind == ANSWER:
            span = Span(best.start - window.start, best.end - window.start, best.probability)
            # The start logit is read from its first token, the end logit from its last.
            readout = {span.start: 0.5, span.end: 0.5} if span.end > span.start else {span.start: 1.0}
            return LocatedSpan(pair, window, span, readout)
        # By how much a token's two logits move those of all spans together.
        parts = (result.start + result.end)[window.start : window.stop]
        return LocatedSpan(pair, window, None, dict(enumerate((parts / parts.sum()).tolist())))

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

    def default_target(self, prompt: Prompt) -> Target:
        """Choose what the model says to a question: its answer, or where it declines, that the passage does not say."""
        target = super().default_target(prompt)
        if target.kind != ANSWER:
            return target
        _, search, result = self.find(prompt, 1)
        return Target(NO_ANSWER) if search.declines(result) else target

    def targets(self, prompt: Prompt) -> dict[str, str]:
        """List what can be explained: an answer, and that there is none; first what the model says."""
        if (first := self.default_target(prompt).kind) not in (ANSWER, NO_ANSWER):
            return super().targets(prompt)
        return target_labels(first) | target_labels(ANSWER) | (target_labels(NO_ANSWER) if self.can_decline else {})

    def span_scorer(self, prompt: Prompt) -> Scorer:
        """Prepare to score what the model says: ln p of the best span, or of no answer, among all of the window that shows it.

        Raises:
            PromptError: as of `answers`.
        """
        located, decoding = self.located(prompt, ""), self.span_decoding()
        pair, window, span = located.pair, located.window, located.span

        def forward(n_rows: int) -> Tensor:
            return torch.tensor([likely(logits) for logits in self._batch(pair, [window] * n_rows)], dtype=torch.float64)

        def likely(logits: Logits) -> float:
            pairs = pair_logits(logits.start, logits.end, limit=decoding.limit, length_penalty=decoding.length_penalty)
            everything = np.append(pairs[np.isfinite(pairs)], logits.nothing)
            top = float(everything.max())
            said = float(logits.nothing) if span is None else float(pairs[span.start, span.end - span.start])
            return said - top - float(np.log(np.exp(everything - top).sum()))

        return Scorer(self, "nats", 1, forward, len(pair.cut(window)))


def span_outcome(
    start: Float[Tensor, "batch token"],
    end: Float[Tensor, "batch token"],
    span: Span | None,
    decoding: SpanDecoding,
    nothing: Float[Tensor, " batch"],
) -> Outcome:
    """Score a span by its two logits, and as ln p among all legal spans and no answer at all.

    Without a span, no answer is scored: its logit less that of all spans together, which is the logarithm of its odds.
    """
    spans = []
    for length in range(min(decoding.limit, start.shape[1] - 1) + 1):
        pairs = start[:, : start.shape[1] - length] + end[:, length:] - decoding.length_penalty * length
        # Longer than a short passage no span is legal: such a sum has no gradient.
        if not pairs.isneginf().all():
            spans.append(pairs.logsumexp(dim=1))
    everything = torch.stack([nothing, *spans], dim=1).logsumexp(dim=1)
    if span is None:
        return Outcome(nothing - torch.stack(spans, dim=1).logsumexp(dim=1), nothing - everything)
    score = start[:, span.start] + end[:, span.end]
    return Outcome(score, score - decoding.length_penalty * (span.end - span.start) - everything)


def span_facts(
    located: LocatedSpan, text: str, encoder: Any, run: Callable[[Int[Tensor, "batch token"]], Outcome]
) -> dict[str, Any]:
    """Return what a `BoundTarget` of any answerer says of a span in its window, or of no answer there."""
    pair, window, span = located.pair, located.window, located.span
    read, first = pair.cut(window), pair.first
    inside = range(first + span.start, first + span.end + 1) if span else ()
    special = {place for place, token in enumerate(read.tokens) if token.special}
    return {
        "target": f"the answer “{text_of(span, text, read.tokens[first:])}”" if span else DECLINED,
        "tokens": read.tokens,
        "ids": torch.tensor(read.inputs["input_ids"], device=encoder.model.device),
        "embedding": encoder.model.get_input_embeddings().weight,
        "baseline_id": baseline_id(encoder),
        "fixed": frozenset(special.union(inside)),
        "readout": {first + place: weight for place, weight in located.readout.items()},
        "run": run,
        "n_positions": len(read),
        "part": "" if window.size == len(pair.passage) else _PART.format(window.start + 1, window.stop, len(pair.passage)),
        "unfreezable": "" if span else _ALL_SPANS,
    }
