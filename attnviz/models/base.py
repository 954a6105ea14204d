"""The interface of every model: a card that describes it, `trace`, and what an encoder's reading and a task's prefix are."""

import math
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any, Literal, Protocol, runtime_checkable

import numpy as np
from jaxtyping import Float

from attnviz.core.edits import NO_EDITS, Edits
from attnviz.core.errors import PromptError, described
from attnviz.core.trace import AttentionMap, AttentionTrace, Prompt, Token

Architecture = Literal["encoder", "decoder", "encoder-decoder"]
# Called as work goes on with what is being done and how much of it is done, 0 to 1 (None: not known).
Progress = Callable[[str, float | None], None]


def silent(stage: str, fraction: float | None) -> None:
    """Report progress to nobody."""


@dataclass(frozen=True)
class ModelCard:
    """What a person should know about a model before trusting its pictures.

    reads       the optional fields of a Prompt that this model uses besides `text`
    languages   which it reads and writes, where that is known
    writes      the languages of which `Prompt.language` chooses one to be written; empty: there is no choice
    max_tokens  how many tokens it reads at once, special tokens counted; longer text is cut
    device      where it computes: "cpu", "cuda:0", "mps"
    weights     in which format its weights were read, and who made them so, such as "safetensors"; before it their type if it
                is not float32, such as "bfloat16 weights, safetensors"; empty for a model in hand in float32
    metrics     measured figures by name, such as {"BLEU": 50.1}
    supervised_head  the cross-attention head (layer, head) that was trained to align, on the links that a statistical aligner
                found in the training pairs (Garg et al. 2019, arXiv:1909.02074); None: no head was
    selects     the layers whose received attention is trained to choose words, and sentences; None: none is
    """

    name: str
    task: str
    architecture: Architecture
    n_layers: int
    n_heads: int
    parameters: int
    max_tokens: int
    device: str
    revision: str = ""
    reads: tuple[str, ...] = ()
    languages: tuple[str, ...] = ()
    writes: tuple[str, ...] = ()
    licence: str = ""
    sources: tuple[str, ...] = ()
    weights: str = ""
    metrics: dict[str, float] = field(default_factory=dict)
    supervised_head: tuple[int, int] | None = None
    selects: tuple[int, int] | None = None


@runtime_checkable
class AttentionModel(Protocol):
    """A model whose attention can be traced. It keeps nothing from a call, so one instance serves every thread at once."""

    @property
    def card(self) -> ModelCard: ...

    def trace(self, prompt: Prompt | str, edits: Edits | str = NO_EDITS) -> AttentionTrace:
        """Run one forward pass over the prompt, with the edits, and keep the attention of every head.

        Raises:
            AttnvizError: the prompt is not one this model can read; the message says why and what to do.
            EditError: the model cannot be edited in this way.
        """
        ...


@dataclass(frozen=True, eq=False)
class EncoderReading:
    """What an encoder, or a decoder of one stack, makes of a text.

    states      the last state of each token
    likeliest   by the name of the place, what its own layers on top find likeliest there, with p, best first: the next token,
                what stands behind each [MASK], the text's label; empty where the model has no such layer
    similarity  of a pair: the cosine of the means of its two texts' states; None: there is one text
    """

    tokens: tuple[Token, ...]
    states: Float[np.ndarray, "token dim"]
    likeliest: tuple[tuple[str, tuple[tuple[str, float], ...]], ...]
    similarity: float | None


NOTHING_READ = EncoderReading((), np.zeros((0, 0), np.float32), (), None)


def shifts(before: EncoderReading, after: EncoderReading) -> Float[np.ndarray, " token"]:
    """Compute how far each token's last state has turned: 1 - cosine, 0 to 2.

    It is half the squared distance of the states at length 1, which rounding does not decide where they are nearly equal. A
    state of no length is at a right angle to every other.
    """
    one, other = (each.states.astype(np.float64) for each in (before, after))
    lengths = [np.linalg.norm(states, axis=1, keepdims=True) for states in (one, other)]
    units = [states / np.where(length > 0, length, 1) for states, length in zip((one, other), lengths, strict=True)]
    halves = np.square(units[0] - units[1]).sum(axis=1) / 2
    return np.where((lengths[0] == 0)[:, 0] ^ (lengths[1] == 0)[:, 0], 1.0, halves)


def without_prefix(trace: AttentionTrace, prompt: Prompt, prefix: str) -> AttentionTrace:
    """Turn the trace of a task prefix and a text into one of the text alone, which is `prompt`.

    The tokens of the prefix become special; all others stand where they stand in the text.
    """
    if not prefix:
        return trace
    cut = None if trace.cut is None else max(trace.cut - len(prefix), 0)
    return replace(trace, prompt=prompt, maps=tuple(_without_prefix(each, len(prefix)) for each in trace.maps), cut=cut)


def _without_prefix(attention: AttentionMap, n_characters: int) -> AttentionMap:
    def moved(token: Token) -> Token:
        if token.special:
            return token
        if token.start < n_characters:
            return Token(token.text, 0, 0, special=True)
        return replace(token, start=token.start - n_characters, end=token.end - n_characters)

    source = {"encoder": ("queries", "keys"), "cross": ("keys",), "decoder": ()}[attention.kind]
    axes: dict[str, Any] = {axis: tuple(moved(token) for token in getattr(attention, axis)) for axis in source}
    return replace(attention, **axes)


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
