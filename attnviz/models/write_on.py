"""Writing on, token by token: what is likeliest at each position; and models that read a source and write another text."""

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import Tensor

from attnviz.core.errors import ModelError, PromptError, cancellation_point
from attnviz.core.sampling import CANDIDATES, TEMPERATURES, Continuation, WritingOptions, draw, sampling_probabilities
from attnviz.core.trace import AttentionTrace, Prompt
from attnviz.models.base import DecodingStep, SearchTree, Translation
from attnviz.models.capabilities import Capabilities
from attnviz.models.targets import BoundTarget, Target, target_labels

if TYPE_CHECKING:
    from attnviz.models.hub.single_stack import Writer
    from attnviz.nn.decoding import Beam

WordLogits = Float[Tensor, "token vocabulary"]
# Called with what is written so far: its pieces, and the text that they are.
Written = Callable[[tuple[str, ...], str], None]


def write_on(
    steps: Iterator[Float[Tensor, " vocabulary"]],
    written: list[int],
    places: range,
    options: WritingOptions,
    *,
    ended: Callable[[Sequence[int]], bool],
    report: Callable[[], None],
    never: Sequence[int] = (),
) -> None:
    """Draw a piece a step, each into `written`, which `steps` reads; `places` count them from the beginning of what is written.

    never  pieces that are not drawn
    """
    for place in places:
        cancellation_point()
        logits = next(steps).float().cpu().numpy()
        if never:
            logits = logits.copy()
            logits[list(never)] = -np.inf
        shares = sampling_probabilities(logits, options) if options.temperature else logits
        written.append(draw(shares, options, place))
        report()
        if ended(written[-1:]):
            break


# Positions whose vocabularies stay in a processor's cache while they are read at each temperature.
_ROWS = 8


def continuation(
    start: int,
    ids: Sequence[int],
    logits: Iterable[tuple[int, WordLogits]],
    names: Callable[[Sequence[int]], Sequence[str]],
    texts: Callable[[int], str],
) -> Continuation:
    """Make what comes next behind every one of some pieces; `logits` are those of some positions, with the place of the first.

    start  number of pieces that were given
    names  of pieces in the vocabulary; texts: a piece as it stands in a text
    """
    columns: list[list[Tensor]] = [[], [], [], []]
    # Behind the last piece nothing stands yet.
    following = torch.tensor([*ids[1:], 0])
    with torch.inference_mode():
        for first, some in logits:
            behind = following[first : first + len(some)].to(some.device)
            for rows, ids_behind in zip(some.split(_ROWS), behind.split(_ROWS), strict=True):
                for column, part in zip(columns, likeliest(rows.float(), ids_behind), strict=True):
                    column.append(part.cpu())
    candidates, scores, rest, given = (torch.cat(column).numpy() for column in columns)
    used = np.unique(candidates).tolist()
    vocabulary: Mapping[int, tuple[str, str]] = {
        index: (name, texts(index)) for index, name in zip(used, names(used), strict=True)
    }
    given = np.concatenate([np.zeros(1, np.float32), given[:-1]])
    return Continuation(start, tuple(names(ids)), candidates, scores, rest, given, vocabulary)


def likeliest(logits: WordLogits, following: Int[Tensor, " token"]) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Find the likeliest ids of some positions, ln p of them, of all others at each temperature, and of what follows."""
    scores = logits.log_softmax(dim=-1)
    given = scores.gather(1, following.long()[:, None])[:, 0]
    best = scores.topk(min(CANDIDATES, scores.shape[1]), dim=1)
    return best.indices.int(), best.values, _mass(scores.scatter(1, best.indices, -math.inf)), given


def _mass(scores: WordLogits) -> Float[Tensor, "token temperature"]:
    """Compute ln of the sum of p^(1/T) over the vocabulary at each temperature T.

    What that sum would be divided by, at each T, is left out: it is the same for all of a vocabulary.
    """
    # Where no piece is left all are -inf, and so is the sum.
    highest = scores.amax(dim=1, keepdim=True).clamp(min=torch.finfo(scores.dtype).min)
    below, sums = scores - highest, dict[float, Tensor]()
    for temperature in TEMPERATURES[len(TEMPERATURES) // 2 :]:
        powers = (below / temperature).exp_()
        while temperature in TEMPERATURES:
            sums[temperature] = powers.sum(dim=1)
            # At half of a temperature each is its own square, which takes no other exponential.
            powers.square_()
            temperature = round(temperature / 2, 2)
    return torch.stack([sums[each] for each in TEMPERATURES], dim=1).log() + highest / scores.new_tensor(TEMPERATURES)


class WritesFromSource(Capabilities):
    """Reads a source, and writes another text, token by token: a translation, or what comes behind given pieces.

    A piece is a number of the decoder's vocabulary. What raises `NotImplementedError` here is the model's own.

    Raises:
        PromptError: nothing in the text can be read, or one of the names is no piece that this model writes.
    """

    @property
    def closed(self) -> frozenset[str]:
        """The names of the pieces that the model cannot be asked to write."""
        raise NotImplementedError

    @property
    def begun(self) -> tuple[int, ...]:
        """The pieces that the decoder reads before any of its own: its start, and the mark of a language."""
        raise NotImplementedError

    @property
    def never_written(self) -> tuple[int, ...]:
        """Pieces that it does not write."""
        raise NotImplementedError

    @property
    def most_written(self) -> int:
        """Pieces that the decoder reads at most."""
        raise NotImplementedError

    def steps(self, prompt: Prompt | str) -> tuple[AttentionTrace, tuple[DecodingStep, ...]]:
        """Trace the greedy translation or `prompt.target`, and tell how likely the model found every token of it."""
        raise NotImplementedError

    def follow(self, prompt: Prompt, pieces: Sequence[int]) -> tuple[AttentionTrace, tuple[DecodingStep, ...]]:
        """Do as `steps`, of exactly these pieces, such as one of several translations that were found."""
        raise NotImplementedError

    def translate(self, text: str, beam: "Beam | None" = None, prefix: Sequence[int] = ()) -> tuple[Translation, ...]:
        """Find the translations that begin with the pieces of `prefix`, best first: one without a beam."""
        raise NotImplementedError

    def search(self, text: str, beam: "Beam", prefix: Sequence[int] = ()) -> tuple[tuple[Translation, ...], SearchTree | None]:
        """Translate, and return the tree that the search walked after the prefix; None where the search does not show it."""
        raise NotImplementedError

    def pieces_of(self, prompt: Prompt) -> tuple[int, ...]:
        """Return the pieces of what is written: of `prompt.target`, or of what the model writes by itself."""
        raise NotImplementedError

    def pieces(self, names: Sequence[str]) -> tuple[int, ...]:
        """Look up pieces by their names, such as those of `DecodingStep.alternatives`."""
        raise NotImplementedError

    def known_pieces(self, names: Sequence[str]) -> tuple[int, ...]:
        """Look up pieces by their names, whatever they are."""
        raise NotImplementedError

    def names(self, pieces: Sequence[int]) -> tuple[str, ...]:
        """Name pieces as the vocabulary does: the reverse of `pieces`."""
        raise NotImplementedError

    def ended(self, pieces: Sequence[int]) -> bool:
        """Say whether an end mark is among the pieces."""
        raise NotImplementedError

    def next_scores(self, prompt: Prompt) -> Callable[[Sequence[int]], Float[Tensor, " vocabulary"]]:
        """Read a source once, and return what scores the piece behind some pieces of the decoder."""
        raise NotImplementedError

    def reread(self, prompt: Prompt, pieces: Sequence[int]) -> tuple[AttentionTrace, WordLogits]:
        """Trace a pass in which the decoder reads these pieces, the last one too; a row's token is the one that it reads."""
        raise NotImplementedError

    def spell(self, pieces: Sequence[int]) -> str:
        """Spell pieces as text."""
        raise NotImplementedError

    def spell_alone(self, piece: int) -> str:
        """Spell one piece as it would stand in a text, a space before it included."""
        raise NotImplementedError

    def _bind(self, prompt: Prompt, pieces: Sequence[int], step: int | None) -> BoundTarget:
        raise NotImplementedError

    def translator(self) -> "WritesFromSource":
        """Return what translates."""
        return self

    def prefixed(self, prompt: Prompt) -> Prompt:
        """Put before a text what must stand there so that it is translated."""
        from attnviz.models.translation import TRANSLATE

        return replace(prompt, text=self.task_prefix(TRANSLATE) + prompt.text)

    def targets(self, prompt: Prompt) -> dict[str, str]:
        """List the translation, and each of its tokens."""
        with torch.no_grad():
            return target_labels("translation", "token", self.names(self.pieces_of(self.prefixed(prompt))))

    def bind_target(self, prompt: Prompt, target: Target) -> BoundTarget:
        """Bind the model to a token of its translation, or of `prompt.target`, or to all of them."""
        if target.kind not in ("translation", "token"):
            return super().bind_target(prompt, target)
        return self._bind(prompt, (), target.place or 0 if target.kind == "token" else None)

    def bind_trace(self, prompt: Prompt, pieces: Sequence[int] = ()) -> BoundTarget:
        """Bind the model to a translation of exactly these pieces, or to that of `trace`."""
        return self._bind(prompt, pieces, None)

    def write(self, prompt: Prompt, options: WritingOptions) -> AttentionTrace:
        """Write from a source, and trace it; the trace says what comes next at every position of the decoder."""
        reader = self._reader(prompt)
        pieces = [*reader.begun, *self._drawn(reader, prompt, options, lambda pieces, text: None)]
        trace, logits = reader.reread(prompt, pieces)
        return replace(
            trace, continuation=continuation(len(reader.begun), pieces, [(0, logits)], reader.names, reader.spell_alone)
        )

    def write_pieces(self, prompt: Prompt, options: WritingOptions, report: Written) -> tuple[str, ...]:
        """Do as `write`, for the pieces alone."""
        reader = self._reader(prompt)
        return reader.names(self._drawn(reader, prompt, options, report))

    def _reader(self, prompt: Prompt) -> "WritesFromSource":
        if prompt.target:
            raise PromptError(f"{self.card.name} writes by itself here: leave out the target, or choose the task translate.")
        reader: Any = self.in_language(prompt.language)
        return reader

    def _drawn(self, reader: "WritesFromSource", prompt: Prompt, options: WritingOptions, report: Written) -> list[int]:
        room = max(reader.most_written - len(reader.begun), 0)
        begins = list(reader.known_pieces(options.begins))[:room]
        written: list[int] = []

        def steps() -> Iterator[Float[Tensor, " vocabulary"]]:
            score = reader.next_scores(prompt)
            while True:
                yield score([*reader.begun, *begins, *written])

        places = range(len(begins), min(len(begins) + options.tokens, room))
        if not reader.ended(begins):
            write_on(
                steps(), written, places, options, ended=reader.ended, never=reader.never_written,
                report=lambda: report(reader.names(written), reader.spell([*begins, *written])),
            )  # fmt: skip
        return [*begins, *written]

    def writer(self) -> "Writer":
        """Refuse to say why a word was written."""
        raise ModelError(
            f"{self.card.name} reads a source, and why it wrote a word is not computed: choose a decoder, such as smollm2."
        )
