"""Ways to choose what to keep of a text: by the attention that it receives, and by none, to compare with.

Special tokens ask nothing here: attention received is the mean over the queries that were typed.
"""

import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from jaxtyping import Float

from attnviz.analysis.summarize.selection import Passage, Units
from attnviz.analysis.view import head_weights
from attnviz.analysis.wording import head_name
from attnviz.core.errors import TraceError
from attnviz.core.trace import AttentionMap, AttentionTrace

Received = Float[np.ndarray, " key"]
# The layers whose received attention was trained to choose words, and sentences (attnviz.models.base.ModelCard.selects).
Selects = tuple[int, int]


@dataclass(frozen=True, eq=False)
class Way:
    """A way to choose: a score for every unit and every sentence of a passage.

    tokens  what each token of the model receives; None where the way has no such thing
    """

    name: str
    units: Float[np.ndarray, " unit"]
    sentences: Float[np.ndarray, " sentence"]
    tokens: Received | None = None


def received(attention: AttentionMap, *, layer: int, head: int | None = None) -> Received:
    """Attention that each key receives from one head, or from the mean of a layer's (`head` None).

    Raises:
        TraceError: there is no such layer or head.
    """
    return head_weights(attention, layer, head)[_asking(attention)].mean(axis=0)


def received_by_heads(attention: AttentionMap) -> Float[np.ndarray, "layer head key"]:
    """Attention that each key receives from every head."""
    return _read(attention)[0]


@lru_cache(maxsize=2)  # All ways look at the same few maps, and every head has to be computed for each.
def _read(attention: AttentionMap) -> tuple[Float[np.ndarray, "layer head key"], Float[np.ndarray, "layer query key"]]:
    """What every head gives to each key, and the mean of each layer's heads."""
    asking, received, means = _asking(attention), [], []
    for layer in range(attention.n_layers):
        weights = attention.layer_weights(layer)
        received.append(weights[:, asking].mean(axis=1))
        means.append(weights.mean(axis=0))
    return np.stack(received), np.stack(means)


def shares_of_heads(attention: AttentionMap, found: Passage, kept: Units) -> Float[np.ndarray, "layer head"]:
    """Of what each head gives to words that may be kept, the share that goes to the kept ones, 0 to 1."""
    by_head = received_by_heads(attention)
    units = np.array([[found.by_unit(head) for head in layer] for layer in by_head])
    return units[..., kept].sum(axis=-1) / np.maximum(units[..., found.candidate].sum(axis=-1), np.finfo(float).tiny)


def rollout(attention: AttentionMap, layers: Sequence[int]) -> Received:
    """Attention rollout from the typed queries: Abnar & Zuidema 2020, arXiv:2005.00928, section 3.

    What reaches layer n is Ã_n … Ã_1 Ã_0 with Ã = (A + I) / 2, A the mean of a layer's heads.

    Raises:
        TraceError: queries and keys are not the same tokens, so that no residual leads from one to the other.
    """
    if attention.queries != attention.keys:
        raise TraceError("Rollout follows one text through its layers; this attention is between two.")
    means = _read(attention)[1]
    identity = np.eye(len(attention.keys), dtype=np.float32)
    flow = identity
    for layer in layers:
        flow = (means[layer] + identity) / 2 @ flow
    return flow[_asking(attention)].mean(axis=0)


def plain_layers(attention: AttentionMap, selects: Selects | None) -> range:
    """The layers that were not trained to select: those before the first that was."""
    return range(min(selects) if selects else attention.n_layers)


def ways(found: Passage, trace: AttentionTrace, *, selects: Selects | None, layer: int, head: int | None) -> tuple[Way, ...]:
    """Every way to choose from a text, the trained one first where there is one; `layer` and `head` are those chosen.

    Of a model that writes, attention received is what its summary gives to the text; rollout follows its encoder.
    """
    attention = trace.cross if "cross" in trace.kinds else trace.maps[0]
    by_head = received_by_heads(attention)
    plain = plain_layers(attention, selects)
    chosen = by_head[layer].mean(axis=0) if head is None else by_head[layer, head]
    by_attention = [
        (f"Attention, last layer (L{plain[-1]})", by_head[plain[-1]].mean(axis=0)),
        ("Attention, mean of all layers", by_head[plain.start : plain.stop].mean(axis=(0, 1))),
        (f"Attention, chosen head ({head_name(layer, head)})", chosen),
        ("Attention rollout", rollout(trace.maps[0], plain_layers(trace.maps[0], selects))),
    ]
    rows = [Way(name, found.by_unit(tokens), found.by_sentence(tokens), tokens) for name, tokens in by_attention]
    if selects:
        words, sentences = (by_head[each].mean(axis=0) for each in selects)
        rows.insert(0, Way("Trained selector", found.by_unit(words), found.by_sentence(sentences), words))
    return (*rows, *_without_attention(found))


def _without_attention(found: Passage) -> tuple[Way, Way]:
    sizes = len(found.units), len(found.sentences)
    # The text itself decides what chance chooses: the same text is always treated alike.
    dice = np.random.default_rng(zlib.crc32(found.text.encode()))
    units, sentences = (-np.arange(size, dtype=float) for size in sizes)
    return Way("First", units, sentences), Way("Random", dice.random(sizes[0]), dice.random(sizes[1]))


def _asking(attention: AttentionMap) -> list[int]:
    """Queries that are not special tokens; all of them where there is no other."""
    return [index for index, token in enumerate(attention.queries) if not token.special] or list(range(len(attention.queries)))
