"""How the logits of an answerer become an answer: windows, the logits of every span, the best of them, and how sure it is."""

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


def text_of(span: Span, text: str, passage: Sequence[Token], masked: Sequence[bool] = ()) -> str:
    """Cut a span out of the text, as it stands there; "…" stands for what was masked.

    >>> passage = (Token("in", 0, 2), Token("1887", 3, 7))
    >>> text_of(Span(0, 1, 1.0), "in 1887, he", passage), text_of(Span(0, 1, 1.0), "in 1887, he", passage, [True, False])
    ('in 1887', '… 1887')
    """
    cut, end = "", passage[span.start].start
    for place in range(span.start, span.end + 1):
        token, is_masked = passage[place], place < len(masked) and masked[place]
        # A word of several tokens is one gap.
        gap = "" if cut.endswith("…") and token.start == end else "…"
        cut += text[end : token.start] + (gap if is_masked else text[token.start : token.end])
        end = token.end
    return cut


def windows(n_tokens: int, size: int, stride: int) -> tuple[Window, ...]:
    """Cut windows of `size` tokens, each `stride` after the one before; the last ends with the passage, and is as long as any.

    Raises:
        ValueError: a window has no token, or the stride leaves tokens between two windows.

    >>> windows(10, 6, 3)
    (Window(start=0, stop=6), Window(start=3, stop=9), Window(start=4, stop=10))
    """
    if not 1 <= stride <= size:
        raise ValueError(f"a stride is 1 to the window's size, {size}, not {stride}")
    last = max(0, n_tokens - size)
    starts = [*range(0, last, stride), last]
    return tuple(Window(start, min(n_tokens, start + size)) for start in starts)


def merged(parts: Sequence[tuple[Window, Float[np.ndarray, " token"]]]) -> Float[np.ndarray, " all"]:
    """Take one value for every token of a passage: from the window where the token has most to either side.

    Of two windows that show as much, the first counts.

    >>> merged([(Window(0, 4), np.zeros(4)), (Window(2, 6), np.ones(4))])
    array([0., 0., 0., 1., 1., 1.])
    """
    n_tokens = max(window.stop for window, _ in parts)
    best, most = np.full(n_tokens, -np.inf), np.full(n_tokens, -1)
    for window, values in parts:
        places = np.arange(window.start, window.stop)
        # At the passage's own ends there is nothing more to see: such an end counts as if it were far away.
        left = places - window.start + n_tokens * (window.start == 0)
        right = window.stop - 1 - places + n_tokens * (window.stop == n_tokens)
        context = np.minimum(left, right)
        better = context > most[places]
        best[places[better]], most[places[better]] = values[better], context[better]
    return best


def pair_logits(
    start_logits: Float[np.ndarray, " token"],
    end_logits: Float[np.ndarray, " token"],
    *,
    limit: int,
    length_penalty: float = 0.0,
) -> Float[np.ndarray, "token length"]:
    """Compute the logit of every span: row by its start, column by how many tokens follow that; -inf where there is none.

    It is start + end, less `length_penalty` for each token after the first: of two answers that are as likely, the start of one
    and the end of the other are as likely a span, and mostly none.

    >>> pair_logits(np.array([1.0, 2.0]), np.array([10.0, 20.0]), limit=1).tolist()
    [[11.0, 21.0], [22.0, -inf]]
    >>> pair_logits(np.array([1.0, 2.0]), np.array([10.0, 20.0]), limit=1, length_penalty=0.5).tolist()
    [[11.0, 20.5], [22.0, -inf]]
    """
    start, end = start_logits.astype(np.float64), end_logits.astype(np.float64)
    # A band, not a square: a long passage has few spans of a length that an answer has.
    following = np.concatenate([end, np.full(limit, -np.inf)])
    pairs = start[:, None] + np.lib.stride_tricks.sliding_window_view(following, limit + 1)
    return pairs - length_penalty * np.arange(limit + 1)


def best_spans(
    start_logits: Float[np.ndarray, " token"],
    end_logits: Float[np.ndarray, " token"],
    *,
    limit: int,
    n: int,
    length_penalty: float = 0.0,
    nothing: float | None = None,
) -> list[Span]:
    """Find the `n` best spans without overlap under start <= end <= start + limit, best first; fewer where there are no more.

    A span's probability is the softmax of `pair_logits` over all spans there are; `nothing` is the logit of one more
    choice, that there is no answer. Of two equal spans the first counts, and of these the shorter.

    >>> spans = best_spans(np.array([0.0, 2.0, 0.0]), np.array([0.0, 0.0, 1.0]), limit=2, n=2)
    >>> [(span.start, span.end, round(span.probability, 2)) for span in spans]
    [(1, 2, 0.58), (0, 0, 0.03)]
    """
    if not len(start_logits):
        return []
    pairs = pair_logits(start_logits, end_logits, limit=limit, length_penalty=length_penalty)
    top = max(float(pairs.max()), -np.inf if nothing is None else nothing)
    if not np.isfinite(top):
        return []
    weights = np.exp(pairs - top)
    total = float(weights.sum()) + (0.0 if nothing is None else float(np.exp(nothing - top)))
    spans: list[Span] = []
    while len(spans) < n:
        start, length = divmod(int(pairs.argmax()), limit + 1)
        if not np.isfinite(pairs[start, length]):
            break
        span = Span(start, start + length, float(weights[start, length]) / total)
        spans.append(span)
        # No other span may share a token with this one.
        for first in range(max(0, start - limit), span.end + 1):
            pairs[first, max(0, start - first) :] = -np.inf
    return spans


def marginals(
    pairs: Float[np.ndarray, "token length"], nothing: float
) -> tuple[Float[np.ndarray, " token"], Float[np.ndarray, " token"], float]:
    """Compute p(start), p(end) and p(no answer) of one softmax over all spans, as `pair_logits` gives them, and no answer.

    >>> start, end, none = marginals(pair_logits(np.zeros(2), np.zeros(2), limit=1), 0.0)
    >>> start.tolist(), end.tolist(), none
    ([0.5, 0.25], [0.25, 0.5], 0.25)
    """
    top = max(float(pairs.max()), nothing)
    weights, none = np.exp(pairs - top), float(np.exp(nothing - top))
    total = float(weights.sum()) + none
    end = np.zeros(len(pairs))
    for length, column in enumerate(weights.T[: len(pairs)]):
        end[length:] += column[: len(end) - length]
    return weights.sum(axis=1) / total, end / total, none / total
