"""Questions about passages: the interface of every model that answers, ours and those of the hub.

A passage of any length is read in overlapping windows. Each token keeps the logits of the window in which it stands farthest
from an edge, and the best spans are found over the whole passage at once (`attnviz.models.span_decoding`).
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import Tensor

from attnviz.core.errors import PromptError, cancellation_point
from attnviz.core.trace import AttentionTrace, Prompt, Token
from attnviz.models.capabilities import Capabilities
from attnviz.models.edit import Scorer, check_windows
from attnviz.models.hub.hub_model import baseline_id
from attnviz.models.span_decoding import (
    Answers,
    Logits,
    SpanDecoding,
    SpanSearchResult,
    best_spans,
    marginals,
    merged,
    pair_logits,
    text_of,
    windows,
)
from attnviz.models.targets import BoundTarget, Outcome, Target, target_labels
from attnviz.text.spans import DECLINED, Span, Window
from attnviz.text.tokens import Encoded

# About 10,000 words: more would keep a small server busy for a minute.
MOST_CHARACTERS = 60_000
# Windows that a model reads at once: more need more memory, keep others waiting for longer, and are no faster.
BATCH = 2
# With less room than this beside the question, windows are too small to be understood.
LEAST_ROOM = 48


def question_of(prompt: Prompt) -> str:
    """Return the question of a prompt, checked.

    Raises:
        PromptError: there is none, or nothing in it but signs that cannot be seen; or the passage is too long.
    """
    if not prompt.question or not any(character.isprintable() and not character.isspace() for character in prompt.question):
        raise PromptError("There is no question yet: type one about the passage.")
    if (length := len(prompt.text)) > MOST_CHARACTERS:
        raise PromptError(
            f"This passage has {length:,} characters, and at most {MOST_CHARACTERS:,} are read: paste the part that the "
            "question is about."
        )
    return prompt.question


@dataclass(frozen=True)
class PassageSearch:
    """How a model of that name searches a passage: `around` tokens of each window are the question and special ones."""

    name: str
    decoding: SpanDecoding
    around: int

    def find(
        self, passage: Sequence[Token], score: Callable[[Sequence[Window]], Sequence[Logits]], n_best: int
    ) -> SpanSearchResult:
        """Find the best spans of a passage, by the logits that `score` gives for each window.

        Raises:
            PromptError: the passage holds no token, or the question leaves no room for it.
        """
        read = self._windows(passage)
        parts = score(read)
        start, end = (
            merged([(window, getattr(logits, name)) for window, logits in zip(read, parts, strict=True)])
            for name in ("start", "end")
        )
        # No answer is as likely as in the window where it is least so.
        logits = Logits(start, end, min(part.nothing for part in parts))
        limit, penalty = self.decoding.limit, self.decoding.length_penalty
        pairs = pair_logits(logits.start, logits.end, limit=limit, length_penalty=penalty)
        if not np.isfinite(pairs.max()):
            raise PromptError(f"{self.name} finds no word in this passage that could be an answer: paste a text.")
        start, end, nothing = marginals(pairs, logits.nothing)
        spans = best_spans(logits.start, logits.end, limit=limit, n=n_best, length_penalty=penalty, nothing=logits.nothing)
        return SpanSearchResult(logits, tuple(spans), start, end, nothing, read, _widest(spans[0], read))

    def declines(self, result: SpanSearchResult) -> bool:
        """Say whether the model finds no answer in the passage."""
        return self.decoding.declines(result.nothing, result.spans[0].probability)

    def output(self, result: SpanSearchResult, text: str, passage: Sequence[Token]) -> str:
        """Cut the answer out of the text; empty where the model declines."""
        return "" if self.declines(result) else text_of(result.spans[0], text, passage)

    def _windows(self, passage: Sequence[Token]) -> tuple[Window, ...]:
        n_tokens, room = len(passage), self.decoding.window - self.around
        if not any(token.end > token.start for token in passage):
            raise PromptError(f"{self.name} finds nothing to read in this passage: paste a text with words in it.")
        if room < min(n_tokens, LEAST_ROOM):
            raise PromptError(
                f"The question takes {self.around} of the {self.decoding.window} tokens that {self.name} reads at once, "
                "which leaves no room for the passage: ask in fewer words."
            )
        # Windows that do not overlap would cut an answer in two.
        read = windows(n_tokens, room, min(self.decoding.stride, max(room // 2, 1)))
        check_windows(len(read))
        return read


@dataclass(frozen=True)
class QuestionAndPassage:
    """A question and a passage as a model would read both: the passage's tokens stand at `first` up to `stop`."""

    whole: Encoded
    first: int
    stop: int

    @staticmethod
    def of(whole: Encoded, name: str) -> "QuestionAndPassage":
        """Finds the passage, segment 1, behind the question, segment 0.

        Raises:
            PromptError: the model of that name finds nothing to read in the question.
        """
        typed = [(index, token.segment) for index, token in enumerate(whole.tokens) if not token.special]
        if not any(segment == 0 for _, segment in typed):
            raise PromptError(f"{name} finds nothing to read in this question: type it in words.")
        places = [index for index, segment in typed if segment == 1]
        return (
            QuestionAndPassage(whole, places[0], places[-1] + 1)
            if places
            else QuestionAndPassage(whole, len(whole), len(whole))
        )

    @property
    def passage(self) -> tuple[Token, ...]:
        return self.whole.tokens[self.first : self.stop]

    @property
    def around(self) -> int:
        """Tokens of the question, and special ones: they stand in every window."""
        return len(self.whole) - (self.stop - self.first)

    def cut(self, window: Window) -> Encoded:
        """Cut the pair to a window's tokens of the passage."""
        start, stop = self.first + window.start, self.first + window.stop

        def kept(values: Sequence) -> list:
            return [*values[: self.first], *values[start:stop], *values[self.stop :]]

        inputs = {name: kept(values) for name, values in self.whole.inputs.items()}
        return Encoded(inputs, tuple(kept(self.whole.tokens)), self.whole.cuts)


def _widest(span: Span, read: Sequence[Window]) -> int:
    """Choose the window that shows most on either side of a span; the passage's own ends hide nothing."""
    stop = read[-1].stop

    def shown(window: Window) -> int:
        left = span.start - window.start + stop * (window.start == 0)
        return min(left, window.stop - 1 - span.end + stop * (window.stop == stop))

    return max(range(len(read)), key=lambda place: shown(read[place]))


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

    def _bind_answer(self, prompt: Prompt, kind: str = ANSWER) -> BoundTarget:
        raise NotImplementedError

    def bind_target(self, prompt: Prompt, target: Target) -> BoundTarget:
        """Bind the model to the best span that it finds, to no answer, or to what else it has."""
        is_span = target.kind in (ANSWER, NO_ANSWER)
        return self._bind_answer(prompt, target.kind) if is_span else super().bind_target(prompt, target)

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
            likelihoods = [likely(logits) for logits in self._batch(pair, [window] * n_rows)]
            return torch.tensor(likelihoods, dtype=torch.float64, device="cpu")

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
