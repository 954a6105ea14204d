"""How one weight comes about: the numbers between a query, a key and their weight."""

from dataclasses import dataclass

from attnviz.trace import AttentionMap, QueryKeyWeights


@dataclass(frozen=True)
class Score:
    """weight = softmax over keys of (product · scaling); `dim` is the size of the query and the key."""

    product: float
    scaling: float
    weight: float
    dim: int

    @property
    def scaled(self) -> float:
        return self.product * self.scaling


def score(attention: AttentionMap, *, layer: int, head: int, query: int, key: int) -> Score | None:
    """The dot product behind a weight; None where the weight is not the softmax of a plain scaled dot product.

    Raises:
        TraceError: there is no such layer or head.
    """
    weight = float(attention.weights(layer, head)[query, key])
    if not isinstance(attention.store, QueryKeyWeights):
        return None
    vectors = attention.store.layers[layer]
    if vectors.bias is not None or vectors.softcap is not None or vectors.sink is not None:
        return None
    group = vectors.query.shape[0] // vectors.key.shape[0]
    product = float(vectors.query[head, query] @ vectors.key[head // group, key])
    return Score(product, vectors.scaling, weight, vectors.query.shape[2])
