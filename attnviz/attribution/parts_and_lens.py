"""Why a language model writes a word: direct parts of a logit, and the logit lens.

Direct parts are gradients: with the factors of norms and caps held fixed (Elhage et al. 2021, "direct logit attribution"), and
with everything that a layer computes cut off from what it read, a logit is linear in what was added, and a part is its gradient
times itself. That they sum to the logit is no matter of course, and is checked every time.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import Tensor
from torch.nn import functional as F
from torch.overrides import TorchFunctionMode

from attnviz.attribution.decoder_layers import (
    Reading,
    Streams,
    Watch,
    not_a_sum,
    states_of,
    stream_given,
    tensor_of,
    watch_layers,
    watching_pass,
    with_states,
    with_tensor,
)
from attnviz.attribution.recorded_pass import Frozen, as_array, curved
from attnviz.core.edits import Edits, HeadSet
from attnviz.core.errors import ArgumentError, EditError, PromptError, TraceError, cancellation_point, described
from attnviz.core.sampling import Candidate
from attnviz.core.trace import Prompt
from attnviz.core.weights import rounding_of
from attnviz.core.why import ComparedWords, LogitLens, Parts
from attnviz.models import catalog, device
from attnviz.models.capabilities import capabilities
from attnviz.models.edit import edited
from attnviz.models.hub.single_stack import Writer
from attnviz.models.result import Result

# A word as it is typed, or a candidate of a continuation: the very piece.
Word = str | Candidate | None
# Parts and logit differ by the rounding of so many sums; where they differ by more, something is missing.
CLOSE, ROUNDINGS = 1e-3, 8
# Tokens of all rows together whose logits are computed at once.
BATCH = 512


def _reading(result: Result, word: Word, rather_than: Word, position: int | None) -> Reading:
    """Find what a result read before a position, and the pieces of two words there."""
    writer, trace = _writer(result), result.trace
    pieces = writer.ids(result.continuation.pieces)
    place = len(pieces) if position is None else position
    if not hasattr(place, "__index__") or not 1 <= place <= len(pieces):
        named = place if isinstance(place, int) else described(place)
        raise PromptError(
            f"Words are explained from position 1 to {len(pieces)}, which the first token stands before; not {named}."
        )
    if word is None:
        stands = result.continuation.pieces[place] if place < len(pieces) else None
        targets = [writer.ids([stands or result.continuation.next_tokens(place - 1)[0].piece])[0]]
    else:
        targets = [writer.piece_of(word)]
    if rather_than is not None:
        targets.append(writer.piece_of(rather_than))
        check_differ(targets)
    names = ComparedWords(*(writer.text_of(each) for each in targets))
    return Reading(writer, tuple(pieces[:place]), trace.maps[-1].queries[:place], tuple(targets), names)


def check_differ(targets: Sequence[int]) -> None:
    """Check that two words begin with different pieces.

    Raises:
        PromptError: they do not.
    """
    if targets[0] == targets[1]:
        raise PromptError("Two words are compared that begin with different tokens: name both of them.")


def _writer(result: Result) -> Writer:
    if not isinstance(result, Result):
        raise ArgumentError(f"Parts and lens are of what attnviz.run gives for the task “write”, not of {described(result)}.")
    if result.task != "write":
        raise TraceError(f"A word that is written is explained, and this result's task was {result.task}: run “write”.")
    if result.trace.edits:
        raise EditError("Why a word is written is computed without edits: remove the edits.")
    model = result.model if result.model is not None else catalog.load(result.name)
    return capabilities(model).writer()


# ---- parts


def parts(result: Result, word: Word = None, rather_than: Word = None, *, position: int | None = None) -> Parts:
    """Compute what every part of the model adds to the logit of a word, or to the difference of two words' logits.

    `word`: without, the one that stands at the position, or is likeliest to come. `position`: of the token to explain; without,
    the next one. The factor of the last norm, of norms behind a block and of a cap of logits are held fixed.

    Raises:
        ModelError: the model cannot be taken apart; the message says why.
        PromptError: there is no such position.
        TraceError, EditError: the result is not of a text that was written on, or was edited.

    >>> import attnviz as av
    >>> result = av.run(av.load("smollm2"), "write", "The capital of France is", tokens=0)
    >>> av.parts(result, "Paris", "London").strongest
    (23, 4)
    """
    return _parts(_reading(result, word, rather_than, position))


@device.ordinary_tensors()
def _parts(reading: Reading) -> Parts:
    model = reading.model
    n_layers, n_heads = watch_layers(model), model.card.n_heads
    leaves, names = _Leaves(), {id(each): name for name, each in model.model.named_parameters() if each.ndim == 1}
    with model.computing(), torch.enable_grad(), _Biases(names) as biases, Frozen():
        with watching_pass(leaves, n_heads) as tape:
            score = reading.score(reading.logits())[0]
        if len(leaves.contexts) != len(model.layers(model.kind)) or leaves.embedding is None:
            raise not_a_sum(model, f"{len(leaves.contexts)} attentions were seen in {n_layers} layers")
        added = [leaves.embedding, *leaves.contexts, *(each for _, each in leaves.additions), *biases.leaves.values()]
        if not score.requires_grad or (name := curved(score)):
            raise not_a_sum(model, f"on the way lies what is no sum ({name})" if score.requires_grad else "nothing was added")
        gradients = iter(torch.autograd.grad(score, added, allow_unused=True))
    embedding, *contexts = (next(gradients) for _ in range(1 + len(leaves.contexts)))
    if embedding is None or any(each is None for each in contexts):
        raise not_a_sum(model, "not everything that was added reaches the last norm by itself")
    heads, keys = np.zeros((n_layers, n_heads)), np.zeros((n_layers, n_heads, len(reading.ids)))
    for place, (layer, context, gradient) in enumerate(zip(model.layers(model.kind), leaves.contexts, contexts, strict=True)):
        heads[layer] = as_array((context * gradient)[0, :, -1].sum(dim=-1))
        weights, value = tape.last_row(place)
        keys[layer] = as_array(weights * (value @ gradient[0, :, -1, :, None])[..., 0])
    mlps = np.zeros(n_layers)
    for layer, leaf in leaves.additions:
        if (gradient := next(gradients)) is not None:
            mlps[layer] += float((leaf.detach() * gradient).double().sum())
    constant = {name: (leaf, gradient) for (name, leaf), gradient in zip(biases.leaves.items(), gradients, strict=True)}
    summands = {
        name: float((leaf.detach() * slope).double().sum()) for name, (leaf, slope) in constant.items() if slope is not None
    }
    start = float((leaves.embedding.detach() * embedding).double().sum())
    size = sum(float(np.abs(each).sum()) for each in (start, heads, mlps, list(summands.values())))
    tolerance = max(CLOSE, ROUNDINGS * rounding_of(model.model.dtype) * size)
    try:
        facts = (len(reading.ids), reading.tokens, float(score.detach()), start, heads, keys, mlps, summands, tolerance)
        return Parts(model.card.name, reading.words, *facts)
    except TraceError as error:
        raise not_a_sum(model, str(error)) from error


def without_head(
    result: Result, word: Word = None, rather_than: Word = None, *, layer: int, head: int, position: int | None = None
) -> float:
    """Compute the logit, or the difference, that the model gives with a head switched off: all that follows from it included.

    Raises:
        EditError: the model cannot be edited.
        ModelError, PromptError, TraceError: as of `parts`.
    """
    reading = _reading(result, word, rather_than, position)
    off = Edits((HeadSet(reading.model.kind, layer, head),))
    with reading.model.computing(), torch.inference_mode(), edited(reading.model, Prompt(result.prompt.text), off):
        return float(reading.score(reading.logits())[0])


@dataclass(eq=False)
class _Leaves(Watch):
    """Cuts off all that adds to the stream from what it was computed from."""

    embedding: Tensor | None = None
    contexts: list[Tensor] = field(default_factory=list)
    additions: list[tuple[int, Tensor]] = field(default_factory=list)

    def layer(self, number: int, forward: Callable[..., Any], given: tuple[Any, ...], named: dict[str, Any]) -> Any:
        """Let the gradient of what enters the first layer be known."""
        if number == 0:
            self.embedding = _leaf(states_of(given, named))
            given, named = with_states(self.embedding.clone(), given, named)
        return forward(*given, **named)

    def addition(self, number: int, forward: Callable[..., Any], given: tuple[Any, ...], named: dict[str, Any]) -> Any:
        """Let the gradient of what is added be known, and no other pass through it."""
        with torch.no_grad():
            output = forward(*given, **named)
        stream = stream_given(tensor_of(output), given, named)
        leaf = _leaf(tensor_of(output) if stream is None else tensor_of(output) - stream)
        self.additions.append((number, leaf))
        # What is made a leaf must not be changed in place, and some add in place.
        return with_tensor(leaf.clone() if stream is None else stream + leaf, output)

    def context(self, place: int, context: Tensor) -> Tensor:
        """Let the gradient of what heads mixed be known."""
        self.contexts.append(_leaf(context))
        return self.contexts[-1].clone()


def _leaf(tensor: Tensor) -> Tensor:
    return tensor.detach().requires_grad_()


@dataclass(eq=False)
class _Biases(TorchFunctionMode):
    """Within this context the gradients of parameters are known that are added to what a gradient flows through."""

    names: Mapping[int, str]
    leaves: dict[str, Tensor] = field(default_factory=dict)

    def __post_init__(self) -> None:
        super().__init__()

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        if func in _ADDS and any(
            isinstance(each, Tensor) and each.requires_grad for each in args if id(each) not in self.names
        ):
            args = tuple(map(self._known, args))
            kwargs = {name: self._known(value) for name, value in kwargs.items()}
        return func(*args, **kwargs)

    def _known(self, value: Any) -> Any:
        if (name := self.names.get(id(value))) is None:
            return value
        return self.leaves.setdefault(name, _leaf(value))


_ADDS = {F.linear, torch.addmm, F.layer_norm, torch.add, Tensor.add, Tensor.__add__, Tensor.__radd__}


# ---- the logit lens


def lens(result: Result, *, position: int | None = None) -> LogitLens:
    """Read every layer's stream as the model reads its last: the last norm and the layer on top over each, at every position.

    The last row is what the model says. `position`: what is said of that token alone, behind the one before it.

    Raises:
        ModelError: the model's layers are not a list of their own.
        PromptError, TraceError, EditError: as of `parts`.

    >>> import attnviz as av
    >>> result = av.run(av.load("smollm2"), "write", "The capital of France is", tokens=0)
    >>> av.lens(result).likeliest[-1][-1]
    ' Paris'
    """
    reading = _reading(result, None, None, position)
    model, n_layers = reading.model, watch_layers(reading.model)
    streams, measured = Streams(), []

    def logits(n_rows: int = 1) -> Float[Tensor, "row token vocabulary"]:
        if position is not None:
            return reading.logits(reading.inputs(n_rows))[:, None]
        return model.model(**reading.inputs(n_rows)).logits

    with model.computing(), torch.inference_mode():
        with watching_pass(streams, model.card.n_heads):
            (said,) = logits()
        own = said.argmax(dim=-1)
        size = max(1, BATCH // len(reading.ids))
        for first in range(0, n_layers, size):
            cancellation_point()
            rows = range(first, min(first + size, n_layers))
            with watching_pass(_Ended(streams, rows), model.card.n_heads):
                measured += [_measure(each, own) for each in logits(len(rows))]
        measured.append(_measure(said, own))
    best, shares, logs, ranks, entropy = (torch.stack(column).cpu().numpy() for column in zip(*measured, strict=True))
    texts = {index: reading.writer.text_of(index) for index in {*best.ravel().tolist(), *own.tolist()}}
    likeliest = tuple(tuple(texts[index] for index in row) for row in best.tolist())
    words = tuple(texts[index] for index in own.tolist())
    return LogitLens(model.card.name, reading.tokens[-len(words) :], words, likeliest, shares, logs, ranks, entropy)


def _measure(logits: Float[Tensor, "token vocabulary"], own: Int[Tensor, " token"]) -> tuple[Tensor, ...]:
    """Find the likeliest, p of it, ln p and rank of the model's own word, and the entropy in bits."""
    logits = logits.float()
    top, best = logits.max(dim=-1)
    shares = (logits - top[:, None]).exp_()
    mass = shares.sum(dim=-1)
    given = logits.gather(1, own[:, None])
    # H = ln Σ exp(z) − Σ p z, of z less the largest.
    entropy = mass.log() - (shares * logits).sum(dim=-1) / mass + top
    # Ones and zeros as floats are summed seven times as fast as truths, and exactly: no vocabulary has 2²⁴ tokens.
    ranks = 1 + torch.gt(logits, given, out=shares).sum(dim=-1).long()
    return best, 1 / mass, given[:, 0] - top - mass.log(), ranks, entropy.clamp(min=0) / np.log(2)


@dataclass(eq=False)
class _Ended(Watch):
    """Ends a pass after so many layers, each row of a batch after another number: none is computed again."""

    streams: Streams
    rows: Sequence[int]

    def layer(self, number: int, forward: Callable[..., Any], given: tuple[Any, ...], named: dict[str, Any]) -> Any:
        """Return what was noted."""
        output = self.streams.left[number]
        if number < len(self.streams.left) - 1:
            return output
        return with_tensor(torch.cat([self.streams.stream(row) for row in self.rows]), output)
