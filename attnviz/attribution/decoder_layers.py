"""A pass of a language model whose layers are looked at, and replaced: what enters them, what their heads mix, what they add.

No family is known by name. The layers are the longest list of modules; what a head mixed is what a softmax multiplied; what
else adds to the stream are a layer's children with matrices, its attention and its norms aside.
"""

import re
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from functools import partial
from typing import Any
from weakref import WeakKeyDictionary

import torch
from jaxtyping import Float
from torch import Tensor, nn
from torch.nn import functional as F
from transformers import PreTrainedModel

from attnviz.attribution.recorded_pass import AttentionTape, open_weights
from attnviz.core.errors import ModelError
from attnviz.core.trace import Token
from attnviz.core.why import ComparedWords
from attnviz.models.hub.hub_model import TracedModel
from attnviz.models.hub.single_stack import Writer
from attnviz.text.tokens import Encoded

_ATTENTION, _NORM = re.compile("att(ention|n)", re.IGNORECASE), re.compile("norm", re.IGNORECASE)


def not_a_sum(model: TracedModel, why: str) -> ModelError:
    """Say that a model cannot be taken apart into what it adds, and why."""
    family = model.model.config.model_type
    return ModelError(f"A logit of {model.card.name} ({family}) cannot be taken apart into what was added: {why}.")


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


def watch_layers(model: TracedModel) -> int:
    """Let passes of a model be watched, once for all, and count its layers.

    Raises:
        ModelError: its layers are no list.
    """
    with _lock:
        if model.model not in _watched:
            n_layers = model.card.n_layers
            lists = [each for each in _read_with(model) if isinstance(each, nn.ModuleList) and len(each) == n_layers]
            if not lists:
                raise not_a_sum(model, "its layers are not a list")
            # Experts may be as many as layers: the layers hold them all.
            layers = max(lists, key=lambda each: sum(parameter.numel() for parameter in each.parameters()))
            for number, layer in enumerate(layers):
                for module in _additions(layer):
                    module.forward = partial(_seen, "addition", number, module.forward)
                layer.forward = partial(_seen, "layer", number, layer.forward)
            _watched[model.model] = n_layers
        return _watched[model.model]


def _read_with(model: TracedModel) -> Iterator[nn.Module]:
    """List the modules that read texts: models of images and sound inside another have a config of their own."""
    config = model.model.config
    own = {config.model_type, config.get_text_config().model_type}
    others = [each for each in model.body.modules() if isinstance(each, PreTrainedModel) and each.config.model_type not in own]
    left_out = {id(module) for each in others for module in each.modules()}
    return (each for each in model.body.modules() if id(each) not in left_out)


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
def watching_pass(watch: Watch, n_heads: int) -> Iterator["Contexts"]:
    """Within this context, and in this thread alone, passes are watched."""
    token = _watching.set(watch)
    try:
        with Contexts(watch=watch, n_heads=n_heads) as tape:
            yield tape
    finally:
        _watching.reset(token)


@dataclass(eq=False)
class Contexts(AttentionTape):
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


def states_of(given: tuple[Any, ...], named: dict[str, Any]) -> Tensor:
    """Return the stream that a layer is given."""
    return given[0] if given else named["hidden_states"]


def with_states(states: Tensor, given: tuple[Any, ...], named: dict[str, Any]) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """Give a layer another stream."""
    return ((states, *given[1:]), named) if given else (given, named | {"hidden_states": states})


def tensor_of(output: Any) -> Tensor:
    """Return what a module gave, without what some put beside it."""
    return output[0] if isinstance(output, tuple | list) else output


def with_tensor(tensor: Tensor, output: Any) -> Any:
    """Put another tensor where a module's own is, and leave what stands beside it."""
    return type(output)((tensor, *output[1:])) if isinstance(output, tuple | list) else tensor


def stream_given(output: Tensor, given: tuple[Any, ...], named: dict[str, Any]) -> Tensor | None:
    """Find the stream among what a module was given beside its input: some add to it by themselves (BLOOM)."""
    others = [*given[1:], *(named.values() if given else list(named.values())[1:])]
    return next((each for each in others if isinstance(each, Tensor) and each.shape == output.shape), None)


@dataclass(eq=False)
class Streams(Watch):
    """Notes what enters each layer and what each adds to it."""

    entered: list[Tensor] = field(default_factory=list)
    left: list[Any] = field(default_factory=list)
    contexts: list[Tensor] = field(default_factory=list)
    additions: list[list[Tensor]] = field(default_factory=list)

    def layer(self, number: int, forward: Callable[..., Any], given: tuple[Any, ...], named: dict[str, Any]) -> Any:
        """Note what enters a layer, and what leaves it."""
        self.entered.append(states_of(given, named))
        self.additions.append([])
        self.left.append(forward(*given, **named))
        return self.left[-1]

    def addition(self, number: int, forward: Callable[..., Any], given: tuple[Any, ...], named: dict[str, Any]) -> Any:
        """Note what is added beside attention."""
        output = forward(*given, **named)
        stream = stream_given(tensor_of(output), given, named)
        self.additions[number].append(tensor_of(output) if stream is None else tensor_of(output) - stream)
        return output

    def context(self, place: int, context: Tensor) -> Tensor:
        """Note what heads mixed."""
        self.contexts.append(context)
        return context

    def stream(self, row: int) -> Tensor:
        """Return the stream after so many layers."""
        return self.entered[row] if row < len(self.entered) else tensor_of(self.left[-1])


# ---- what is run


@dataclass(frozen=True)
class Reading:
    """A text that a model reads up to the place of a word, and the pieces that are compared there."""

    writer: Writer
    ids: tuple[int, ...]
    tokens: tuple[Token, ...]
    targets: tuple[int, ...]
    words: ComparedWords

    @property
    def model(self) -> TracedModel:
        return self.writer.model

    def inputs(self, n_rows: int = 1) -> dict[str, Any]:
        """Return what the model is called with: the text, once a row."""
        encoded = Encoded({"input_ids": list(self.ids)}, self.tokens, (None,))
        tensors = self.model.tensors(encoded)
        return {name: each.expand(n_rows, -1) for name, each in tensors.items()} | self.writer.uncached

    def logits(self, inputs: Mapping[str, Any] | None = None) -> Float[Tensor, "row vocabulary"]:
        """Run the model over the text, or over other inputs, for the logits of what stands behind the last token."""
        inputs = self.inputs() if inputs is None else inputs
        return self.model.model(**inputs, **self.writer.last_alone(inputs["input_ids"])).logits[:, -1]

    def score(self, logits: Float[Tensor, "row vocabulary"]) -> Float[Tensor, " row"]:
        """Return the logit of the word, less that of the other."""
        first = logits[:, self.targets[0]]
        return first - logits[:, self.targets[1]] if len(self.targets) > 1 else first


def noted(reading: Reading) -> tuple[Streams, Float[Tensor, "one vocabulary"]]:
    """Run the model over a text: what was in the pass, and the logits behind the last token."""
    streams, model = Streams(), reading.model
    watch_layers(model)
    with model.computing(), torch.inference_mode(), watching_pass(streams, model.card.n_heads):
        return streams, reading.logits()
