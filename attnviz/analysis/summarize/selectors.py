"""Selectors: rules that choose what to keep of a text, by attention received; and baselines that use none.

Special tokens do not count as queries: attention received is the mean over the queries that were typed.
"""

import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from jaxtyping import Float

from attnviz.analysis.summarize.selection import Passage, Units
from attnviz.analysis.wording import head_name
from attnviz.core.errors import TraceError
from attnviz.core.trace import AttentionMap, AttentionTrace

Received = Float[np.ndarray, " key"]
# The layers whose received attention was trained to choose words, and sentences (attnviz.models.base.ModelCard.selects).
SelectorLayers = tuple[int, int]


@dataclass(frozen=True, eq=False)
class Selector:
    """A rule that chooses what to keep: a score for every unit and every sentence of a passage.

    tokens  what each token of the model receives; None for a baseline without attention
    """

    name: str
    units: Float[np.ndarray, " unit"]
    sentences: Float[np.ndarray, " sentence"]
    tokens: Received | None = None


def attention_received_by_head(attention: AttentionMap) -> Float[np.ndarray, "layer head key"]:
    """Compute the attention that each key receives from every head: the mean over the queries that were typed."""
    return _received_and_means(attention)[0]


@lru_cache(maxsize=2)  # All selectors read the same few maps, and every head has to be computed for each.
def _received_and_means(
    attention: AttentionMap,
) -> tuple[Float[np.ndarray, "layer head key"], Float[np.ndarray, "layer query key"]]:
    """Compute what every head gives to each key, and the mean of each layer's heads."""
    typed, by_head, means = _typed_queries(attention), [], []
    for layer in range(attention.n_layers):
        weights = attention.layer_weights(layer)
        by_head.append(weights[:, typed].mean(axis=1))
        means.append(weights.mean(axis=0))
    return np.stack(by_head), np.stack(means)


def shares_of_heads(attention: AttentionMap, passage: Passage, kept: Units) -> Float[np.ndarray, "layer head"]:
    """Compute the share of each head's attention to words that lands on kept words, 0 to 1."""
    by_head = attention_received_by_head(attention)
    units = np.array([[passage.by_unit(head) for head in layer] for layer in by_head])
    return units[..., kept].sum(axis=-1) / np.maximum(units[..., passage.candidate].sum(axis=-1), np.finfo(float).tiny)


def rollout(attention: AttentionMap, layers: Sequence[int]) -> Received:
    """Compute attention rollout from the typed queries: Abnar & Zuidema 2020, arXiv:2005.00928, section 3.

    What reaches layer n is Ã_n … Ã_1 Ã_0 with Ã = (A + I) / 2, A the mean of a layer's heads.

    Raises:
        TraceError: queries and keys are not the same tokens, so that no residual leads from one to the other.
    """
    if attention.queries != attention.keys:
        raise TraceError(
            "Rollout follows one text through its layers, and this attention is between two texts: choose encoder attention."
        )
    means = _received_and_means(attention)[1]
    identity = np.eye(len(attention.keys), dtype=np.float32)
    flow = identity
    for layer in layers:
        flow = (means[layer] + identity) / 2 @ flow
    return flow[_typed_queries(attention)].mean(axis=0)


def plain_layers(attention: AttentionMap, selects: SelectorLayers | None) -> range:
    """List the layers that were not trained to select: those before the first that was."""
    return range(min(selects) if selects else attention.n_layers)


def selectors(
    passage: Passage, trace: AttentionTrace, *, selects: SelectorLayers | None, layer: int, head: int | None
) -> tuple[Selector, ...]:
    """Apply every selector to a text, the trained one first where there is one; `layer` and `head` are those chosen.

    Of a model that writes, attention received is what its summary gives to the text; rollout follows its encoder.
    """
    attention = trace.cross if "cross" in trace.kinds else trace.maps[0]
    by_head = attention_received_by_head(attention)
    plain = plain_layers(attention, selects)
    chosen = by_head[layer].mean(axis=0) if head is None else by_head[layer, head]
    what = "layer" if head is None else "head"
    place = head_name(layer, head) + (", trained" if selects and layer in selects else "")
    by_attention = [
        (f"Attention, last layer (L{plain[-1]})", by_head[plain[-1]].mean(axis=0)),
        ("Attention, mean of all layers", by_head[plain.start : plain.stop].mean(axis=(0, 1))),
        (f"Attention, chosen {what} ({place})", chosen),
        ("Attention rollout", rollout(trace.maps[0], plain_layers(trace.maps[0], selects))),
    ]
    rows = [Selector(name, passage.by_unit(tokens), passage.by_sentence(tokens), tokens) for name, tokens in by_attention]
    if selects:
        words, sentences = (by_head[each].mean(axis=0) for each in selects)
        rows.insert(0, Selector("Trained selector", passage.by_unit(words), passage.by_sentence(sentences), words))
    return (*rows, *_without_attention(passage))


def _without_attention(passage: Passage) -> tuple[Selector, Selector]:
    sizes = len(passage.units), len(passage.sentences)
    # The text itself decides what chance chooses: the same text is always treated alike.
    dice = np.random.default_rng(zlib.crc32(passage.text.encode()))
    units, sentences = (-np.arange(size, dtype=float) for size in sizes)
    return Selector("First", units, sentences), Selector("Random", dice.random(sizes[0]), dice.random(sizes[1]))


def _typed_queries(attention: AttentionMap) -> list[int]:
    """Find the queries that are not special tokens; all of them where there is no other."""
    return [index for index, token in enumerate(attention.queries) if not token.special] or list(range(len(attention.queries)))
