"""Spans of a passage as answers: windows of a long passage, the logits of every span, and the best of them."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float

# What a model that answers says where it does not.
DECLINED = "the passage does not say"


@dataclass(frozen=True)
class Span:
    """Tokens `start` to `end` of a passage, both included, and the probability that they are the answer, 0 to 1.

    >>> Span(2, 3, 0.5).end
    3
    """

    start: int
    end: int
    probability: float


@dataclass(frozen=True)
class Window:
    """Tokens `start` up to but not including `stop`, read in one pass.

    >>> Window(3, 8).size
    5
    """

    start: int
    stop: int

    @property
    def size(self) -> int:
        return self.stop - self.start


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
