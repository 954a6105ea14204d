"""The attention of a pass on a graphics card: its vectors lie on this machine, weights of long texts are computed there again.

What crosses is as little as there is to read: vectors in the type that the card computed, and the weights that are asked for.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, overload

import numpy as np
import torch
from jaxtyping import Bool
from torch import Tensor

from attnviz.core.weights import SLAB_CELLS, LayerWeights, QueryKeyLayer, QueryKeyWeights, Slab, Weights, frozen
from attnviz.models import device

# A head of fewer weights is computed here before a card has answered.
LEAST_CELLS = 2**18
# So many weights are computed there at a time.
MOST_CELLS = 2**27


@dataclass(frozen=True, eq=False)
class CardLayer:
    """One layer that a card computed: its vectors on this machine, in the type of the card, and what else decides its weights.

    facts  the other arguments of `QueryKeyLayer`
    """

    card: torch.device
    query: Tensor
    key: Tensor
    value: Tensor
    facts: Mapping[str, Any]

    @property
    def causal(self) -> bool:
        return self.facts["causal"]

    @property
    def visible(self) -> Bool[np.ndarray, "query key"] | None:
        return self.facts["visible"]

    @property
    def shape(self) -> tuple[int, int]:
        """Number of queries, number of keys with that of a sink."""
        return self.query.shape[1], self.key.shape[1] + (self.facts["sink"] is not None)

    @cached_property
    def converted(self) -> QueryKeyLayer:
        """The layer in float32, for what reads its vectors on this machine."""
        query, key, value = (device.own_array(each) for each in (self.query, self.key, self.value))
        return QueryKeyLayer(query, key, value=value, **self.facts)

    @property
    def nbytes(self) -> int:
        """Bytes of its vectors, and of those in float32 where somebody read them."""
        held = [self.query, self.key, self.value]
        is_copied = "converted" in vars(self) and self.query.dtype != torch.float32
        return sum(each.nbytes + is_copied * 4 * each.numel() for each in held)

    def compute(self, heads: slice) -> tuple[LayerWeights, np.ndarray] | None:
        """Compute the weights of some heads on the card, and the entropy of each row; None where this machine is to do it."""
        n_queries, n_columns = self.shape
        if n_queries * n_columns < LEAST_CELLS or self.facts["bias"] is not None:
            return None
        try:
            with torch.inference_mode():
                return self._compute(range(*heads.indices(len(self.query))))
        except RuntimeError:
            # It has no room, or is lost: all that is needed is here, too.
            torch.cuda.empty_cache()
            return None

    def _compute(self, heads: range) -> tuple[LayerWeights, np.ndarray]:
        n_queries, n_columns = self.shape
        weights, entropies = (device.room_for_copy((len(heads), *rest)) for rest in ((n_queries, n_columns), (n_queries,)))
        groups, step = len(self.query) // len(self.key), max(1, MOST_CELLS // (n_queries * n_columns))
        hidden = self._hidden()
        for start in range(0, len(heads), step):
            some = heads[start : start + step]
            query = self.query[some.start : some.stop].to(self.card, non_blocking=True).float()
            first = some.start // groups
            keys = self.key[first : (some.stop - 1) // groups + 1].to(self.card, non_blocking=True).float()
            keys = keys[torch.arange(some.start, some.stop, device=self.card) // groups - first]
            shares = self._softmax(query @ keys.transpose(1, 2), some, hidden)
            weights[start : start + step].copy_(shares, non_blocking=True)
            entropies[start : start + step].copy_(torch.special.entr(shares).sum(dim=-1), non_blocking=True)
        torch.cuda.current_stream(self.card).synchronize()
        return weights.numpy(), entropies.numpy()

    def _softmax(self, scores: Tensor, heads: range, hidden: Tensor | None) -> Tensor:
        scores *= self.facts["scaling"]
        if (softcap := self.facts["softcap"]) is not None:
            scores = scores.div_(softcap).tanh_().mul_(softcap)
        if hidden is not None:
            scores.masked_fill_(hidden, -torch.inf)
        if (sink := self.facts["sink"]) is not None:
            column = torch.from_numpy(sink[heads.start : heads.stop]).to(self.card)
            scores = torch.cat([scores, column[:, None, None].expand(*scores.shape[:2], 1)], dim=2)
        # A row with nothing to see is no number.
        return scores.softmax(dim=2).nan_to_num_(0.0)

    def _hidden(self) -> Tensor | None:
        """Mark on the card what queries may not look at."""
        if self.visible is not None:
            return ~torch.from_numpy(self.visible).to(self.card)
        if not self.causal:
            return None
        n_queries, n_keys = self.query.shape[1], self.key.shape[1]
        return torch.ones(n_queries, n_keys, dtype=torch.bool, device=self.card).triu(n_keys - n_queries + 1)


class ConvertedLayers(Sequence[QueryKeyLayer]):
    """Layers in float32, each from when it is read for the first time."""

    def __init__(self, layers: Sequence[CardLayer]) -> None:
        self.layers = tuple(layers)

    def __len__(self) -> int:
        return len(self.layers)

    @overload
    def __getitem__(self, place: int) -> QueryKeyLayer: ...
    @overload
    def __getitem__(self, place: slice) -> tuple[QueryKeyLayer, ...]: ...
    def __getitem__(self, place: int | slice) -> QueryKeyLayer | tuple[QueryKeyLayer, ...]:
        if isinstance(place, slice):
            return tuple(each.converted for each in self.layers[place])
        return self.layers[place].converted


class CardWeights(QueryKeyWeights):
    """Weights of a pass on a card, whose vectors were checked there."""

    def __init__(self, layers: Sequence[CardLayer]) -> None:
        super().__init__(ConvertedLayers(layers))

    @property
    def card_layers(self) -> tuple[CardLayer, ...]:
        return self.layers.layers  # pyrefly: ignore[missing-attribute]

    def __post_init__(self) -> None:
        layers = self.card_layers
        self.check([(len(each.query), *each.shape) for each in layers], [each.facts["bias"] for each in layers])

    def __repr__(self) -> str:
        first = self.card_layers[0]
        return f"<CardWeights: {self.n_layers} layers of queries {tuple(first.query.shape)}, keys {tuple(first.key.shape)}>"

    @property
    def n_heads(self) -> int:
        return len(self.card_layers[0].query)

    @property
    def shape(self) -> tuple[int, int]:
        return self.card_layers[0].shape

    @property
    def nbytes(self) -> int:
        arrays = [each.facts[name] for each in self.card_layers for name in ("visible", "bias", "sink")]
        shared = {id(array): array.nbytes for array in arrays if array is not None}
        return sum(each.nbytes for each in self.card_layers) + sum(shared.values())

    def head(self, layer: int, head: int) -> Weights:
        computed = self.card_layers[layer].compute(slice(head, head + 1))
        return super().head(layer, head) if computed is None else frozen(computed[0][0])

    def layer(self, layer: int) -> LayerWeights:
        computed = self.card_layers[layer].compute(slice(None))
        return super().layer(layer) if computed is None else frozen(computed[0])

    def slabs(self, layer: int, head: int) -> Iterator[Slab]:
        computed = self.card_layers[layer].compute(slice(head, head + 1))
        return super().slabs(layer, head) if computed is None else self._cut(layer, computed[0][0], computed[1][0])

    def _cut(self, layer: int, weights: Weights, entropies: np.ndarray) -> Iterator[Slab]:
        """Give a head some rows at a time, without the keys behind them."""
        n_queries, n_columns = weights.shape
        is_cut = self.card_layers[layer].causal and n_columns == self.card_layers[layer].key.shape[1]
        step = max(1, SLAB_CELLS // n_columns)
        for start in range(0, n_queries, step):
            rows = slice(start, min(start + step, n_queries))
            past = max(rows.stop + n_columns - n_queries, 1) if is_cut else n_columns
            yield Slab(rows, weights[rows, :past], entropies[rows])
