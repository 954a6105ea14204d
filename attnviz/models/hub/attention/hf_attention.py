"""The attention function of Hugging Face models: it computes attention, and writes down what it is given.

transformers calls whatever `AttentionInterface` has under the name in a model's config. Under the name "attnviz" that is
`attend` below. While a `Tape` runs, `attend` records queries, keys and what else decides the scores; always, it answers with
exact attention. What one forward pass records lives in a context variable, so passes in two threads never meet.
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np
import torch
import torch.nn.functional as F
from jaxtyping import Bool, Float
from torch import Tensor, nn
from transformers import AttentionInterface, AttentionMaskInterface
from transformers.masking_utils import sdpa_mask

from attnviz.core.cancellation import cancellation_point
from attnviz.core.errors import TraceError, UnsupportedModelError
from attnviz.core.query_key import QueryKeyLayer
from attnviz.models.device import copy_to_host, to_host
from attnviz.models.hub.attention.card_weights import CardLayer
from attnviz.nn.edit import edited_pass

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
        """What some calls recorded for one row of the batch; a mask or bias that calls share is shared by their layers.

        Raises:
            TraceError: a vector is not finite.
        """
        shared: dict[int, Any] = {}
        vectors = [each[row] for call in calls for each in (call.query, call.key, call.value)]
        if all(call.query.device.type == "cuda" for call in calls):
            # Largest numbers are found on the card: one that is none would be the largest.
            largest = [_largest(each).to(vectors[0].device) for each in vectors]
            *vectors, peaks = copy_to_host([*vectors, torch.stack(largest)])
            if not peaks.isfinite().all():
                raise TraceError("the query, key or value of a layer holds values that are not finite")
            each_layer = zip(calls, vectors[::3], vectors[1::3], vectors[2::3], strict=True)
            return tuple(CardLayer(call.query.device, *those, facts=_facts(call, row, shared)) for call, *those in each_layer)
        arrays = to_host(vectors)
        each_layer = zip(calls, arrays[::3], arrays[1::3], arrays[2::3], strict=True)
        return tuple(QueryKeyLayer(q, k, value=v, **_facts(call, row, shared)) for call, q, k, v in each_layer)


def _largest(vectors: Tensor) -> Tensor:
    return torch.linalg.vector_norm(vectors, torch.inf, dtype=torch.float32)


_running: ContextVar[Tape | None] = ContextVar("attnviz_tape", default=None)


@contextmanager
def recording() -> Iterator[Tape]:
    """A tape that records the attention of every forward pass within this context, and of no other thread's."""
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
    if (edits := edited_pass.running()) is not None:
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
        # A given mask already holds the causal one; a single query is the last one and sees all keys.
        causal=bool(is_causal) and mask is None and query.shape[2] > 1,
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
        return _explicit_output(call, key, value)
    mask, causal = call.mask, call.causal
    if call.bias is not None:
        mask, causal = _biased_mask(call), False
    return F.scaled_dot_product_attention(call.query, key, value, attn_mask=mask, is_causal=causal, scale=call.scaling)


def _computed(call: Call, output: Tensor) -> edited_pass.AttentionCall:
    """A call as edits want it: the scores and the values of some heads."""
    groups = call.query.shape[1] // call.key.shape[1]
    return edited_pass.AttentionCall(
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


def _explicit_output(call: Call, key: Tensor, value: Tensor) -> Tensor:
    """What the fused kernel cannot do: soft-capped scores, and a sink that takes attention but gives no value."""
    return _weights(call, key)[..., : key.shape[2]].to(value.dtype) @ value


def weights_of(call: Call) -> Float[Tensor, "batch head query column"]:
    """Compute the weights of a whole batch in float32; a sink is the last column."""
    groups = call.query.shape[1] // call.key.shape[1]
    return _weights(call, call.key.repeat_interleave(groups, dim=1) if groups > 1 else call.key)


def _weights(call: Call, key: Tensor) -> Float[Tensor, "batch head query column"]:
    return _scores(call, call.query, key, range(call.query.shape[1])).softmax(dim=3).nan_to_num(0.0)


def _facts(call: Call, row: int, shared: dict[int, Any]) -> dict[str, Any]:
    """What decides the weights of a layer besides its vectors."""
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
    """What `read` makes of a tensor's row, made once for all layers that share the tensor."""
    if id(tensor) not in shared:
        shared[id(tensor)] = read(tensor[row if tensor.shape[0] > 1 else 0])
    return shared[id(tensor)]


def _split_mask(mask: Float[Tensor, "head query key"] | Bool[Tensor, "head query key"]) -> tuple[Any, Any]:
    """A mask as what may be seen, and what is added to the scores of that."""
    if mask.shape[0] > 1:
        raise UnsupportedModelError("This model masks every head differently, which attnviz cannot show; choose another model.")
    if mask.dtype == torch.bool:
        return mask[0].cpu().numpy(), None
    seen = mask > torch.finfo(mask.dtype).min / 2
    return seen[0].cpu().numpy(), _split_bias(mask.masked_fill(~seen, 0))


def _split_bias(bias: Float[Tensor, "head query key"]) -> np.ndarray | None:
    """A bias; none if it is all zeros, as T5's is where it has no positions to tell apart."""
    return _array(bias) if bias.any() else None


def _array(tensor: Tensor) -> np.ndarray:
    (array,) = to_host([tensor])
    return array
