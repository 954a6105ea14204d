"""Patching a language model from another text: a part is set to what it is there, and the model says something else.

What stands before the first token that differs is the same whatever is patched: its keys and values are computed once, and so
are the layers below a part.
"""

import copy
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

from attnviz.attribution.decoder_layers import (
    Reading,
    Streams,
    Watch,
    noted,
    states_of,
    stream_given,
    tensor_of,
    watching_pass,
    with_states,
    with_tensor,
)
from attnviz.attribution.parts_and_lens import CLOSE, ROUNDINGS, Word, check_differ
from attnviz.attribution.recorded_pass import as_array
from attnviz.core.errors import ModelError, PromptError, cancellation_point
from attnviz.core.trace import Prompt
from attnviz.core.weights import rounding_of
from attnviz.core.why import WHATS, ComparedWords, PatchCurve, Patches, What
from attnviz.models import device
from attnviz.models.base import AttentionModel, Progress, silent
from attnviz.models.capabilities import capabilities
from attnviz.models.hub.hub_model import TracedModel
from attnviz.models.hub.single_stack import Writer

# Tokens of all rows together that are computed at once, and of one text that is patched.
BATCH, MOST_PATCHED = 512, 256
# As often are so many parts drawn by chance.
DRAWS = 20
# A part: its row and column in `Patches`.
Part = tuple[int, int]


def patch(
    model: AttentionModel,
    one: str,
    other: str,
    word: Word = None,
    rather_than: Word = None,
    what: str = "heads",
    progress: Progress = silent,
) -> Patches:
    """Set each part of a model to what it is in another text, one at a time, and see what two words' logits become.

    what  "heads" and "mlps" are set at all positions; "stream" after each number of layers, at each position
    word  without, the likeliest next one of the first text; `rather_than`, without, of the other

    Raises:
        ModelError: the model cannot be patched.
        PromptError: the texts are not of one length, or too long.
    """
    kind = _kind(what)
    patching = _Patching.of(capabilities(model).writer(), (one, other), (word, rather_than))
    estimate = patching.estimated(kind)
    return replace(estimate, patched=patching.patched(estimate.what, estimate.estimate.shape, progress))


def estimate_patches(
    model: AttentionModel, one: str, other: str, word: Word = None, rather_than: Word = None, what: str = "heads"
) -> Patches:
    """Estimate what `patch` computes by gradient times difference, which takes three passes.

    Raises:
        ModelError, PromptError: as of `patch`.

    >>> import attnviz as av
    >>> texts = "The capital of France is", "The capital of Italy is"
    >>> av.estimate_patches(av.load("smollm2"), *texts, "Paris", "Rome", what="mlps").difference.shape
    (30, 1)
    """
    kind = _kind(what)
    return _Patching.of(capabilities(model).writer(), (one, other), (word, rather_than)).estimated(kind)


def _kind(what: str) -> What:
    if (kind := next((each for each in WHATS if each == what), None)) is None:
        raise PromptError(f"What is patched is one of {', '.join(WHATS)}, not {what!r}.")
    return kind


def patch_at_random(model: AttentionModel, patches: Patches, texts: Sequence[str], progress: Progress = silent) -> Patches:
    """Set the strongest parts also to what they are in other texts: what any text would do to them is no finding.

    `texts` are read up to the length of the two that were compared.

    Raises:
        ModelError: the model cannot be patched.
        PromptError: a text is shorter than these, or there is none.
    """
    if isinstance(texts, str) or not texts:
        raise PromptError("The texts that have nothing to do with these two are a list of one or more: give that list.")
    one, *others = passes = _passes_of(model, patches, texts)
    beginning = _Beginning.of([reading for reading, _ in passes], one[1], patches.one)
    random = np.full((len(patches.strongest), len(texts)), patches.one)
    for place, part in enumerate(patches.strongest):
        cancellation_point()
        random[place] = _scores(_Patch(one[1], [each for _, each in others], patches.what, [[part]] * len(texts), beginning))
        progress(f"{place + 1} of {len(random)} with random texts", (place + 1) / len(random))
    return replace(patches, random=random)


def patch_together(model: AttentionModel, patches: Patches, progress: Progress = silent) -> PatchCurve:
    """Set the k best parts to what they are in the other text together, k = 1, 2, 4 and so on to all, beside k random ones.

    The best are those that, each alone, move the difference furthest towards the other text. Of a stream, positions before the
    first token that differs are left out: there both texts are the same. A seed decides what is drawn by chance.

    Raises:
        ModelError: the model cannot be patched.
    """
    (first, one), (second, other) = _passes_of(model, patches, patches.texts[1:])
    beginning = _Beginning.of((first, second), one, patches.one)
    towards = patches.change * (1 if patches.other >= patches.one else -1)
    parts = list(np.ndindex(towards.shape))
    if patches.what == "stream":
        same = [own == there for own, there in zip(first.ids, second.ids, strict=True)]
        parts = [(row, column) for row, column in parts if not all(same[: column + 1])]
    counts = tuple(sorted({*(2**power for power in range(len(parts).bit_length())), len(parts)} - {0}))
    # What is drawn does not depend on the order of parts that do nearly the same, which rounding decides.
    dice = np.random.default_rng(2019)
    drawn = [[parts[place] for place in dice.permutation(len(parts))] for _ in range(DRAWS)]
    orders = [sorted(parts, key=lambda part: -towards[part]), *drawn]
    sets = [some[:count] for some in orders for count in counts]
    size, scores = max(1, BATCH // (len(first.ids) - beginning.length)), np.zeros(len(sets))
    for start in range(0, len(sets), size):
        cancellation_point()
        some = sets[start : start + size]
        scores[start : start + size] = _scores(_Patch(one, [other] * len(some), patches.what, some, beginning))
        progress(f"{min(start + size, len(sets))} of {len(sets)} together", min(start + size, len(sets)) / len(sets))
    table = scores.reshape(len(orders), len(counts))
    return PatchCurve(counts, table[0], table[1:])


def _passes_of(model: AttentionModel, patches: Patches, texts: Sequence[str]) -> list[tuple[Reading, Streams]]:
    """Read the first text of patches and others, each up to the length of the first.

    Raises:
        PromptError: a text is shorter than it.
    """
    writer = capabilities(model).writer()
    encoded = [writer.read(text) for text in (patches.texts[0], *texts)]
    length = len(encoded[0])
    if short := [text for text, each in zip(texts, encoded[1:], strict=True) if len(each) < length]:
        raise PromptError(f"Texts that are compared with have {length} tokens or more, and {short[0]!r} has fewer.")
    targets = tuple(writer.ids(patches.pieces))
    readings = [
        Reading(writer, tuple(each.inputs["input_ids"][:length]), each.tokens[:length], targets, patches.words)
        for each in encoded
    ]
    return [(reading, noted(reading)[0]) for reading in readings]


@dataclass(frozen=True, eq=False)
class _Patching:
    """Two readings of one length, and what either pass had in it."""

    texts: tuple[str, str]
    readings: tuple[Reading, Reading]
    passes: tuple[Streams, Streams]
    scores: tuple[float, float]

    @staticmethod
    def of(writer: Writer, texts: tuple[str, str], words: tuple[Word, Word]) -> "_Patching":
        texts = (Prompt.of(texts[0]).text, Prompt.of(texts[1]).text)
        encoded = [writer.read(text) for text in texts]
        lengths = [len(each) for each in encoded]
        if lengths[0] != lengths[1] or lengths[0] > MOST_PATCHED:
            raise PromptError(
                f"Texts that are patched have as many tokens as each other, at most {MOST_PATCHED}; these have {lengths[0]} "
                f"and {lengths[1]}: change one of them."
            )
        blank = [Reading(writer, tuple(each.inputs["input_ids"]), each.tokens, (0,), ComparedWords("")) for each in encoded]
        streams, logits = zip(*map(noted, blank), strict=True)
        likeliest = [int(each[0].argmax()) for each in logits]
        targets = tuple(own if name is None else writer.piece_of(name) for own, name in zip(likeliest, words, strict=True))
        check_differ(targets)
        names = ComparedWords(*map(writer.text_of, targets))
        readings = tuple(Reading(writer, each.ids, each.tokens, targets, names) for each in blank)
        scores = [float(readings[0].score(each)[0]) for each in logits]
        return _Patching(texts, (readings[0], readings[1]), streams, (scores[0], scores[1]))

    @property
    def model(self) -> TracedModel:
        return self.readings[0].model

    def estimated(self, what: What) -> Patches:
        """Estimate what becomes of the difference with each part patched."""
        one, other = self.readings
        facts = (one.model.card.name, what, one.words, self.texts, (one.tokens, other.tokens), *self.scores)
        return Patches(*facts, None, self.scores[0] + self._estimate(what), one.writer.names(one.targets))

    @device.ordinary_tensors()
    def _estimate(self, what: What) -> Float[np.ndarray, "row column"]:
        """Compute gradient times difference of each part: the change, were the model a straight line between the two texts."""
        model, other, kept = self.model, self.passes[1], _Gradients()
        with model.computing(), torch.enable_grad():
            with watching_pass(kept, model.card.n_heads):
                score = self.readings[0].score(self.readings[0].logits())[0]
            n_layers = len(other.entered)
            if what == "stream":
                rows = [*kept.entered, kept.last]
                moved = [(each, other.stream(row) - each) for row, each in enumerate(rows)]
                return np.stack([as_array((slope * way).sum(dim=-1)[0]) for slope, way in _slopes(score, moved)])
            if what == "mlps":
                pairs = [
                    (layer, each, there)
                    for layer, added in enumerate(kept.additions)
                    for place, (each, there) in enumerate(zip(added, other.additions[layer], strict=True))
                    if not _goes_on(each, added[place + 1 :])
                ]
                moved = [(each, there - each) for _, each, there in pairs]
                changes = np.zeros((n_layers, 1))
                for (layer, _, _), (slope, way) in zip(pairs, _slopes(score, moved), strict=True):
                    changes[layer] += float((slope * way).double().sum())
                return changes
            moved = [(each, there - each) for each, there in zip(kept.contexts, other.contexts, strict=True)]
            changes = np.zeros((n_layers, model.card.n_heads))
            for layer, (slope, way) in zip(model.layers(model.kind), _slopes(score, moved), strict=True):
                changes[layer] = as_array((slope * way)[0].sum(dim=(-2, -1)))
            return changes

    def patched(self, what: What, shape: tuple[int, ...], progress: Progress) -> Float[np.ndarray, "row column"]:
        """Compute the difference with each part patched, those of one layer in one batch."""
        n_tokens = len(self.readings[0].ids) - self._beginning.length
        patched, size, done = np.full(shape, self.scores[0]), max(1, BATCH // n_tokens), 0
        parts = [(row, columns) for row in range(shape[0]) if (columns := self._apart(what, row, shape[1]))]
        total = sum(len(columns) for _, columns in parts)
        for row, columns in parts:
            for first in range(0, len(columns), size):
                cancellation_point()
                some = columns[first : first + size]
                patched[row, some] = self._scores(what, row, some)
                done += len(some)
                progress(f"{done} of {total}", done / total)
        return patched

    def _apart(self, what: What, row: int, n_columns: int) -> list[int]:
        """List the columns of a row that differ between the texts: to set another to what it is would change nothing."""
        one, other = self.passes
        if what == "stream":
            moved = (one.stream(row) != other.stream(row)).any(dim=-1)[0]
        elif what == "mlps":
            pairs = zip(one.additions[row], other.additions[row], strict=True)
            moved = torch.tensor([any(bool((each != there).any()) for each, there in pairs)])
        elif row in (layers := list(self.model.layers(self.model.kind))):
            place = layers.index(row)
            moved = (one.contexts[place] != other.contexts[place]).any(dim=-1).any(dim=-1)[0]
        else:
            return []
        return [column for column in range(n_columns) if moved[column]]

    def _scores(self, what: What, row: int, columns: Sequence[int]) -> Float[np.ndarray, " column"]:
        one, other = self.passes
        parts = [[(row, column)] for column in columns]
        return _scores(_Patch(one, [other] * len(parts), what, parts, self._beginning))

    @cached_property
    def _beginning(self) -> "_Beginning":
        return _Beginning.of(self.readings, self.passes[0], self.scores[0])


@dataclass(frozen=True)
class _Beginning:
    """The tokens of a text before the first that differs, with their keys and values; none where these give another output."""

    reading: Reading
    length: int = 0
    cache: Any = None

    @staticmethod
    def of(readings: Sequence[Reading], one: Streams, score: float) -> "_Beginning":
        """Find what the first text shares with all others.

        Raises:
            ModelError: a pass which begins at a layer gives something else than a whole pass.
        """
        reading = readings[0]
        # The last token is always read, for it says what comes next.
        columns = list(zip(*(each.ids for each in readings), strict=True))[:-1]
        length = next((place for place, ids in enumerate(columns) if len(set(ids)) > 1), len(columns))
        within = max(CLOSE, ROUNDINGS * rounding_of(reading.model.model.dtype) * 100)
        for beginning in (_Beginning._read(reading, length), _Beginning(reading)):
            watch = _Patch(one, [one], "stream", [[(len(one.entered) // 2, len(columns))]], beginning)
            # What some hand from layer to layer beside the stream is as long as the whole text, and fits into no other.
            with suppress(ModelError):
                if abs(_scores(watch)[0] - score) <= within:
                    return beginning
        raise ModelError(
            f"{reading.model.card.name} gives another output when a pass begins at one of its layers: it cannot be patched."
        )

    @staticmethod
    def _read(reading: Reading, length: int) -> "_Beginning":
        if not length or not reading.writer.continues:
            return _Beginning(reading)
        ids = reading.inputs()["input_ids"][:, :length]
        with reading.model.computing(), torch.inference_mode():
            output = reading.model.model(input_ids=ids, use_cache=True, **reading.writer.last_alone(ids))
        cache = output.past_key_values
        return _Beginning(reading, length, cache) if hasattr(cache, "reorder_cache") else _Beginning(reading)

    @property
    def layers(self) -> Sequence[int]:
        return self.reading.model.layers(self.reading.model.kind)

    def inputs(self, n_rows: int) -> dict[str, Any]:
        """Return what the model is called with behind these tokens, in so many rows."""
        inputs = self.reading.inputs(n_rows)
        if not self.length:
            return inputs
        # A pass adds to its cache.
        cache = copy.deepcopy(self.cache)
        # As a beam search does, which goes on in rows of its choice: states of layers without attention are repeated so, too.
        cache.reorder_cache(torch.zeros(n_rows, dtype=torch.long, device=self.reading.model.model.device))
        return {"input_ids": inputs["input_ids"][:, self.length :], "past_key_values": cache, "use_cache": True}


def _scores(watch: "_Patch") -> Float[np.ndarray, " column"]:
    """Compute the difference of a batch of patches."""
    reading = watch.beginning.reading
    with reading.model.computing(), torch.inference_mode(), watching_pass(watch, reading.model.card.n_heads):
        inputs = watch.beginning.inputs(len(watch.parts))
        return reading.score(reading.logits(inputs)).double().cpu().numpy()


def _slopes(score: Tensor, moved: Sequence[tuple[Tensor, Tensor]]) -> Iterator[tuple[Tensor, Tensor]]:
    """Give the gradient of each part, and how far it is from the other text's; what nothing depends on has none."""
    gradients = torch.autograd.grad(score, [each for each, _ in moved], allow_unused=True)
    for (_, way), gradient in zip(moved, gradients, strict=True):
        yield torch.zeros_like(way) if gradient is None else gradient, way.detach()


def _goes_on(added: Tensor, later: Sequence[Tensor]) -> bool:
    """Say whether what is added goes into a later addition, as OPT's first matrix does, and is counted there."""
    given = torch.autograd.grad([each.sum() for each in later], added, retain_graph=True, allow_unused=True) if later else ()
    return any(each is not None for each in given)


@dataclass(eq=False)
class _Gradients(Streams):
    """Notes as `Streams`, each with a gradient that goes on through what was computed from it."""

    last: Any = None

    def layer(self, number: int, forward: Callable[..., Any], given: tuple[Any, ...], named: dict[str, Any]) -> Any:
        """Let the gradient of what enters, and leaves the last layer, be known."""
        given, named = with_states(_open(states_of(given, named)), given, named)
        output = super().layer(number, forward, given, named)
        self.last = _open(tensor_of(output))
        return with_tensor(self.last, output)

    def addition(self, number: int, forward: Callable[..., Any], given: tuple[Any, ...], named: dict[str, Any]) -> Any:
        """Let the gradient of what is added be known."""
        output = forward(*given, **named)
        stream = stream_given(tensor_of(output), given, named)
        added = _open(tensor_of(output) if stream is None else tensor_of(output) - stream)
        self.additions[number].append(added)
        return with_tensor(added.clone() if stream is None else stream + added, output)

    def context(self, place: int, context: Tensor) -> Tensor:
        """Let the gradient of what heads mixed be known."""
        self.contexts.append(_open(context))
        return self.contexts[-1].clone()


def _open(tensor: Tensor) -> Tensor:
    """Return a tensor that has a gradient, also where no parameter below it wants one."""
    return tensor if tensor.requires_grad else tensor.requires_grad_()


@dataclass(eq=False)
class _Patch(Watch):
    """Begins at the lowest layer of some sets of parts; each set has a row, and a text in which its parts are what they become.

    Of all that was noted, what stands behind the beginning is used.
    """

    one: Streams
    others: Sequence[Streams]
    what: What
    parts: Sequence[Sequence[Part]]
    beginning: _Beginning
    _n_added: Counter[int] = field(default_factory=Counter)

    @cached_property
    def _first(self) -> int:
        return min(len(self.one.entered) - 1, *(row for parts in self.parts for row, _ in parts))

    def _set_in(self, layer: int) -> list[tuple[int, int, Streams]]:
        """List what is set in a layer: the row of the batch, the column of the part, and the text that it is taken from."""
        return [
            (place, column, other)
            for place, (parts, other) in enumerate(zip(self.parts, self.others, strict=True))
            for row, column in parts
            if row == layer
        ]

    def layer(self, number: int, forward: Callable[..., Any], given: tuple[Any, ...], named: dict[str, Any]) -> Any:
        """Give what the layers below gave; from the first one on, compute."""
        one, is_stream = self.one, self.what == "stream"
        if number < self._first:
            return with_tensor(self._behind(tensor_of(one.left[number])), one.left[number])
        if number == self._first:
            states = self._behind(one.entered[number]).expand(len(self.parts), -1, -1)
            given, named = with_states(states, given, named)
        if number == self._first or (is_stream and self._set_in(number)):
            states = states_of(given, named).clone()
            if is_stream:
                self._put_stream(number, states)
            given, named = with_states(states, given, named)
        output = forward(*given, **named)
        if is_stream and number + 1 == len(one.entered) and self._set_in(number + 1):
            states = tensor_of(output).clone()
            self._put_stream(number + 1, states)
            return with_tensor(states, output)
        return output

    def addition(self, number: int, forward: Callable[..., Any], given: tuple[Any, ...], named: dict[str, Any]) -> Any:
        """Put what is added in the other text in its place."""
        output = forward(*given, **named)
        if self.what != "mlps" or not (own := self._set_in(number)):
            return output
        stream = stream_given(tensor_of(output), given, named)
        added = (tensor_of(output) if stream is None else tensor_of(output) - stream).clone()
        # Some lay the rows of a batch one behind the other.
        rows = added.reshape(len(self.parts), -1).clone()
        for place, _, other in own:
            rows[place] = self._behind(other.additions[number][self._n_added[number]]).reshape(-1)
        added.copy_(rows.view_as(added))
        self._n_added[number] += 1
        return with_tensor(added if stream is None else stream + added, output)

    def context(self, place: int, context: Tensor) -> Tensor:
        """Put what a head mixed in the other text in its row."""
        layers = self.beginning.layers
        at = place + sum(layer < self._first for layer in layers)
        if self.what != "heads" or not (own := self._set_in(layers[at])):
            return context
        context = context.clone()
        for row, head, other in own:
            context[row, head] = self._behind(other.contexts[at])[0, head]
        return context

    def _put_stream(self, layer: int, states: Tensor) -> None:
        for row, position, other in self._set_in(layer):
            # In the beginning all texts are the same, but for the rounding of experts, which get other rows.
            if (place := position - self.beginning.length) >= 0:
                states[row, place] = other.stream(layer)[0, position]

    def _behind(self, tensor: Float[Tensor, "*row token dim"]) -> Tensor:
        return tensor[..., self.beginning.length :, :]
