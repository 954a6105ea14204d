"""A translation as it is looked at: how it was decoded, each step with its probability, and what else the search found."""

import math
from dataclasses import dataclass

from attnviz.core.errors import PromptError, described
from attnviz.core.trace import AttentionTrace, Token

# Hypotheses that a search may keep at once: each is decoded, and more are hardly better.
WIDEST = 10


@dataclass(frozen=True)
class Translation:
    """A translation, its pieces (the end mark among them), and ln p of them all."""

    text: str
    pieces: tuple[int, ...]
    log_probability: float


@dataclass(frozen=True)
class DecodingStep:
    """One token as it was written, or forced: p(token) there, and the likeliest tokens in its place, best first."""

    token: Token
    probability: float
    alternatives: tuple[tuple[str, float], ...]


@dataclass(frozen=True)
class Branch:
    """One token that a search weighed, by its name: p of it there, and the place of the one before it; None: it is a first one.

    kept  the search went on from it, or ended there; else it fell out
    """

    name: str
    parent: int | None
    probability: float
    kept: bool


@dataclass(frozen=True)
class SearchTree:
    """All that a search weighed, step by step; `leaves` are the last branches of the translations it found, best first."""

    branches: tuple[Branch, ...]
    leaves: tuple[int, ...]


@dataclass(frozen=True)
class DecodingOptions:
    """How a translation is decoded, and which of those found is looked at.

    width           hypotheses that the search keeps, at most `WIDEST`; 1 is greedy decoding
    length_penalty  α of ln p / length^α, by which a beam's translations are ranked
    begins          names of the pieces that the translation must begin with
    candidate       which of the translations found is looked at, 0 the best; what is too large is the last

    Raises:
        PromptError: one of them cannot be wished for.
    """

    width: int = 1
    length_penalty: float = 1.0
    begins: tuple[str, ...] = ()
    candidate: int = 0

    def __post_init__(self) -> None:
        if type(self.width) is not int or not 1 <= self.width <= WIDEST:
            raise PromptError(
                f"The width of DecodingOptions is a whole number from 1 to {WIDEST}, not {described(self.width)}."
            )
        if type(self.candidate) is not int or self.candidate < 0:
            raise PromptError(f"The candidate of DecodingOptions is a whole number from 0 on, not {described(self.candidate)}.")
        if not isinstance(self.length_penalty, int | float) or not math.isfinite(self.length_penalty):
            raise PromptError(
                f"The length_penalty of DecodingOptions is a number, such as 1.0, not {described(self.length_penalty)}."
            )
        if isinstance(self.begins, str) or not all(isinstance(name, str) for name in self.begins):
            raise PromptError(f"DecodingOptions begin with a tuple of the names of pieces, not with {described(self.begins)}.")


GREEDY = DecodingOptions()


@dataclass(frozen=True, eq=False)
class Draft:
    """A translation that is looked at, with its trace and its probabilities.

    steps            each token with its probability
    log_probability  ln p of the whole of it
    candidates       what the search found, best first; empty where the target was given
    chosen           which candidate it is
    own              the best that the model found by itself, where the target was given
    pieces           names of the pieces it is made of; empty where the target was given
    closed           names of the pieces that the model cannot be asked to write
    task_prefix      what the model read in front of the text (`attnviz.models.base`)
    tree             what the search weighed after what it had to begin with; None where nothing was searched or it is not shown
    original         ln p, with the edits, of what the model writes without them; None: nothing is edited
    """

    trace: AttentionTrace
    steps: tuple[DecodingStep, ...]
    log_probability: float
    candidates: tuple[Translation, ...] = ()
    chosen: int = 0
    own: Translation | None = None
    pieces: tuple[str, ...] = ()
    closed: frozenset[str] = frozenset()
    task_prefix: str = ""
    tree: SearchTree | None = None
    original: float | None = None

    @property
    def written(self) -> tuple[Token, ...]:
        """The token that each row of the cross-attention writes."""
        return tuple(step.token for step in self.steps)

    @property
    def reads_its_rows(self) -> bool:
        """Whether a row is named after the token that its step reads, and writes another: so in every Transformer."""
        return self.trace.cross.queries != self.written
