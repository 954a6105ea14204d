"""Spans of a passage, as answers, and the windows in which a long passage is read."""

from dataclasses import dataclass

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
