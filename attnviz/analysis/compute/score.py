"""How one weight comes about: the numbers between a query, a key and their weight."""

from dataclasses import dataclass

from attnviz.core.errors import TraceError
from attnviz.core.trace import AttentionMap, QueryKeyWeights


@dataclass(frozen=True)
class Score:
    """weight = softmax over keys of (product · scaling), 0 where the key is masked; `dim` is the size of the two vectors."""

    product: float
    scaling: float
    weight: float
    dim: int

    @property
    def scaled(self) -> float:
        return self.product * self.scaling


def score(attention: AttentionMap, *, layer: int, head: int, query: int, key: int) -> Score | None:
    """Read the dot product behind a weight; None where the weight is not the softmax of a plain scaled dot product.

    Raises:
        TraceError: there is no such layer, head, query or key.

    >>> import numpy as np
    >>> from attnviz.core.trace import Token
    >>> from attnviz.core.weights import QueryKeyLayer
    >>> vectors = np.array([[[1.0, 2.0], [3.0, 4.0]]])
    >>> tokens = (Token("a", 0, 1), Token("b", 2, 3))
    >>> attention = AttentionMap("encoder", tokens, tokens, QueryKeyWeights((QueryKeyLayer(vectors, vectors, 0.5),)))
    >>> link = score(attention, layer=0, head=0, query=0, key=1)
    >>> link.product, link.scaled, round(link.weight, 4)
    (11.0, 5.5, 0.9526)
    """
    weights = attention.weights(layer, head)
    for axis, index, size in zip(("query", "key"), (query, key), weights.shape, strict=True):
        if not 0 <= index < size:
            raise TraceError(f"there is no {axis} {index}: {attention.kind} attention has {size}")
    if not isinstance(attention.store, QueryKeyWeights):
        return None
    vectors = attention.store.layers[layer]
    if vectors.bias is not None or vectors.softcap is not None or vectors.sink is not None:
        return None
    group = vectors.query.shape[0] // vectors.key.shape[0]
    product = float(vectors.query[head, query] @ vectors.key[head // group, key])
    return Score(product, vectors.scaling, float(weights[query, key]), vectors.query.shape[2])
