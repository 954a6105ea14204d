"""An answer: its span, its alternatives and how sure it is, and how they come of an answerer's logits."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float

from attnviz.core.trace import AttentionTrace, Token
from attnviz.text.spans import Span, Window
from attnviz.text.words import seems_english


@dataclass(frozen=True)
class SpanDecoding:
    """How a model's logits become an answer.

    limit           tokens of an answer after its first, at most
    window          tokens read at once, the question and special tokens counted; a window begins `stride` passage tokens later
    declines_above  p(no answer) above which the passage is taken not to say, 0 to 1; None: where it exceeds the best span's p
    length_penalty  what each token of an answer after its first takes from its span's logit
    slope, slope_nothing, intercept  of how often a best span is right, over both numbers of `span_log_odds`: see `confidence`

    >>> SpanDecoding().limit
    29
    """

    limit: int = 29
    window: int = 384
    stride: int = 256
    declines_above: float | None = None
    length_penalty: float = 0.0
    slope: float = 1.0
    slope_nothing: float = 0.0
    intercept: float = 0.0

    @property
    def calibrated(self) -> bool:
        """Whether its confidence was fitted on measured answers."""
        return (self.slope, self.slope_nothing, self.intercept) != (1.0, 0.0, 0.0)

    def declines(self, nothing: float, best: float) -> bool:
        """Say whether the model gives no answer, by p(no answer) and the best span's p.

        >>> SpanDecoding().declines(0.4, 0.3), SpanDecoding(declines_above=0.5).declines(0.4, 0.3)
        (True, False)
        """
        return nothing > (best if self.declines_above is None else self.declines_above)

    def confidence(self, probability: float, nothing: float) -> float:
        """Estimate how often a best span is an accepted answer, 0 to 1, by its p and p(no answer), where the passage answers.

        A logistic regression (Platt 1999, section 2) over both. Spans that differ by an article share what is likely, and
        several texts may be accepted: a span of p = 0.4 is right more often than that.

        >>> round(SpanDecoding(slope=0.5, slope_nothing=-0.1, intercept=1.0).confidence(0.4, 0.2), 2)
        0.76
        """
        among, none = span_log_odds(np.array([probability]), np.array([nothing]))
        (odds,) = self.slope * among + self.slope_nothing * none + self.intercept
        return 1 / (1 + math.exp(-odds))


def span_log_odds(
    probability: Float[np.ndarray, " span"], nothing: Float[np.ndarray, " span"]
) -> tuple[Float[np.ndarray, " span"], Float[np.ndarray, " span"]]:
    """Compute the log odds of spans among all spans there are, and those of no answer, at most 13.8 either way.

    >>> [odds.tolist() for odds in span_log_odds(np.array([0.25]), np.array([0.5]))]
    [[0.0], [0.0]]
    """
    among = probability / np.maximum(1 - nothing, 1e-12)
    shares = np.clip(np.stack([among, nothing]), 1e-6, 1 - 1e-6)
    among, none = np.log(shares) - np.log1p(-shares)
    return among, none


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

        It was measured where passages answer, and are English, as their questions are: the answer is right no more often than
        the passage gives one.
        """
        best, nothing, prompt = self.result.spans[0].probability, self.result.nothing, self.trace.prompt
        is_english = seems_english(prompt.text) and seems_english(prompt.question or "")
        if self.declined or not self.decoding.calibrated or not is_english:
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
