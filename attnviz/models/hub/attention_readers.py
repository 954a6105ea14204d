"""How the attention of any Hugging Face model is read: by an attention function of ours, or from what the model gives.

transformers calls whatever `AttentionInterface` has under the name in a model's config. Under the name "attnviz" that is
`attend` below. While a `Tape` runs, `attend` records queries, keys and what else decides the scores; always, it answers with
exact attention. What one forward pass records lives in a context variable, so passes in two threads never meet.

The attention function records queries and keys and is preferred, but trusted only if it says what the model itself says.
Models that do not call it are asked for their weights instead.
"""

import inspect
import re
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Protocol, runtime_checkable

import numpy as np
import torch
import torch.nn.functional as F
from jaxtyping import Bool, Float
from torch import Tensor, nn
from transformers import AttentionInterface, AttentionMaskInterface
from transformers.masking_utils import sdpa_mask

from attnviz.core.errors import TraceError, UnsupportedModelError, cancellation_point
from attnviz.core.trace import Kind
from attnviz.core.weights import (
    DenseWeights,
    MaskedWeights,
    QueryKeyLayer,
    QueryKeyWeights,
    WeightStore,
    renormalize,
    rounding_of,
    spread_window,
)
from attnviz.models.device import CardLayer, CardWeights, copy_to_host, to_host
from attnviz.models.edit import Softmax, editable_kinds, trace_softmaxes, with_edited_heads
from attnviz.nn import apply_edits

_ELSE = "choose a transformer that reads text, such as bert-base-uncased"
# What inputs of models that read something else than a text are called.
_SENSES = {
    "pixel": "images", "image": "images", "visual": "images", "video": "videos", "audio": "sound", "input_features": "sound",
    "input_values": "sound", "bbox": "the places of its words on a page", "action": "actions",
}  # fmt: skip


def unsupported(model: Any, failures: Sequence[Exception]) -> UnsupportedModelError:
    """Say why a model cannot be read; `failures` are what was raised when it was tried, none where it gave no attention."""
    name = model.config.model_type
    for failure in failures:
        if isinstance(failure, UnsupportedModelError):
            return failure
        if isinstance(failure, TraceError):
            return UnsupportedModelError(f"What {name} models give as their attention cannot be shown; {_ELSE}. {failure}")
    if not failures:
        if sense := _sense_of(inspect.signature(model.forward).parameters):
            return UnsupportedModelError(f"{name} models give no attention of a text alone: they read {sense}, too; {_ELSE}.")
        return UnsupportedModelError(f"{name} models have no attention that can be shown; {_ELSE}.")
    reason = " ".join(str(failures[0]).split()).rstrip(".")[:160] or type(failures[0]).__name__
    if sense := _sense(model, reason):
        return UnsupportedModelError(f"{name} models cannot read a text alone, but with {sense} beside it; {_ELSE}.")
    if "scalar type" in reason and len(types := _types(model)) > 1:
        # transformers converts some tensors of a checkpoint and not others, such as XLNet's.
        return UnsupportedModelError(
            f"This {name} model has weights in {' and '.join(types)}, with which it cannot compute ({reason}): convert it by "
            f"model.to(torch.{types[0]}), and wrap it then."
        )
    return UnsupportedModelError(f"This {name} model cannot read a short text ({reason}); {_ELSE}.")


def _types(model: Any) -> list[str]:
    """List the types of a model's weights, that of its config first."""
    known = {str(tensor.dtype).removeprefix("torch.") for tensor in model.parameters() if tensor.is_floating_point()}
    first = str(model.config.dtype).removeprefix("torch.")
    return sorted(known, key=lambda each: (each != first, each))


def _sense(model: Any, reason: str) -> str:
    """Name what a model misses beside a text, judged by its reason; empty where it misses nothing else."""
    said = _sense_of([reason])
    if said or "NoneType" not in reason:
        return said
    # Some do not say what they miss, and look into what is not there.
    return _sense_of(inspect.signature(model.forward).parameters)


def _sense_of(texts: Collection[str]) -> str:
    """Name the first sense of which one of these texts speaks; empty: none does."""
    return next((sense for part, sense in _SENSES.items() if any(part in text for text in texts)), "")


NAME = "attnviz"
# The score of a sink that takes no attention.
NO_SHARE = -1e30
# Keywords that leave the scores as they are: a window is already in the mask, the rest concerns caches, outputs or training.
HARMLESS = frozenset({
    "cache_position", "cu_seq_lens_k", "cu_seq_lens_q", "deterministic", "logits_to_keep", "max_length_k", "max_length_q",
    "num_items_in_batch", "output_attentions", "output_hidden_states", "output_router_logits", "position_ids", "return_dict",
    "sliding_window", "use_cache",
})  # fmt: skip


@dataclass(frozen=True, eq=False)
class Call:
    """One call of an attention layer: all that decides its scores, for a whole batch."""

    module: nn.Module
    query: Float[Tensor, "batch head query dim"]
    key: Float[Tensor, "batch key_head key dim"]
    value: Float[Tensor, "batch key_head key value_dim"]
    scaling: float
    causal: bool
    mask: Tensor | None
    bias: Float[Tensor, "#batch #head #query key"] | None
    softcap: float | None
    sink: Float[Tensor, " head"] | None


@dataclass(eq=False)
class Tape:
    """The calls of one forward pass, in order."""

    calls: list[Call] = field(default_factory=list)

    def layers(self, calls: Sequence[Call], *, row: int = 0) -> tuple[QueryKeyLayer, ...] | tuple[CardLayer, ...]:
        """Return what some calls recorded for one row of the batch; a mask or bias that calls share is shared by their layers.

        Raises:
            TraceError: a vector is not finite.
        """
        shared: dict[int, Any] = {}
        vectors = [each[row] for call in calls for each in (call.query, call.key, call.value)]
        if all(call.query.device.type == "cuda" for call in calls):
            # Largest numbers are found on the card: one that is none would be the largest.
            norms = (torch.linalg.vector_norm(each, torch.inf, dtype=torch.float32) for each in vectors)
            largest = [norm.to(vectors[0].device) for norm in norms]
            *vectors, peaks = copy_to_host([*vectors, torch.stack(largest)])
            if not peaks.isfinite().all():
                raise TraceError("The query, key or value of a layer holds values that are not finite.")
            each_layer = zip(calls, vectors[::3], vectors[1::3], vectors[2::3], strict=True)
            return tuple(CardLayer(call.query.device, *those, facts=_facts(call, row, shared)) for call, *those in each_layer)
        arrays = to_host(vectors)
        each_layer = zip(calls, arrays[::3], arrays[1::3], arrays[2::3], strict=True)
        return tuple(QueryKeyLayer(q, k, value=v, **_facts(call, row, shared)) for call, q, k, v in each_layer)


_running: ContextVar[Tape | None] = ContextVar("attnviz_tape", default=None)


@contextmanager
def recording() -> Iterator[Tape]:
    """Record the attention of every forward pass within this context, and of no other thread's."""
    tape = Tape()
    token = _running.set(tape)
    try:
        yield tape
    finally:
        _running.reset(token)


def attend(
    module: nn.Module, query: Tensor, key: Tensor, value: Tensor, attention_mask: Tensor | None, **options: Any
) -> tuple[Tensor, None]:
    """softmax(mask(softcap(scaling · Q Kᵀ) + bias)) V, recorded if a tape is running, and edited if edits are.

    Raises:
        UnsupportedModelError: the model passes something that could change the scores and is not known here.
        EditError: an edit leaves nothing to look at, or sets a weight where attention is masked.
    """
    cancellation_point()
    call = _call(module, (query, key, value), attention_mask, options)
    if (tape := _running.get()) is not None:
        tape.calls.append(call)
    output = _output(call)
    if (edits := apply_edits.running()) is not None:
        output, _ = edits.change(edits.places.get(id(module), edits.stack), _computed(call, output))
    return output.transpose(1, 2).contiguous(), None


AttentionInterface.register(NAME, attend)
AttentionMaskInterface.register(NAME, sdpa_mask)


def set_whole_attention(model: Any) -> None:
    """Let all layers of a model attend over the same keys: BigBird over whole texts, MiMo-V2 with a sink in every layer."""
    if hasattr(model.base_model, "set_attention_type"):
        # It would do so by itself within the first short text, behind the back of what records its attention.
        model.base_model.set_attention_type("original_full")
    layers = [module for module in model.modules() if hasattr(module, "sinks")]
    for sink in [layer.sinks for layer in layers if layer.sinks is not None][:1]:
        for layer in layers:
            if layer.sinks is None:
                # One that takes nothing.
                layer.sinks = torch.full_like(sink, max(NO_SHARE, torch.finfo(sink.dtype).min), requires_grad=False)


def _call(module: nn.Module, given: tuple[Tensor, Tensor, Tensor], mask: Tensor | None, options: dict[str, Any]) -> Call:
    query = given[0]
    scaling = options.pop("scaling", None)
    is_causal = options.pop("is_causal", None)
    bias = options.pop("position_bias", None)
    softcap = options.pop("softcap", None)
    sink = options.pop("s_aux", None)
    dropout = options.pop("dropout", 0.0)
    unknown = [name for name, value in options.items() if value is not None and name not in HARMLESS]
    if dropout:
        unknown.append("dropout")
    if unknown:
        raise UnsupportedModelError(
            f"{type(module).__name__} changes its attention by {', '.join(unknown)}, which attnviz does not know how to show; "
            "choose another model."
        )
    is_causal = getattr(module, "is_causal", True) if is_causal is None else is_causal
    return Call(
        module,
        *given,
        scaling=query.shape[-1] ** -0.5 if scaling is None else float(scaling),
        # A given mask already holds the causal one; a single query behind other keys is the last one and sees them all.
        causal=bool(is_causal) and mask is None and (query.shape[2] > 1 or given[1].shape[2] == 1),
        mask=mask,
        bias=bias,
        softcap=softcap,
        sink=None if sink is None else sink.reshape(-1),
    )


def _output(call: Call) -> Tensor:
    groups = call.query.shape[1] // call.key.shape[1]
    key = call.key.repeat_interleave(groups, dim=1) if groups > 1 else call.key
    value = call.value.repeat_interleave(groups, dim=1) if groups > 1 else call.value
    if call.softcap is not None or call.sink is not None:
        # The fused kernel computes neither soft-capped scores, nor a sink that takes attention but gives no value.
        return _weights(call, key)[..., : key.shape[2]].to(value.dtype) @ value
    mask, causal = call.mask, call.causal
    if call.bias is not None:
        mask, causal = _biased_mask(call), False
    return F.scaled_dot_product_attention(call.query, key, value, attn_mask=mask, is_causal=causal, scale=call.scaling)


def _computed(call: Call, output: Tensor) -> apply_edits.AttentionCall:
    """Prepare a call for edits: the scores and the values of some heads."""
    groups = call.query.shape[1] // call.key.shape[1]
    return apply_edits.AttentionCall(
        output, partial(_scores_of, call), lambda heads: call.value[:, [head // groups for head in heads]]
    )


def _scores_of(call: Call, heads: Sequence[int]) -> Float[Tensor, "batch head query key"]:
    groups = call.query.shape[1] // call.key.shape[1]
    return _scores(call, call.query[:, heads], call.key[:, [head // groups for head in heads]], heads)


def _scores(call: Call, query: Tensor, key: Tensor, heads: Sequence[int]) -> Float[Tensor, "batch head query key"]:
    """Scores of some heads before the softmax, a sink the last of them; -inf where masked."""
    scores = (query @ key.transpose(2, 3)).float() * call.scaling
    if call.softcap is not None:
        scores = torch.tanh(scores / call.softcap) * call.softcap
    added = _biased_mask(call)
    scores = scores + (added[:, heads] if added.ndim == 4 and added.shape[1] > 1 else added)
    # Some models mask with the smallest number there is.
    scores = scores.masked_fill(scores < torch.finfo(added.dtype).min / 2, -torch.inf)
    if call.sink is not None:
        column = call.sink.float()[list(heads)].view(1, -1, 1, 1).expand(*scores.shape[:3], 1)
        scores = torch.cat([scores, column], dim=3)
    return scores


def _visible(call: Call) -> Bool[Tensor, "#batch #head #query key"] | None:
    if call.causal:
        n_queries, n_keys = call.query.shape[2], call.key.shape[2]
        return torch.ones(n_queries, n_keys, dtype=torch.bool, device=call.query.device).tril(n_keys - n_queries)[None, None]
    return call.mask if call.mask is not None and call.mask.dtype == torch.bool else None


def _biased_mask(call: Call) -> Tensor:
    """Bias and mask as what is added to the scores."""
    added = torch.zeros((), device=call.query.device) if call.bias is None else call.bias
    if call.mask is not None and call.mask.dtype != torch.bool:
        added = added + call.mask
    if (visible := _visible(call)) is not None:
        added = added.masked_fill(~visible, float("-inf")) if added.ndim else torch.where(visible, 0.0, float("-inf"))
    return added.to(call.query.dtype)


def weights_of(call: Call) -> Float[Tensor, "batch head query column"]:
    """Compute the weights of a whole batch in float32; a sink is the last column."""
    groups = call.query.shape[1] // call.key.shape[1]
    return _weights(call, call.key.repeat_interleave(groups, dim=1) if groups > 1 else call.key)


def _weights(call: Call, key: Tensor) -> Float[Tensor, "batch head query column"]:
    return _scores(call, call.query, key, range(call.query.shape[1])).softmax(dim=3).nan_to_num(0.0)


def _facts(call: Call, row: int, shared: dict[int, Any]) -> dict[str, Any]:
    """Collect what decides the weights of a layer besides its vectors."""
    visible, added = (None, None) if call.mask is None else _once(shared, call.mask, row, _split_mask)
    bias = None if call.bias is None else _once(shared, call.bias, row, _split_bias)
    if bias is not None:
        # A bias may be the same for all queries.
        bias = np.broadcast_to(bias, (bias.shape[0], call.query.shape[2], call.key.shape[2]))
    return {
        "scaling": call.scaling,
        "causal": call.causal,
        "visible": visible,
        "bias": bias if added is None else added if bias is None else bias + added,
        "softcap": call.softcap,
        "sink": None if call.sink is None else _array(call.sink),
    }


def _once(shared: dict[int, Any], tensor: Tensor, row: int, read: Callable[[Tensor], Any]) -> Any:
    """Apply `read` to a tensor's row, once for all layers that share the tensor."""
    if id(tensor) not in shared:
        shared[id(tensor)] = read(tensor[row if tensor.shape[0] > 1 else 0])
    return shared[id(tensor)]


def _split_mask(mask: Float[Tensor, "head query key"] | Bool[Tensor, "head query key"]) -> tuple[Any, Any]:
    """Split a mask into what may be seen, and what is added to the scores of that."""
    if mask.shape[0] > 1:
        raise UnsupportedModelError("This model masks every head differently, which attnviz cannot show; choose another model.")
    if mask.dtype == torch.bool:
        return mask[0].cpu().numpy(), None
    seen = mask > torch.finfo(mask.dtype).min / 2
    return seen[0].cpu().numpy(), _split_bias(mask.masked_fill(~seen, 0))


def _split_bias(bias: Float[Tensor, "head query key"]) -> np.ndarray | None:
    """Return a bias; None if it is all zeros, as T5's is where it has no positions to tell apart."""
    return _array(bias) if bias.any() else None


def _array(tensor: Tensor) -> np.ndarray:
    (array,) = to_host([tensor])
    return array


_CROSS = re.compile(r"cross|encdec|encoder_attn|enc_attn", re.IGNORECASE)
_OUTPUTS: dict[str, Kind] = {
    "attentions": "encoder",
    "encoder_attentions": "encoder",
    "decoder_attentions": "decoder",
    "cross_attentions": "cross",
}


@dataclass(frozen=True, eq=False)
class AttentionStack:
    """The attention of one kind that a forward pass made; `causal` if no token looked ahead.

    attending  which layers attend, by the model's own numbers; the others mix tokens otherwise, and are masked
    """

    store: WeightStore
    causal: bool
    attending: tuple[int, ...]


Stacks = dict[Kind, AttentionStack]


@runtime_checkable
class Reader(Protocol):
    """Runs a model and reads its attention.

    kinds    the kind of each attention of an encoder-decoder, by the id of its module; None: no attention can be edited
    records  whether it reads queries and keys, not weights alone
    """

    kinds: Mapping[int, Kind] | None = None
    records: bool = False

    def ask(self, inputs: Mapping[str, Tensor], *, row: int = 0) -> tuple[Any, Stacks]:
        """Run one forward pass: the model's outputs by name, and the attention by kind in one row of the batch.

        A model of one stack has its attention under "encoder", whether it looks ahead or not.
        """
        ...

    def read(self, inputs: Mapping[str, Tensor], *, row: int = 0) -> tuple[Tensor, Stacks]:
        """Run one forward pass: the first of the model's outputs, and the attention by kind in one row of the batch."""
        outputs, stacks = self.ask(inputs, row=row)
        return outputs[0], stacks


class AttentionFunctionReader(Reader):
    """Reads queries and keys through the attention function. The model must run under `hf_attention.NAME`."""

    records = True

    def __init__(self, model: Any) -> None:
        self._model = model
        self._options = quiet_options(model)
        self.kinds = attention_kinds(model)

    def ask(self, inputs: Mapping[str, Tensor], *, row: int = 0) -> tuple[Any, Stacks]:
        with torch.inference_mode(), recording() as recorded:
            outputs = self._model(**inputs, **self._options)
        calls: dict[Kind, list[Call]] = {}
        kinds = self.kinds or {}
        for call in recorded.calls:
            calls.setdefault(kinds.get(id(call.module), "encoder"), []).append(call)
        return outputs, {kind: self._stack(kind, recorded.layers(some, row=row), some) for kind, some in calls.items()}

    def _stack(
        self, kind: Kind, layers: tuple[QueryKeyLayer, ...] | tuple[CardLayer, ...], calls: Sequence[Call]
    ) -> AttentionStack:
        causal = kind != "cross" and all(
            layer.causal or (layer.visible is not None and not np.triu(layer.visible, k=1).any()) for layer in layers
        )
        numbers = layer_numbers([call.module for call in calls])
        n_layers = numbers[-1] + 1 if self.kinds else n_layers_of(self._model, numbers[-1] + 1)
        now = apply_edits.running()
        on_card = [layer for layer in layers if isinstance(layer, CardLayer)]
        if on_card and now is None and n_layers == len(layers):
            return AttentionStack(CardWeights(on_card), causal, numbers)
        layers = tuple(layer.converted if isinstance(layer, CardLayer) else layer for layer in layers)
        if n_layers > len(layers):
            # What mixes tokens without attention, such as a convolution, keeps its number: nothing is visible in it.
            empty = _unseen(layers[0])
            layers = tuple(layers[numbers.index(place)] if place in numbers else empty for place in range(n_layers))
        # What has no kind of its own is edited as the stack that it is.
        layers = with_edited_heads(now.stack if now and not self.kinds else kind, layers)
        return AttentionStack(QueryKeyWeights(layers), causal, numbers)


class EagerReader(Reader):
    """Reads the weights that a model gives when asked. The model must run under "eager"."""

    def __init__(self, model: Any) -> None:
        self._model = model
        self._options = quiet_options(model) | {"output_attentions": True}

    def ask(self, inputs: Mapping[str, Tensor], *, row: int = 0) -> tuple[Any, Stacks]:
        with torch.inference_mode():
            outputs = self._model(**inputs, **self._options)
        stacks: Stacks = {}
        # The encoder's first, as in every trace: models name it last.
        for name, kind in _OUTPUTS.items():
            # Some call other things "attentions": attention has a batch, heads, queries and keys.
            fit = [layer for layer in outputs.get(name) or () if isinstance(layer, Tensor) and layer.ndim == 4]
            arrays = [
                renormalize(each[row].float().cpu().numpy(), place, rounding_of(each.dtype)) for place, each in enumerate(fit)
            ]
            if arrays:
                arrays, window = spread_window(arrays, inputs["input_ids"].shape[1]) if kind == "encoder" else (arrays, None)
                causal = kind != "cross" and not any(np.triu(layer, k=1).any() for layer in arrays)
                store = DenseWeights(tuple(arrays)) if window is None else MaskedWeights(tuple(arrays), (window,) * len(arrays))
                stacks[kind] = AttentionStack(store, causal, tuple(range(len(arrays))))
        return outputs, stacks

    def edit_at(self, kinds: Mapping[int, Kind] | None) -> "EagerReader":
        """Let edits act, where the softmax of each attention is known."""
        self.kinds = kinds
        return self


def n_layers_of(model: Any, least: int) -> int:
    """Count the layers, those above the last attention too: `least` or more. A model may be cut behind its configuration."""
    n_layers = getattr(model.config.get_text_config(), "num_hidden_layers", None) or 0
    # Only where some have no attention, or were cut, are the modules searched: each trace would wait for it.
    there = n_layers > least and any(isinstance(each, nn.ModuleList) and len(each) == n_layers for each in model.modules())
    return n_layers if there else least


def layer_numbers(modules: Sequence[Any]) -> tuple[int, ...]:
    """Number the attentions of a stack as the model numbers its layers; where it does not, one after the other."""
    own = [number for module in modules if isinstance(number := getattr(module, "layer_idx", None), int)]
    return tuple(own) if len(own) == len(modules) and own == sorted(set(own)) else tuple(range(len(modules)))


def _unseen(layer: QueryKeyLayer) -> QueryKeyLayer:
    """Make a layer of as many heads and tokens in which nothing can be seen."""
    n_heads, (n_queries, n_keys) = layer.query.shape[0], layer.shape
    nothing = np.zeros((n_queries, n_keys), bool)
    sink = None if layer.sink is None else np.zeros(n_heads, np.float32)
    query, key = np.zeros((n_heads, n_queries, 1), np.float32), np.zeros((1, n_keys, 1), np.float32)
    return QueryKeyLayer(query, key, scaling=1.0, visible=nothing, sink=sink)


def quiet_options(model: nn.Module) -> dict[str, Any]:
    """List the options that keep a forward pass from remembering keys for a next one."""
    return {"use_cache": False} if takes(model, "use_cache") else {}


def takes(model: nn.Module, name: str) -> bool:
    """Say whether a forward pass takes an input of that name; some hand on whatever they are given."""
    known = inspect.signature(model.forward).parameters
    return name in known or "input_ids" not in known


def attention_kinds(model: Any) -> dict[int, Kind]:
    """Name the kind of attention of each module of an encoder-decoder, told by its place and name."""
    if not model.config.is_encoder_decoder:
        return {}
    inside = {id(module) for module in model.get_encoder().modules()}
    return {
        id(module): "encoder" if id(module) in inside else "cross" if _CROSS.search(name) else "decoder"
        for name, module in model.named_modules()
    }


# How a model says that token ids are not enough for it: one of text and images, for example.
_MODEL_FAILURES = (RuntimeError, ValueError, TypeError, KeyError, AttributeError, IndexError)
# What one layer rounds in few bits, in units of one rounding: products, softmax, norms and sums one after the other. Errors of
# several layers add up as steps of a random walk do, and no more than that share of a row may go elsewhere.
LAYER_ROUNDINGS, MANY_LAYERS, MOST_DISTANCE = 8, 32, 0.15


@dataclass(frozen=True, eq=False)
class Attempt:
    """What a reader read, or why it could not."""

    output: Tensor | None = None
    stacks: Stacks = field(default_factory=dict)
    failure: Exception | None = None


def reader_for(model: Any, inputs: Mapping[str, Tensor]) -> Reader:
    """Find the reader that tells the truth about `model` by reading `inputs` in both ways. The model comes under "eager".

    Raises:
        UnsupportedModelError: neither way shows any attention; the message says why.
    """
    eager = EagerReader(model)
    want, got = _attempt(eager, inputs), Attempt()
    softmaxes = trace_softmaxes(model, lambda: model(**inputs, **quiet_options(model)))
    if model._can_set_attn_implementation():
        model.set_attn_implementation(NAME)
        recording = AttentionFunctionReader(model)
        got = _attempt(recording, inputs)
        if _is_true(got, want, softmaxes, model.dtype):
            return recording
        model.set_attn_implementation("eager")
    if not want.stacks:
        raise unsupported(model, [each.failure for each in (want, got) if each.failure is not None])
    stores = {kind: stack.store for kind, stack in want.stacks.items()}
    return eager.edit_at(editable_kinds(attention_kinds(model), softmaxes, stores, model.dtype))


def are_weights_of(model: Any, inputs: Mapping[str, Tensor], stacks: Stacks) -> bool:
    """Say whether a model under "eager" gives these weights; True also where it gives none that can be read."""
    return _same_stacks(stacks, _attempt(EagerReader(model), inputs).stacks, model.dtype)


def _attempt(reader: Reader, inputs: Mapping[str, Tensor]) -> Attempt:
    """Read a model; where it cannot be read in this way, return only the failure."""
    try:
        return Attempt(*reader.read(inputs))
    except (UnsupportedModelError, TraceError, *_MODEL_FAILURES) as failure:
        return Attempt(failure=failure)


def _is_true(got: Attempt, want: Attempt, softmaxes: Sequence[Softmax], dtype: torch.dtype) -> bool:
    """Say whether what was recorded is what the model gives when asked; where it gives nothing, what its softmaxes gave."""
    if not got.stacks or got.output is None or not (want.output is None or same_states(want.output, got.output)):
        return False
    if want.stacks:
        return _same_stacks(got.stacks, want.stacks, dtype)
    made = [each.weights[0].float().cpu().numpy() for each in softmaxes]
    return all(
        any(near(stack.store.layer(layer), each, layer, dtype) for each in made)
        for stack in got.stacks.values()
        for layer in stack.attending
    )


def same_states(one: Tensor, other: Tensor) -> bool:
    """Say whether two computations of the same states differ by rounding alone.

    In fewer bits than float32, what each layer rounds adds up: there the mean distance of a token's states counts, as a share
    of their length.
    """
    if not (rounding := rounding_of(other.dtype)):
        return torch.allclose(one.float(), other.float(), atol=1e-3, rtol=1e-3)
    one, other = one.float(), other.float()
    distance = (one - other).norm(dim=-1) / other.norm(dim=-1).clamp(min=torch.finfo(torch.float32).tiny)
    return bool(distance.mean() <= min(MOST_DISTANCE, LAYER_ROUNDINGS * MANY_LAYERS**0.5 * rounding))


def _same_stacks(got: Stacks, want: Stacks, dtype: torch.dtype) -> bool:
    """Say whether two readings of the same tokens, by a model of that type, differ by rounding alone."""
    return all(kind in got and _same(got[kind], want[kind], dtype) for kind in want)


def _same(got: AttentionStack, want: AttentionStack, dtype: torch.dtype) -> bool:
    if len(got.attending) != len(want.attending):
        return False
    pairs = zip(got.attending, want.attending, strict=True)
    return all(near(got.store.layer(one), want.store.layer(other), one, dtype) for one, other in pairs)


def near(got: np.ndarray, want: np.ndarray, layer: int, dtype: torch.dtype) -> bool:
    """Say whether weights are the same; a sink, which is the last column, need not be among those that the model gives.

    In fewer bits than float32, scores are off by their size times the rounding, and the layers below add theirs: of single
    weights nothing can be said, and the mean over rows of what they give to other keys counts. What is wrong moves far more.
    """
    if got.shape[:2] != want.shape[:2]:
        return False
    got, want = got[..., : want.shape[2]], want[..., : got.shape[2]]
    if not (rounding := rounding_of(dtype)):
        return np.allclose(got, want, atol=1e-2)
    moved = np.abs(got - want).sum(axis=-1).mean() / 2
    return bool(moved <= min(MOST_DISTANCE, LAYER_ROUNDINGS * (layer + 1) ** 0.5 * rounding))
