"""What a model makes of a question about a passage: the best spans, and how likely each is."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float

from attnviz.core.trace import AttentionTrace, Token
from attnviz.models.answer.decoding import SpanDecoding
from attnviz.text.spans import Span, Window


@dataclass(frozen=True, eq=False)
class Logits:
    """Start and end logits of some tokens, and the logit of no answer being among them."""

    start: Float[np.ndarray, " token"]
    end: Float[np.ndarray, " token"]
    nothing: float = 0.0


@dataclass(frozen=True, eq=False)
class SpanSearchResult:
    """The spans of a passage, their probabilities among all legal spans and no answer at all.

    spans    the best without overlap, best first; their positions are those of the passage's tokens
    start    p(the answer starts with this token), summed over where it may end; end: the same the other way round
    nothing  p(the passage does not say): with `start`, or with `end`, it sums to 1
    windows  in which the passage was read; `best` is the place of the one that shows most around the best span
    """

    logits: Logits
    spans: tuple[Span, ...]
    start: Float[np.ndarray, " token"]
    end: Float[np.ndarray, " token"]
    nothing: float
    windows: tuple[Window, ...]
    best: int


@dataclass(frozen=True, eq=False)
class Answers:
    """What a model makes of a question about a passage.

    trace   the attention over the window that holds the best span; `output` is the answer, empty where the model declines
    tokens  of the whole passage, special tokens none of them
    """

    trace: AttentionTrace
    tokens: tuple[Token, ...]
    result: SpanSearchResult
    decoding: SpanDecoding

    @property
    def declined(self) -> bool:
        """Whether the model says that the passage does not answer."""
        return self.decoding.declines(self.result.nothing, self.result.spans[0].probability)

    @property
    def confidence(self) -> float | None:
        """How many of the answers this sure are right, 0 to 1; None: the model declines, or that was not measured.

        It was measured where passages answer: the answer is right no more often than the passage gives one.
        """
        best, nothing = self.result.spans[0].probability, self.result.nothing
        if self.declined or not self.decoding.calibrated:
            return None
        return min(self.decoding.confidence(best, nothing), 1 - nothing)

    @property
    def place(self) -> tuple[int, int]:
        """Where the likeliest answer stands in the passage, in characters."""
        best = self.result.spans[0]
        return self.tokens[best.start].start, self.tokens[best.end].end

    def text(self, span: Span) -> str:
        """Cut a span out of the passage, as it stands there."""
        return text_of(span, self.trace.prompt.text, self.tokens)


def text_of(span: Span, text: str, passage: Sequence[Token]) -> str:
    """Cut a span out of the text, as it stands there.

    >>> text_of(Span(0, 1, 1.0), "in 1887, he", (Token("in", 0, 2), Token("1887", 3, 7)))
    'in 1887'
    """
    return text[passage[span.start].start : passage[span.end].end]
