"""How an answerer's logits become an answer: how long it may be, when there is none, and how sure it is."""

import math
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float


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
        """Whether the model gives no answer, by p(no answer) and the best span's p.

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
