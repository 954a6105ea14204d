"""Why a language model writes a word: direct parts of a logit, the logit lens, and patching from another text.

No family is known by name. The layers are the longest list of modules; what a head mixed is what a softmax multiplied; what
else adds to the stream are a layer's children with matrices, its attention and its norms aside. Direct parts are gradients:
with the factors of norms and caps held fixed (Elhage et al. 2021, "direct logit attribution"), and with everything that a layer
computes cut off from what it read, a logit is linear in what was added, and a part is its gradient times itself. That they sum
to the logit is no matter of course, and is checked every time.
"""

import re
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np
import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn
from torch.nn import functional as F
from torch.overrides import TorchFunctionMode

from attnviz.attribution.passes import AttentionTape, Frozen, curved, open_weights
from attnviz.core.edits import Edits, HeadSet
from attnviz.core.errors import ArgumentError, EditError, ModelError, PromptError, TraceError, cancellation_point, described
from attnviz.core.trace import Prompt, Token
from attnviz.core.weights import rounding_of
from attnviz.core.why import WHATS, ComparedWords, LogitLens, Parts, Patches, What
from attnviz.core.write import Candidate
from attnviz.models import catalog
from attnviz.models.base import AttentionModel, Progress, silent
from attnviz.models.capabilities import capabilities
from attnviz.models.edit import edited
from attnviz.models.hub.hub_model import TracedModel
from attnviz.models.hub.single_stack import Writer
from attnviz.models.result import Result
from attnviz.text.words import Encoded

# A word as it is typed, or a candidate of a continuation: the very piece.
Word = str | Candidate | None
# Parts and logit differ by the rounding of so many sums; where they differ by more, something is missing.
CLOSE, ROUNDINGS = 1e-3, 8
# Tokens of all rows together that are computed at once, and of one text that is patched.
BATCH, MOST_PATCHED = 512, 256
# A head copies a token that is among so many likeliest ones.
TOP = 5
_ATTENTION, _NORM = re.compile("att(ention|n)", re.IGNORECASE), re.compile("norm", re.IGNORECASE)


# ---- one pass, watched


class Watch:
    """A pass in which layers, and what they add, may be looked at and replaced: by default everything stays as it is."""

    def layer(self, number: int, forward: Callable[..., Any], given: tuple[Any, ...], named: dict[str, Any]) -> Any:
        """Compute a layer."""
        return forward(*given, **named)

    def addition(self, number: int, forward: Callable[..., Any], given: tuple[Any, ...], named: dict[str, Any]) -> Any:
        """Compute what a layer adds beside its attention."""
        return forward(*given, **named)

    def context(self, place: int, context: Float[Tensor, "row head query dim"]) -> Tensor:
        """Return what the heads of an attention mixed."""
        return context


_watching: ContextVar[Watch | None] = ContextVar("attnviz_watch", default=None)
_watched: "WeakKeyDictionary[nn.Module, int]" = WeakKeyDictionary()
_lock = threading.Lock()


def _watch_layers(model: TracedModel) -> int:
    """Let passes of a model be watched, once for all, and count its layers.

    Raises:
        ModelError: its layers are no list.
    """
    with _lock:
        if model.model not in _watched:
            n_layers = model.card.n_layers
            lists = [each for each in model.body.modules() if isinstance(each, nn.ModuleList) and len(each) == n_layers]
            if not lists:
                raise _cannot(model, "its layers are not a list")
            # Experts may be as many as layers: the layers hold them all.
            layers = max(lists, key=lambda each: sum(parameter.numel() for parameter in each.parameters()))
            for number, layer in enumerate(layers):
                for module in _additions(layer):
                    module.forward = partial(_seen, "addition", number, module.forward)
                layer.forward = partial(_seen, "layer", number, layer.forward)
            _watched[model.model] = n_layers
        return _watched[model.model]


def _additions(module: nn.Module) -> Iterator[nn.Module]:
    """List what adds to the stream beside attention: what has matrices, taken apart where a norm is inside it."""
    for child in module.children():
        kinds = [type(each).__name__ for each in child.modules()]
        if any(map(_ATTENTION.search, kinds)) or not any(parameter.ndim > 1 for parameter in child.parameters()):
            continue
        if any(map(_NORM.search, kinds)):
            yield from _additions(child)
        else:
            yield child


def _seen(what: str, number: int, forward: Callable[..., Any], *given: Any, **named: Any) -> Any:
    if (watch := _watching.get()) is None:
        return forward(*given, **named)
    return getattr(watch, what)(number, forward, given, named)


@contextmanager
def _watching_pass(watch: Watch, n_heads: int) -> Iterator["_Contexts"]:
    """Within this context, and in this thread alone, passes are watched."""
    token = _watching.set(watch)
    try:
        with _Contexts(watch=watch, n_heads=n_heads) as tape:
            yield tape
    finally:
        _watching.reset(token)


@dataclass(eq=False)
class _Contexts(AttentionTape):
    """Shows a watch what every attention mixed; of the weights the last query's alone are kept."""

    watch: Watch = field(default_factory=Watch)
    n_heads: int = 1

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        if func is not F.scaled_dot_product_attention:
            made = super().__torch_function__(func, types, args, kwargs)
            # Some lay the heads beside the texts of a batch before they multiply.
            return self._mark(made) if func in _RESHAPES and id(args[0]) in self._weights else made
        options = dict(kwargs or {}) | dict(zip(("attn_mask", "dropout_p", "is_causal", "scale"), args[3:], strict=False))
        mask = options.get("attn_mask")
        last = {"attn_mask": None if mask is None else mask[..., -1:, :], "scale": options.get("scale")}
        # The last query of a causal attention sees all keys.
        weights = open_weights(args[0][..., -1:, :], *args[1:3], **last)
        return self._attend(weights, args[2], func(*args, **(kwargs or {})))

    def _attend(self, weights: Tensor, value: Tensor, context: Tensor) -> Tensor:
        if value.dim() == 4:
            # Of some models all heads have one value.
            value = value.expand(-1, weights.shape[1], -1, -1)
        made, place = super()._attend(weights, value, context), len(self.attentions) - 1
        by_head = made if made.dim() == 4 else made.view(-1, self.n_heads, *made.shape[1:])
        return self.watch.context(place, by_head).view(made.shape)

    def _follow(self, func: Any, args: Any, kwargs: Any, made: Tensor) -> None:
        """Ask nothing of what stands behind: what it makes of a part is in the gradient."""

    def last_row(self, place: int) -> tuple[Float[Tensor, "head key"], Float[Tensor, "head key dim"]]:
        """Return the weights of the last query, and the values of the keys."""
        attention = self.attentions[place]
        weights, value = (each.reshape(-1, *each.shape[2:]) for each in (attention.weights, attention.value))
        return weights[:, -1, : value.shape[1]], value


_RESHAPES = {Tensor.view, Tensor.reshape}


def _states(given: tuple[Any, ...], named: dict[str, Any]) -> Tensor:
    return given[0] if given else named["hidden_states"]


def _with_states(states: Tensor, given: tuple[Any, ...], named: dict[str, Any]) -> tuple[tuple[Any, ...], dict[str, Any]]:
    return ((states, *given[1:]), named) if given else (given, named | {"hidden_states": states})


def _tensor(output: Any) -> Tensor:
    return output[0] if isinstance(output, tuple | list) else output


def _with_tensor(tensor: Tensor, output: Any) -> Any:
    return type(output)((tensor, *output[1:])) if isinstance(output, tuple | list) else tensor


def _handed_on(output: Tensor, given: tuple[Any, ...], named: dict[str, Any]) -> Tensor | None:
    """Find the stream among what a module was given beside its input: some add to it by themselves (BLOOM)."""
    others = [*given[1:], *(named.values() if given else list(named.values())[1:])]
    return next((each for each in others if isinstance(each, Tensor) and each.shape == output.shape), None)


@dataclass(eq=False)
class _Leaves(Watch):
    """Cuts off all that adds to the stream from what it was computed from."""

    embedding: Tensor | None = None
    contexts: list[Tensor] = field(default_factory=list)
    additions: list[tuple[int, Tensor]] = field(default_factory=list)

    def layer(self, number: int, forward: Callable[..., Any], given: tuple[Any, ...], named: dict[str, Any]) -> Any:
        """Let the gradient of what enters the first layer be known."""
        if number == 0:
            self.embedding = _leaf(_states(given, named))
            given, named = _with_states(self.embedding.clone(), given, named)
        return forward(*given, **named)

    def addition(self, number: int, forward: Callable[..., Any], given: tuple[Any, ...], named: dict[str, Any]) -> Any:
        """Let the gradient of what is added be known, and no other pass through it."""
        with torch.no_grad():
            output = forward(*given, **named)
        stream = _handed_on(_tensor(output), given, named)
        leaf = _leaf(_tensor(output) if stream is None else _tensor(output) - stream)
        self.additions.append((number, leaf))
        # What is made a leaf must not be changed in place, and some add in place.
        return _with_tensor(leaf.clone() if stream is None else stream + leaf, output)

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


# ---- the words that are explained


@dataclass(frozen=True)
class _Reading:
    """A text that a model has read up to the place of a word, and the pieces that are compared there."""

    writer: Writer
    ids: tuple[int, ...]
    tokens: tuple[Token, ...]
    targets: tuple[int, ...]
    words: ComparedWords

    @property
    def model(self) -> TracedModel:
        return self.writer.model

    def inputs(self, n_rows: int = 1) -> dict[str, Any]:
        encoded = Encoded({"input_ids": list(self.ids)}, self.tokens, (None,))
        tensors = self.model.tensors(encoded)
        return {name: each.expand(n_rows, -1) for name, each in tensors.items()} | self.writer.uncached

    def logits(self, n_rows: int = 1) -> Float[Tensor, "row vocabulary"]:
        """Run the model for the logits of what stands behind the last token."""
        return self.model.model(**self.inputs(n_rows), **self.writer.last_alone(self.inputs()["input_ids"])).logits[:, -1]

    def score(self, logits: Float[Tensor, "row vocabulary"]) -> Float[Tensor, " row"]:
        """Return the logit of the word, less that of the other."""
        first = logits[:, self.targets[0]]
        return first - logits[:, self.targets[1]] if len(self.targets) > 1 else first


def _reading(result: Result, word: Word, rather_than: Word, position: int | None) -> _Reading:
    """Find what a result read before a position, and the pieces of two words there."""
    writer, trace = _writer(result), result.trace
    pieces = writer.ids(result.continuation.pieces)
    place = len(pieces) if position is None else position
    if not 1 <= place <= len(pieces):
        raise PromptError(
            f"Words are explained from position 1 to {len(pieces)}, which the first token stands before; not {place}."
        )
    if word is None:
        stands = result.continuation.pieces[place] if place < len(pieces) else None
        targets = [writer.ids([stands or result.continuation.next_tokens(place - 1)[0].piece])[0]]
    else:
        targets = [writer.piece_of(word)]
    if rather_than is not None:
        targets.append(writer.piece_of(rather_than))
        _check_differ(targets)
    names = ComparedWords(*(writer.text_of(each) for each in targets))
    return _Reading(writer, tuple(pieces[:place]), trace.maps[-1].queries[:place], tuple(targets), names)


def _check_differ(targets: Sequence[int]) -> None:
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


def _cannot(model: TracedModel, why: str) -> ModelError:
    family = model.model.config.model_type
    return ModelError(f"A logit of {model.card.name} ({family}) cannot be taken apart into what was added: {why}.")


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


def _parts(reading: _Reading) -> Parts:
    model = reading.model
    n_layers, n_heads = _watch_layers(model), model.card.n_heads
    leaves, names = _Leaves(), {id(each): name for name, each in model.model.named_parameters() if each.ndim == 1}
    with model.computing(), torch.enable_grad(), _Biases(names) as biases, Frozen():
        with _watching_pass(leaves, n_heads) as tape:
            score = reading.score(reading.logits())[0]
        if len(leaves.contexts) != len(model.layers(model.kind)) or leaves.embedding is None:
            raise _cannot(model, f"{len(leaves.contexts)} attentions were seen in {n_layers} layers")
        added = [leaves.embedding, *leaves.contexts, *(each for _, each in leaves.additions), *biases.leaves.values()]
        if not score.requires_grad or (name := curved(score)):
            raise _cannot(model, f"on the way lies what is no sum ({name})" if score.requires_grad else "nothing was added")
        gradients = iter(torch.autograd.grad(score, added, allow_unused=True))
    embedding, *contexts = (next(gradients) for _ in range(1 + len(leaves.contexts)))
    if embedding is None or any(each is None for each in contexts):
        raise _cannot(model, "not everything that was added reaches the last norm by itself")
    heads, keys = np.zeros((n_layers, n_heads)), np.zeros((n_layers, n_heads, len(reading.ids)))
    for place, (layer, context, gradient) in enumerate(zip(model.layers(model.kind), leaves.contexts, contexts, strict=True)):
        heads[layer] = _array((context * gradient)[0, :, -1].sum(dim=-1))
        weights, value = tape.last_row(place)
        keys[layer] = _array(weights * (value @ gradient[0, :, -1, :, None])[..., 0])
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
        raise _cannot(model, str(error)) from error


def _array(tensor: Tensor) -> np.ndarray:
    return tensor.detach().double().cpu().numpy()


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
    model, n_layers = reading.model, _watch_layers(reading.model)
    streams, measured = _Streams(), []

    def logits(n_rows: int = 1) -> Float[Tensor, "row token vocabulary"]:
        if position is not None:
            return reading.logits(n_rows)[:, None]
        return model.model(**reading.inputs(n_rows)).logits

    with model.computing(), torch.inference_mode():
        with _watching_pass(streams, model.card.n_heads):
            (said,) = logits()
        own = said.argmax(dim=-1)
        size = max(1, BATCH // len(reading.ids))
        for first in range(0, n_layers, size):
            cancellation_point()
            rows = range(first, min(first + size, n_layers))
            with _watching_pass(_Ended(streams, rows), model.card.n_heads):
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
    ranks = 1 + (logits > given).sum(dim=-1)
    return best, 1 / mass, given[:, 0] - top - mass.log(), ranks, entropy.clamp(min=0) / np.log(2)


@dataclass(eq=False)
class _Streams(Watch):
    """Notes what enters each layer and what each adds to it."""

    entered: list[Tensor] = field(default_factory=list)
    left: list[Any] = field(default_factory=list)
    contexts: list[Tensor] = field(default_factory=list)
    additions: list[list[Tensor]] = field(default_factory=list)

    def layer(self, number: int, forward: Callable[..., Any], given: tuple[Any, ...], named: dict[str, Any]) -> Any:
        """Note what enters a layer, and what leaves it."""
        self.entered.append(_states(given, named))
        self.additions.append([])
        self.left.append(forward(*given, **named))
        return self.left[-1]

    def addition(self, number: int, forward: Callable[..., Any], given: tuple[Any, ...], named: dict[str, Any]) -> Any:
        """Note what is added beside attention."""
        output = forward(*given, **named)
        stream = _handed_on(_tensor(output), given, named)
        self.additions[number].append(_tensor(output) if stream is None else _tensor(output) - stream)
        return output

    def context(self, place: int, context: Tensor) -> Tensor:
        """Note what heads mixed."""
        self.contexts.append(context)
        return context

    def stream(self, row: int) -> Tensor:
        """Return the stream after so many layers."""
        return self.entered[row] if row < len(self.entered) else _tensor(self.left[-1])


@dataclass(eq=False)
class _Ended(Watch):
    """Ends a pass after so many layers, each row of a batch after another number: none is computed again."""

    streams: _Streams
    rows: Sequence[int]

    def layer(self, number: int, forward: Callable[..., Any], given: tuple[Any, ...], named: dict[str, Any]) -> Any:
        """Return what was noted."""
        output = self.streams.left[number]
        if number < len(self.streams.left) - 1:
            return output
        return _with_tensor(torch.cat([self.streams.stream(row) for row in self.rows]), output)


# ---- patching


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
        PromptError: a text is shorter than these.
    """
    writer = capabilities(model).writer()
    encoded = [writer.read(text) for text in (patches.texts[0], *texts)]
    length = len(encoded[0])
    if short := [text for text, each in zip(texts, encoded[1:], strict=True) if len(each) < length]:
        raise PromptError(f"Texts that are compared with have {length} tokens or more, and {short[0]!r} has fewer.")
    targets = tuple(writer.ids(patches.pieces))
    readings = [
        _Reading(writer, tuple(each.inputs["input_ids"][:length]), each.tokens[:length], targets, patches.words)
        for each in encoded
    ]
    passes = [_noted(reading)[0] for reading in readings]
    random = np.full((len(patches.strongest), len(texts)), patches.one)
    for place, (row, column) in enumerate(patches.strongest):
        cancellation_point()
        watch = _Patch(passes[0], passes[1:], patches.what, row, [column] * len(texts), writer.model)
        random[place] = _scores(readings[0], watch)
        progress(f"{place + 1} of {len(random)} with random texts", (place + 1) / len(random))
    return replace(patches, random=random)


@dataclass(frozen=True, eq=False)
class _Patching:
    """Two readings of one length, and what either pass had in it."""

    texts: tuple[str, str]
    readings: tuple[_Reading, _Reading]
    passes: tuple[_Streams, _Streams]
    scores: tuple[float, float]

    @staticmethod
    def of(writer: Writer, texts: tuple[str, str], words: tuple[Word, Word]) -> "_Patching":
        encoded = [writer.read(text) for text in texts]
        lengths = [len(each) for each in encoded]
        if lengths[0] != lengths[1] or lengths[0] > MOST_PATCHED:
            raise PromptError(
                f"Texts that are patched have as many tokens as each other, at most {MOST_PATCHED}; these have {lengths[0]} "
                f"and {lengths[1]}: change one of them."
            )
        blank = [_Reading(writer, tuple(each.inputs["input_ids"]), each.tokens, (0,), ComparedWords("")) for each in encoded]
        streams, logits = zip(*map(_noted, blank), strict=True)
        likeliest = [int(each[0].argmax()) for each in logits]
        targets = tuple(own if name is None else writer.piece_of(name) for own, name in zip(likeliest, words, strict=True))
        _check_differ(targets)
        names = ComparedWords(*map(writer.text_of, targets))
        readings = tuple(_Reading(writer, each.ids, each.tokens, targets, names) for each in blank)
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

    def _estimate(self, what: What) -> Float[np.ndarray, "row column"]:
        """Compute gradient times difference of each part: the change, were the model a straight line between the two texts."""
        model, other, kept = self.model, self.passes[1], _Gradients()
        with model.computing(), torch.enable_grad():
            with _watching_pass(kept, model.card.n_heads):
                score = self.readings[0].score(self.readings[0].logits())[0]
            n_layers = len(other.entered)
            if what == "stream":
                rows = [*kept.entered, kept.last]
                moved = [(each, other.stream(row) - each) for row, each in enumerate(rows)]
                return np.stack([_array((slope * way).sum(dim=-1)[0]) for slope, way in _slopes(score, moved)])
            if what == "mlps":
                pairs = [(layer, each) for layer, each in enumerate(kept.additions) if each]
                moved = [(each[-1], other.additions[layer][-1] - each[-1]) for layer, each in pairs]
                changes = np.zeros((n_layers, 1))
                for (layer, _), (slope, way) in zip(pairs, _slopes(score, moved), strict=True):
                    changes[layer] = float((slope * way).double().sum())
                return changes
            moved = [(each, there - each) for each, there in zip(kept.contexts, other.contexts, strict=True)]
            changes = np.zeros((n_layers, model.card.n_heads))
            for layer, (slope, way) in zip(model.layers(model.kind), _slopes(score, moved), strict=True):
                changes[layer] = _array((slope * way)[0].sum(dim=(-2, -1)))
            return changes

    def patched(self, what: What, shape: tuple[int, ...], progress: Progress) -> Float[np.ndarray, "row column"]:
        """Compute the difference with each part patched, those of one layer in one batch."""
        self._check()
        patched, size, done = np.full(shape, self.scores[0]), max(1, BATCH // len(self.readings[0].ids)), 0
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
        return _scores(self.readings[0], _Patch(one, [other] * len(columns), what, row, columns, self.model))

    def _check(self) -> None:
        """Check that a pass which begins at a layer gives what a whole pass gives.

        Raises:
            ModelError: it does not.
        """
        one = self.passes[0]
        (score,) = _scores(self.readings[0], _Patch(one, [one], "stream", len(one.entered) // 2, [0], self.model))
        if not abs(score - self.scores[0]) <= max(CLOSE, ROUNDINGS * rounding_of(self.model.model.dtype) * 100):
            raise ModelError(
                f"{self.model.card.name} gives another output when a pass begins at one of its layers: it cannot be patched."
            )


def _noted(reading: _Reading) -> tuple[_Streams, Float[Tensor, "one vocabulary"]]:
    """Run the model over a text: what was in the pass, and the logits behind the last token."""
    streams, model = _Streams(), reading.model
    _watch_layers(model)
    with model.computing(), torch.inference_mode(), _watching_pass(streams, model.card.n_heads):
        return streams, reading.logits()


def _scores(reading: _Reading, watch: "_Patch") -> Float[np.ndarray, " column"]:
    """Compute the difference of a batch of patches."""
    with reading.model.computing(), torch.inference_mode(), _watching_pass(watch, reading.model.card.n_heads):
        return reading.score(reading.logits(len(watch.columns))).double().cpu().numpy()


def _slopes(score: Tensor, moved: Sequence[tuple[Tensor, Tensor]]) -> Iterator[tuple[Tensor, Tensor]]:
    """Give the gradient of each part, and how far it is from the other text's; what nothing depends on has none."""
    gradients = torch.autograd.grad(score, [each for each, _ in moved], allow_unused=True)
    for (_, way), gradient in zip(moved, gradients, strict=True):
        yield torch.zeros_like(way) if gradient is None else gradient, way.detach()


@dataclass(eq=False)
class _Gradients(_Streams):
    """Notes as `_Streams`, each with a gradient that goes on through what was computed from it."""

    last: Any = None

    def layer(self, number: int, forward: Callable[..., Any], given: tuple[Any, ...], named: dict[str, Any]) -> Any:
        """Let the gradient of what enters, and leaves the last layer, be known."""
        given, named = _with_states(_open(_states(given, named)), given, named)
        output = super().layer(number, forward, given, named)
        self.last = _open(_tensor(output))
        return _with_tensor(self.last, output)

    def addition(self, number: int, forward: Callable[..., Any], given: tuple[Any, ...], named: dict[str, Any]) -> Any:
        """Let the gradient of what is added be known."""
        output = forward(*given, **named)
        stream = _handed_on(_tensor(output), given, named)
        added = _open(_tensor(output) if stream is None else _tensor(output) - stream)
        self.additions[number].append(added)
        return _with_tensor(added.clone() if stream is None else stream + added, output)

    def context(self, place: int, context: Tensor) -> Tensor:
        """Let the gradient of what heads mixed be known."""
        self.contexts.append(_open(context))
        return self.contexts[-1].clone()


def _open(tensor: Tensor) -> Tensor:
    """Return a tensor that has a gradient, also where no parameter below it wants one."""
    return tensor if tensor.requires_grad else tensor.requires_grad_()


@dataclass(eq=False)
class _Patch(Watch):
    """Begins at a layer with as many rows as columns are patched: each has its part of a text of its own."""

    one: _Streams
    others: Sequence[_Streams]
    what: What
    row: int
    columns: Sequence[int]
    model: TracedModel
    _n_added: int = 0

    @property
    def _first(self) -> int:
        return min(self.row, len(self.one.entered) - 1)

    def layer(self, number: int, forward: Callable[..., Any], given: tuple[Any, ...], named: dict[str, Any]) -> Any:
        """Give what the layers below gave; from the first one on, compute."""
        one, n_rows = self.one, len(self.columns)
        if number < self._first:
            return one.left[number]
        if number == self._first:
            states = one.entered[number].expand(n_rows, -1, -1).clone()
            if self.what == "stream" and self.row == number:
                self._put_stream(states)
            given, named = _with_states(states, given, named)
        output = forward(*given, **named)
        if self.what == "stream" and self.row == number + 1 == len(one.entered):
            states = _tensor(output).clone()
            self._put_stream(states)
            return _with_tensor(states, output)
        return output

    def addition(self, number: int, forward: Callable[..., Any], given: tuple[Any, ...], named: dict[str, Any]) -> Any:
        """Put what is added in the other text in its place."""
        output = forward(*given, **named)
        if self.what != "mlps" or number != self.row:
            return output
        stream = _handed_on(_tensor(output), given, named)
        added = (_tensor(output) if stream is None else _tensor(output) - stream).clone()
        # Some lay the rows of a batch one behind the other.
        there = torch.cat([each.additions[number][self._n_added] for each in self.others])
        added.copy_(there.view_as(added))
        self._n_added += 1
        return _with_tensor(added if stream is None else stream + added, output)

    def context(self, place: int, context: Tensor) -> Tensor:
        """Put what a head mixed in the other text in its row."""
        layers = self.model.layers(self.model.kind)
        n_below = sum(layer < self._first for layer in layers)
        if self.what != "heads" or layers[place + n_below] != self.row:
            return context
        context = context.clone()
        for row, (head, other) in enumerate(zip(self.columns, self.others, strict=True)):
            context[row, head] = other.contexts[place + n_below][0, head]
        return context

    def _put_stream(self, states: Tensor) -> None:
        for row, (position, other) in enumerate(zip(self.columns, self.others, strict=True)):
            states[row, position] = other.stream(self.row)[0, position]


# ---- what heads copy


@dataclass(frozen=True, eq=False)
class Copied:
    """Of a token of each text: the weight that the last token gives it, and whether what a head would write of it is it."""

    looks: Float[np.ndarray, "layer head text"]
    copies: Bool[np.ndarray, "layer head text"]


def copied(model: TracedModel, texts: Sequence[Encoded], places: Sequence[int], progress: Progress = silent) -> Copied:
    """Find what each head would write of a token of each text if it looked at that alone, and how the last one looks at it.

    What is written is taken from the stream behind the first layer, through the head's value and output matrices, the last
    norm and the layer on top: the head copies a token that is among the five likeliest then (Wang et al. 2023, section 3.1).

    Raises:
        ModelError: the model's layers are not a list of their own, or it names no next token.
    """
    writer, layers, n_heads = capabilities(model).writer(), model.layers(model.kind), model.card.n_heads
    readings = [_Reading(writer, tuple(each.inputs["input_ids"]), each.tokens, (0,), ComparedWords("")) for each in texts]
    targets = [reading.ids[place] for reading, place in zip(readings, places, strict=True)]
    looks, copies = (np.zeros((model.card.n_layers, n_heads, len(texts)), dtype) for dtype in (float, bool))
    values: list[list[Tensor]] = [[] for _ in layers]
    for number, (reading, place) in enumerate(zip(readings, places, strict=True)):
        cancellation_point()
        streams, _ = _noted(reading)
        started = _Started(streams.stream(min(1, len(streams.entered) - 1)))
        with model.computing(), torch.inference_mode():
            with _watching_pass(Watch(), n_heads) as tape:
                reading.logits()
            with _watching_pass(started, n_heads) as restarted:
                reading.logits()
        for index, layer in enumerate(layers):
            looks[layer, :, number] = _array(tape.last_row(index)[0][:, place])
            values[index].append(restarted.last_row(index)[1][:, place])
    # What is written does not depend on where: the tokens of all texts stand one behind another.
    row = _Reading(writer, tuple(targets), tuple(Token("", 0, 0) for _ in targets), (0,), ComparedWords(""))
    streams, _ = _noted(row)
    for index, layer in enumerate(layers):
        cancellation_point()
        alone = _Alone(streams, layer, torch.stack(values[index], dim=1))
        with model.computing(), torch.inference_mode(), _watching_pass(alone, n_heads):
            logits = model.model(**row.inputs(n_heads + 1)).logits[:-1]
        ids = torch.tensor(targets, device=logits.device).expand(n_heads, -1)[..., None]
        copies[layer] = ((logits > logits.gather(2, ids)).sum(dim=-1) < TOP).cpu().numpy()
        progress(f"{model.card.name}: what heads of layer {layer} copy", (index + 1) / len(values))
    return Copied(looks, copies)


@dataclass(eq=False)
class _Started(Watch):
    """Lets every layer but the first read one stream, so that its values are those of that stream."""

    stream: Tensor

    def layer(self, number: int, forward: Callable[..., Any], given: tuple[Any, ...], named: dict[str, Any]) -> Any:
        """Compute a layer of the stream."""
        if number:
            given, named = _with_states(self.stream, given, named)
        return forward(*given, **named)


@dataclass(eq=False)
class _Alone(Watch):
    """Ends with what the heads of a layer write of each value, one head a row; less what the last row has, which has none."""

    streams: _Streams
    number: int
    values: Float[Tensor, "head key dim"]
    written: Tensor | None = None

    def layer(self, number: int, forward: Callable[..., Any], given: tuple[Any, ...], named: dict[str, Any]) -> Any:
        """Compute that layer alone; put what was written in the place of what the last one gives."""
        output = self.streams.left[number]
        if number == self.number:
            states = self.streams.entered[number].expand(len(self.values) + 1, -1, -1)
            given, named = _with_states(states, given, named)
            made = _tensor(forward(*given, **named))
            self.written = made - made[-1:]
        if number == len(self.streams.left) - 1 and self.written is not None:
            return _with_tensor(self.written, output)
        return output

    def addition(self, number: int, forward: Callable[..., Any], given: tuple[Any, ...], named: dict[str, Any]) -> Any:
        """Add nothing."""
        output = forward(*given, **named)
        stream = _handed_on(_tensor(output), given, named)
        return _with_tensor(torch.zeros_like(_tensor(output)) if stream is None else stream, output)

    def context(self, place: int, context: Tensor) -> Tensor:
        """Let each row have the values of one head, as if every token looked at itself alone."""
        alone = torch.zeros_like(context)
        for head, value in enumerate(self.values):
            alone[head, head] = value
        return alone
