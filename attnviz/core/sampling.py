"""What a language model says comes next, at every position of a text, and how one token is chosen from what it says.

Of a distribution over a vocabulary the likeliest tokens are kept with their log probabilities, and of all others the mass that
they have at each temperature: so temperature, top-k and top-p reshape it without another pass of the model.
"""

import itertools
import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace

import numpy as np
from jaxtyping import Float, Float32, Int32

from attnviz.core.errors import PromptError, TraceError, described, is_unicode
from attnviz.core.weights import frozen

# Of each position so many tokens are kept, and the mass of the others at these temperatures.
CANDIDATES = 50
TEMPERATURES = tuple(round(0.1 * step, 1) for step in range(1, 21))
MOST_TOKENS, MOST_SEED = 1024, 2**31 - 1
# Sums of 50,000 float32 probabilities are off by less.
_TOLERANCE = 1e-3


@dataclass(frozen=True)
class WritingOptions:
    """How a language model writes on.

    tokens       how many tokens it writes, unless it ends its text sooner
    temperature  divides the logits; 0 takes the likeliest token each time
    top_k        only so many tokens are drawn from, the likeliest; 0: from all
    top_p        only the fewest likeliest tokens are drawn from that have this mass together (Holtzman et al. 2020)
    seed         what chance begins with: the same seed draws the same tokens
    begins       pieces of the vocabulary, by name, that stand behind the text before the model writes
    anew         under edits, the model writes by itself in place of `begins`, as many tokens: what it would have written
    held         of `begins` so many stay there all the same

    Raises:
        PromptError: one of them is out of its range.
    """

    tokens: int = 20
    temperature: float | int = 0.0
    top_k: int = 0
    top_p: float | int = 1.0
    seed: int = 0
    begins: tuple[str, ...] = ()
    anew: bool = False
    held: int = 0

    def __post_init__(self) -> None:
        for name, most in (("tokens", MOST_TOKENS), ("top_k", MOST_SEED), ("seed", MOST_SEED), ("held", MOST_SEED)):
            value = getattr(self, name)
            if type(value) is not int or not 0 <= value <= most:
                raise PromptError(f"{name} is a whole number from 0 to {most:,}, not {described(value)}.")
        for name, least, most in (("temperature", 0, 100), ("top_p", 0, 1)):
            value = getattr(self, name)
            if isinstance(value, bool) or not isinstance(value, int | float) or not least <= value <= most:
                raise PromptError(f"{name} is a number from {least} to {most}, not {described(value)}.")
        if not isinstance(self.begins, tuple) or not all(isinstance(name, str) for name in self.begins):
            raise PromptError(f"begins is a tuple of names of pieces, not {described(self.begins)}.")

    @property
    def unedited(self) -> "WritingOptions":
        """How the model writes without edits; where it writes nothing, nothing needs to be chosen either."""
        if self.tokens:
            return replace(self, anew=False, held=0)
        return WritingOptions(0, begins=self.begins)

    @property
    def edited(self) -> "WritingOptions":
        """How the model writes with edits."""
        begins = self.begins[: self.held] if self.anew else self.begins
        made = replace(self, tokens=self.tokens + len(self.begins) - len(begins), begins=begins, anew=False, held=0)
        return made if made.tokens else made.unedited


# Nothing is written: what comes next is told all the same.
READING = WritingOptions(0)


def sampling_probabilities(
    log_probabilities: Float[np.ndarray, " token"], options: WritingOptions
) -> Float[np.ndarray, " token"]:
    """Compute the distribution that a token is drawn from: first temperature, then top-k, then top-p.

    >>> sampling_probabilities(np.log([0.5, 0.3, 0.2]), WritingOptions(temperature=1, top_k=2)).round(3).tolist()
    [0.625, 0.375, 0.0]
    """
    scores = np.asarray(log_probabilities, np.float64)
    if options.temperature == 0:
        return (np.arange(len(scores)) == scores.argmax()).astype(np.float64)
    scores = scores / options.temperature
    if 0 < options.top_k < len(scores):
        scores = np.where(scores >= np.partition(scores, -options.top_k)[-options.top_k], scores, -np.inf)
    shares = np.exp(scores - scores.max())
    shares /= shares.sum()
    if options.top_p < 1:
        order = np.argsort(-shares, kind="stable")
        # A token is drawn from if those before it have not the whole mass yet; the first one always.
        inside = np.cumsum(shares[order]) - shares[order] < options.top_p
        inside[0] = True
        shares[order[~inside]] = 0
        shares /= shares.sum()
    return shares


def draw(shares: Float[np.ndarray, " token"], options: WritingOptions, step: int) -> int:
    """Draw the token of a step, counted from the beginning of what is written: 10 tokens and 10 more are the same 20."""
    if options.temperature == 0:
        return int(shares.argmax())
    bounds = np.cumsum(shares)
    # Rounding may leave the last bound below 1; a token without a share is never drawn.
    place = np.searchsorted(bounds, chance(options.seed, step) * bounds[-1], side="right")
    return int(min(place, np.flatnonzero(shares)[-1]))


def chance(seed: int, step: int) -> float:
    """Make a number from 0 to 1 of a seed and a step: SplitMix64 (Steele, Lea and Flood 2014), the same in any language.

    >>> round(chance(0, 0), 6), round(chance(0, 1), 6)
    (0.883311, 0.431528)
    """
    state = ((seed << 32) + step + 1) * 0x9E3779B97F4A7C15 % 2**64
    state = (state ^ (state >> 30)) * 0xBF58476D1CE4E5B9 % 2**64
    state = (state ^ (state >> 27)) * 0x94D049BB133111EB % 2**64
    return ((state ^ (state >> 31)) >> 11) / 2**53


@dataclass(frozen=True)
class Candidate:
    """A token that could stand at a position.

    piece  its name in the vocabulary
    text   as it would stand in a text, a space before it included
    """

    piece: str
    text: str
    probability: float


@dataclass(frozen=True, eq=False)
class Continuation:
    """What a language model says comes next behind every token of a text, and which of the tokens it wrote.

    start    number of tokens that were given: the others were written
    pieces   of every token its name in the vocabulary
    candidates  of every token the ids of what is likeliest to come behind it, best first
    log_probabilities  of these, in nats
    rest     ln of the mass of all other tokens together, at each of `TEMPERATURES`
    given    ln p of every token behind those before it; of the first, which nothing stands before, 0
    vocabulary  of each candidate's id its name and its text

    Raises:
        TraceError: sizes differ, or probabilities are none.
    """

    start: int
    pieces: tuple[str, ...]
    candidates: Int32[np.ndarray, "token candidate"]
    log_probabilities: Float32[np.ndarray, "token candidate"]
    rest: Float32[np.ndarray, "token temperature"]
    given: Float32[np.ndarray, " token"]
    vocabulary: Mapping[int, tuple[str, str]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        object.__setattr__(self, "candidates", frozen(self.candidates, np.int32))
        for name in ("log_probabilities", "rest", "given"):
            object.__setattr__(self, name, frozen(getattr(self, name)))
        n_tokens = len(self.pieces)
        shapes = self.log_probabilities.shape == self.candidates.shape, self.rest.shape == (n_tokens, len(TEMPERATURES))
        if not 0 < self.start <= n_tokens or len(self.candidates) != n_tokens or self.given.shape != (n_tokens,):
            raise TraceError(
                f"What comes next is said of {len(self.candidates)} tokens, {self.start} of them given, of {n_tokens}."
            )
        if not all(shapes) or self.candidates.ndim != 2 or not self.candidates.shape[1]:
            raise TraceError("Candidates, their log probabilities and the mass of the rest differ in size.")
        mass = np.exp(self.log_probabilities.astype(np.float64)).sum(axis=1) + np.exp(self.rest[:, TEMPERATURES.index(1.0)])
        # Not a number fails, too.
        if not (np.abs(mass - 1) < _TOLERANCE).all() or not (self.log_probabilities <= _TOLERANCE).all():
            raise TraceError("Probabilities of what comes next do not sum to 1.")
        if not np.isfinite(self.given).all() or np.isnan(self.rest).any() or (np.diff(self.log_probabilities) > 0).any():
            raise TraceError("Log probabilities of what comes next are not numbers in order.")
        if missing := set(np.unique(self.candidates).tolist()) - self.vocabulary.keys():
            raise TraceError(f"{len(missing)} candidates have no name.")
        names = itertools.chain(self.pieces, *self.vocabulary.values())
        if half := next((name for name in names if not is_unicode(name)), None):
            raise TraceError(f"A piece's name is whole characters of Unicode, not {half!r}.")

    @property
    def nbytes(self) -> int:
        """Bytes that it takes, roughly: names of candidates are short."""
        arrays = self.candidates, self.log_probabilities, self.rest, self.given
        return sum(each.nbytes for each in arrays) + 200 * len(self.vocabulary)

    @property
    def written(self) -> tuple[str, ...]:
        """The pieces that were written."""
        return self.pieces[self.start :]

    def next_tokens(self, position: int, options: WritingOptions | None = None) -> tuple[Candidate, ...]:
        """List what could come behind the token at a position, best first: as the model says, or as `options` draw from it.

        Where top-p takes in more than the candidates, their shares are of that mass, and too large by less than the last of
        them. Between two of `TEMPERATURES` the mass of the rest is interpolated.

        Raises:
            PromptError: there is no such position, or the rest is not known at the options' temperature or of their top-k.
        """
        n_tokens = len(self.pieces)
        if not hasattr(position, "__index__") or not -n_tokens <= position < n_tokens:
            named = position if isinstance(position, int) else described(position)
            raise PromptError(f"What comes next is told behind the tokens at positions 0 to {n_tokens - 1}, not {named}.")
        shares = self._shares(position, options) if options else np.exp(self.log_probabilities[position])
        names = [self.vocabulary[index] for index in self.candidates[position].tolist()]
        return tuple(Candidate(*name, share) for name, share in zip(names, shares.tolist(), strict=True) if share > 0)

    def _shares(self, position: int, options: WritingOptions) -> Float[np.ndarray, " candidate"]:
        scores = self.log_probabilities[position].astype(np.float64)
        if options.temperature == 0 or 0 < options.top_k <= len(scores):
            return sampling_probabilities(scores, options)
        is_known = TEMPERATURES[0] <= options.temperature <= TEMPERATURES[-1] and not options.top_k
        # Where nothing is left out there is no rest.
        if not is_known and np.isfinite(self.rest[position, -1]):
            raise PromptError(
                f"What is drawn from is known at temperatures {TEMPERATURES[0]} to {TEMPERATURES[-1]}, and of a top-k up to "
                f"{len(scores)} at any: ask for one of these."
            )
        logs = scores / options.temperature
        rest = np.interp(1 / options.temperature, 1 / np.array(TEMPERATURES[::-1]), self.rest[position][::-1])
        highest = max(float(logs.max()), float(rest))
        shares = np.exp(logs - highest)
        shares /= shares.sum() + math.exp(rest - highest)
        if options.top_p < 1:
            before = np.cumsum(shares) - shares
            inside = before < options.top_p
            inside[0] = True
            mass = shares[inside].sum()
            shares = np.where(inside, shares / (mass if not inside.all() else max(mass, min(options.top_p, 1.0))), 0)
        return shares
