"""Norms and mixing in place of weights: how much a head, or a layer, moves (Kobayashi et al. 2020, 2021); runs with them."""

from dataclasses import fields, replace
from typing import Any

import numpy as np
import torch
from jaxtyping import Float

from attnviz.analysis.wording import TITLES
from attnviz.attribution.attention_methods import Composition, carried, composition, recorded
from attnviz.attribution.recorded_pass import Attention, as_array
from attnviz.core.edits import NO_EDITS, Edits
from attnviz.core.errors import ArgumentError, ModelError, described
from attnviz.core.sampling import WritingOptions
from attnviz.core.trace import AttentionMap, AttentionTrace, Messages, Prompt
from attnviz.core.weights import MaskedWeights, Quantity, rounding_of
from attnviz.models.base import GREEDY, AttentionModel, DecodingOptions
from attnviz.models.capabilities import capabilities
from attnviz.models.catalog import Task
from attnviz.models.hub.attention_readers import near
from attnviz.models.result import Result
from attnviz.models.targets import AttentionSite, BoundTarget
from attnviz.models.tasks import run_task, with_readings

# All of a map is computed at once, and not a head when it is looked at.
MOST_TOKENS = 256
# The same pass, computed by another kernel in float32.
CLOSE = 1e-3


def in_quantity(model: AttentionModel, result: Result, quantity: Quantity) -> Result:
    """Give the maps of a result another quantity. Of a translation, the one that was written is read again.

    Raises:
        ModelError: the text is too long, something is edited, or norms of this model cannot be computed.
        PromptError: the model cannot read the prompt.
        ArgumentError: this is no result.
    """
    if not isinstance(result, Result):
        raise ArgumentError(f"A result is what attnviz.run gives, not {described(result)}.")
    if not isinstance(quantity, str) or quantity not in TITLES:
        raise ModelError(f"A quantity is one of {', '.join(TITLES)}, not {described(quantity)}.")
    if quantity == result.quantity:
        return result
    if result.trace.edits:
        raise ModelError("Norms and mixing are computed without edits: remove the edits, or look at weights.")
    declared = capabilities(model)
    if result.task == "translate":
        pieces = result.draft.pieces
        numbers = declared.translator().known_pieces(pieces) if pieces else ()
        return _moving(result, result.draft.trace, declared.bind_trace(result.prompt, numbers), quantity)
    return _moving(result, model.trace(result.prompt), declared.bind_trace(result.prompt), quantity)


def _moving(result: Result, trace: AttentionTrace, bound: BoundTarget, quantity: Quantity) -> Result:
    """Make the result with the quantity of a pass, which has to be the pass of the trace."""
    if quantity == "weights":
        return replace(result, trace=trace, quantity=quantity, mixing={})
    if bound.n_positions > MOST_TOKENS:
        raise ModelError(
            f"Norms and mixing are computed for at most {MOST_TOKENS} tokens, and this text has {bound.n_positions}: type less."
        )
    passed = list(zip(recorded(bound), bound.sites, strict=True))
    if any(attention.output is None for attention, _ in passed):
        raise ModelError(
            f"The attention of {trace.model} has no output matrix of its own, so norms cannot be computed: look at weights."
        )
    _check_same_pass(trace, passed)
    made = [_composed(attention, site) for attention, site in passed]
    rows = _ROWS[quantity]
    moved = [(site, rows(attention, composed)) for (attention, site), composed in zip(passed, made, strict=True)]
    maps = tuple(_with_shares(attention, moved) for attention in trace.maps)
    ratios: dict[tuple[str, int], list[float]] = {}
    for (_, site), composed in zip(passed, made, strict=True):
        if composed is not None:
            ratios.setdefault((site.kind, site.layer), []).extend(composed.mixing.tolist())
    named = replace(trace, model=f"{trace.model}, {TITLES[quantity].lower()}", maps=maps)
    mixing = {name: float(np.mean(each)) for name, each in ratios.items()}
    return replace(result, trace=named, quantity=quantity, mixing=mixing)


def _norms(attention: Attention, _: Composition | None) -> Float[np.ndarray, "head query key"]:
    return as_array(attention.heads * carried(attention).norm(dim=-1)[:, None, :])


def _mixing(_: Attention, composed: Composition | None) -> Float[np.ndarray, "1 query key"]:
    if composed is None:
        raise ModelError("attnviz does not know the residual connection of this model: look at weights or norms instead.")
    return composed.norms[None]


_ROWS = {"norms": _norms, "mixing": _mixing}


def _composed(attention: Attention, site: AttentionSite) -> Composition | None:
    if attention.residual()[1] is None or attention.output is None:
        return None
    with torch.no_grad():
        return composition(attention, of_itself=site.queries == site.keys)


def _with_shares(attention: AttentionMap, moved: list[tuple[AttentionSite, np.ndarray]]) -> AttentionMap:
    """Make the same map with the shares of what moves as its rows."""
    own = [(site, values) for site, values in moved if site.kind == attention.kind]
    (n_heads,) = {len(values) for _, values in own}
    layers = []
    for layer in range(attention.n_layers):
        whole = np.zeros((n_heads, *attention.store.shape))
        for site, values in own:
            if site.layer == layer:
                whole[:, *_inside(site, own)] = values
        totals = whole.sum(axis=2, keepdims=True)
        layers.append(np.divide(whole, totals, out=np.zeros_like(whole), where=totals > 0).astype(np.float32))
    seen = tuple(attention.visible(layer) for layer in range(attention.n_layers))
    return replace(attention, store=MaskedWeights(tuple(layers), seen))


def _inside(site: AttentionSite, own: list[tuple[AttentionSite, np.ndarray]]) -> tuple[slice, slice]:
    """Find the rows and columns of an attention in the map of its kind, which may begin late among the model's positions."""
    queries, keys = (min(getattr(each, side).start for each, _ in own) for side in ("queries", "keys"))
    return (
        slice(site.queries.start - queries, site.queries.stop - queries),
        slice(site.keys.start - keys, site.keys.stop - keys),
    )


def _check_same_pass(trace: AttentionTrace, passed: list[tuple[Attention, AttentionSite]]) -> None:
    """Check that the recorded pass has the weights of the trace.

    Raises:
        ModelError: they are not the same.
    """
    dtypes = {attention.value.dtype for attention, _ in passed}
    weights = [(site, as_array(attention.heads)) for attention, site in passed]
    for attention in trace.maps:
        own = [(site, values) for site, values in weights if site.kind == attention.kind]
        for site, values in own:
            rows, columns = _inside(site, own)
            if site.layer >= attention.n_layers or values.shape[0] != attention.n_heads:
                raise _not_known(trace)
            there = attention.layer_weights(site.layer)[:, rows, columns]
            if there.shape != values.shape or not _close(there, values, site.layer, dtypes):
                raise _not_known(trace)
        if {site.layer for site, _ in own} != set(range(attention.n_layers)) - set(attention.without_attention):
            raise _not_known(trace)


def _close(there: np.ndarray, values: np.ndarray, layer: int, dtypes: set[torch.dtype]) -> bool:
    """Say whether weights of two passes differ by the rounding of their type alone."""
    few = max(dtypes, key=rounding_of)
    return near(values, there, layer, few) if rounding_of(few) else np.allclose(there, values, atol=CLOSE)


def _not_known(trace: AttentionTrace) -> ModelError:
    return ModelError(f"Norms and mixing of {trace.model} do not fit the weights of this text: look at its weights instead.")


def run(
    model: AttentionModel,
    task: Task,
    prompt: Prompt | str | Messages,
    *,
    edits: Edits | str = NO_EDITS,
    options: DecodingOptions = GREEDY,
    quantity: Quantity = "weights",
    **writing: Any,
) -> Result:
    """Run a model on a prompt: its trace, what the task is for, and the same without the edits where there are any.

    task      "encode", "translate", "answer", "summarize" or "write"
    options   how a translation is decoded
    quantity  of the maps: "weights", "norms" (each weight times the length of what it carries) or "mixing" (of a whole layer)
    writing   how a language model writes on, the fields of `WritingOptions`: tokens=20, temperature=0.8, top_p=0.9, seed=7

    Raises:
        PromptError, ModelError: the model cannot read the prompt, was not made for the task, or its quantity is not known.
        EditError: the model cannot be edited in this way.
        ArgumentError: the task takes no such option.

    >>> import attnviz as av
    >>> result = av.run(av.load("minilm"), "encode", "The cat sat.", edits="e3.1z")
    >>> result.before.trace.encoder.weights(3, 1).any(), result.trace.encoder.weights(3, 1).any()
    (np.True_, np.False_)
    """
    if writing and task != "write":
        raise ArgumentError(f"{', '.join(writing)}: only the task “write” takes these, not “{task}”.")
    known = [each.name for each in fields(WritingOptions)]
    if unknown := [name for name in writing if name not in known]:
        raise ArgumentError(f"The task “write” takes no {', '.join(unknown)}: its options are {', '.join(known)}.")
    how = WritingOptions(**writing) if task == "write" else options
    result = run_task(model, task, prompt, edits=edits, options=how)
    if task == "encode":
        result = with_readings(model, result)
    return replace(in_quantity(model, result, quantity), model=model)
