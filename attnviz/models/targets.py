"""Targets: the parts of a model's output that can be explained; and a model and a prompt, bound to one of them.

A `BoundTarget` is all that an attribution method needs to know. Its `run` is a batched forward pass over token ids. What a
method changes or records in it (embeddings in the place of tokens, attention held fixed, what each attention mixed) is done by
a `TorchFunctionMode` around it: it sees every operation of this thread's pass and of no other's, and leaves no mark on the
model.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import torch
from jaxtyping import Float, Int
from torch import Tensor
from torch.nn import functional as F
from torch.overrides import TorchFunctionMode

from attnviz.core.errors import ArgumentError, ModelError, described
from attnviz.core.trace import Token

# The kinds of targets: their name in an error, and their label in a list.
TARGETS = {
    "answer": ("answer", "The answer"),
    "unanswered": ("answer", "That the passage does not say"),
    "token": ("translation", ""),
    "translation": ("translation", "The whole translation"),
    "similarity": ("likeness of two texts", "How alike the two texts are"),
    "next": ("next token", "The next token"),
    "rather": ("next token", ""),
    "masked": ("masked token", "The masked token"),
    "label": ("label", "The likeliest label"),
    "sentence": ("kept sentence", "The sentence that is kept first"),
}
# How many words of its own a target names.
_WORDS = {"next": 1, "rather": 2}
# A list that is longer helps nobody.
MOST_TARGETS = 200


@dataclass(frozen=True)
class Target:
    """The part of an output to explain: its `kind`, and `place`, the token or sentence, where there are several.

    words  of a language model the word to come next, else the likeliest: "next:Mary"; or of two that rather than this one:
           "rather:Mary John". `#` and a number is a piece of the vocabulary

    >>> Target.of("token:3"), Target.of("rather:Mary John")
    (Target(kind='token', place=3, words=()), Target(kind='rather', place=None, words=('Mary', 'John')))
    """

    kind: str
    place: int | None = None
    words: tuple[str, ...] = ()

    @staticmethod
    def of(text: str) -> "Target":
        """Read a target as it is written in an address or a shell.

        Raises:
            ModelError: there is no such target.
            ArgumentError: this is no text.
        """
        if not isinstance(text, str):
            raise ArgumentError(f"A target is a text, such as next:Mary, not {described(text)}.")
        kind, _, place = text.partition(":")
        if kind in _WORDS and (place or kind == "rather"):
            words = tuple(place.split())
            if len(words) != _WORDS[kind]:
                raise ModelError(f"{text!r} is no target: name one word as next:Mary, or two as rather:Mary John.")
            return Target(kind, words=words)
        if kind not in TARGETS or (place and not (place.isascii() and place.isdigit() and len(place) < 6)):
            raise ModelError(f"{text!r} is no target: choose one of {', '.join(TARGETS)}.")
        return Target(kind, int(place) if place else None)

    def __str__(self) -> str:
        place = " ".join(self.words) if self.place is None else str(self.place)
        return f"{self.kind}:{place}" if place else self.kind


def target_labels(kind: str, several: str = "", names: Sequence[str] = ()) -> dict[str, str]:
    """List a target by its label, and `names` as targets of a kind of which there are several.

    >>> target_labels("translation", "token", ["le", "chat"])
    {'translation': 'The whole translation', 'token:0': '1 · le', 'token:1': '2 · chat'}
    """
    return {kind: TARGETS[kind][1]} | {
        f"{several}:{place}": f"{place + 1} · {name}" for place, name in enumerate(names[:MOST_TARGETS])
    }


def no_such_output(model: str, what: str) -> ModelError:
    """Say that the model of that name has no output of that kind."""
    return ModelError(f"{model} has no {what} to explain: choose another target, or another model.")


@dataclass(frozen=True, eq=False)
class Outcome:
    """The target in a batch of texts: its score (a logit, or what stands for it), and ln p of it."""

    score: Float[Tensor, " batch"]
    log_probability: Float[Tensor, " batch"]


@dataclass(frozen=True)
class AttentionSite:
    """Where one attention stands among a model's positions: which of them are its queries, and which its keys.

    kind  "encoder", "decoder" or "cross", and the layer of that kind
    """

    queries: slice
    keys: slice
    kind: str = "encoder"
    layer: int = 0


@dataclass(frozen=True, eq=False)
class BoundTarget:
    """One text as a model reads it, and its target: the part of the output that is explained.

    target       what is explained, in words: "the answer “1887”"
    tokens       what gets a share; their positions come first among the model's
    embedding    the matrix whose rows stand for the tokens
    baseline_id  the id that replaces a masked token
    fixed        positions that are never masked: special tokens, and the answer itself
    readout      positions from which the output is read, with their weight
    n_positions  all positions: the tokens, and of a model that writes, what it has written
    sites        of each attention, in the order of a pass
    output_text  what the model says to texts of these ids; None: the target has no words
    layered      its attentions stand on each other in layers, with nothing else that mixes positions
    part         which part of a text that is read in parts this is, in words; empty: it is read as a whole
    unfreezable  why the score is not linear in the tokens' vectors once attention is fixed; empty: it is
    shifted      the model reads its tokens once more, behind a first one of its own and without the last: with its decoder
    progress     called with the share of the work that is done, 0 to 1
    """

    target: str
    tokens: tuple[Token, ...]
    ids: Int[Tensor, " token"]
    embedding: Tensor
    baseline_id: int
    fixed: frozenset[int]
    readout: Mapping[int, float]
    run: Callable[[Int[Tensor, "batch token"]], Outcome]
    sites: Sequence[AttentionSite]
    n_positions: int
    output_text: Callable[[Int[Tensor, "one token"]], str] | None = None
    layered: bool = True
    part: str = ""
    unfreezable: str = ""
    shifted: bool = False
    progress: Callable[[float], None] = lambda _: None

    def embedded(self) -> Float[Tensor, "token dim"]:
        """Look up the vectors of the tokens."""
        return self.embedding[self.ids].detach()

    def outcome(self, ids: Int[Tensor, "batch token"]) -> Outcome:
        """Run the model without a graph."""
        with torch.no_grad():
            return self.run(ids)

    def outcome_of(self, vectors: Float[Tensor, "batch token dim"]) -> Outcome:
        """Run the model on vectors in the place of its tokens."""
        with Embedded(self.embedding, self.ids, vectors, self.shifted):
            return self.run(self.ids.expand(len(vectors), -1))


@dataclass(eq=False)
class Embedded(TorchFunctionMode):
    """Within this context, the tokens of these ids that are looked up in a matrix, in their order, are these vectors instead.

    shifted  so are the same tokens once more, behind a first one and without the last
    """

    embedding: Tensor
    ids: Int[Tensor, " token"]
    vectors: Float[Tensor, "batch token dim"]
    shifted: bool = False
    _n_read: int = field(default=0, init=False)

    def __post_init__(self) -> None:
        super().__init__()

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        made = func(*args, **(kwargs or {}))
        if func is not F.embedding or args[1] is not self.embedding or args[0].dim() != 2:
            return made
        given = args[0]
        if self._n_read < len(self.ids):
            # Some stand their texts upright, a column each: a text as long as the batch can be told by its ids alone.
            for upright, rows in ((False, given), (True, given.T)):
                # A model may read two texts one after the other, and look other things up in the same matrix.
                place = slice(self._n_read, self._n_read + rows.shape[1])
                if len(rows) == len(self.vectors) and self._is_text(rows, place):
                    # A copy, for some change what they have looked up.
                    self._n_read, read = place.stop, self.vectors[:, place].clone()
                    return read.transpose(0, 1) if upright else read
            return made
        if self.shifted and self._is_text(given[:, 1:], slice(0, len(self.ids) - 1)):
            self.shifted = False
            return torch.cat([made[:, :1], self.vectors[:, :-1]], dim=1)
        return made

    def _is_text(self, given: Tensor, place: slice) -> bool:
        expected = self.ids[place]
        return given.shape[1] == len(expected) and bool((given == expected).all())
