"""What neighbouring queries give, in all heads of a layer, without computing what the others do."""

from dataclasses import replace

from attnviz.core.arrays import LayerWeights
from attnviz.core.query_key import QueryKeyWeights
from attnviz.core.trace import AttentionMap


def row_weights(attention: AttentionMap, layer: int, rows: slice) -> LayerWeights:
    """Read the weights of the queries from `rows.start` to `rows.stop`.

    Raises:
        TraceError: there is no such layer.
    """
    if not isinstance(attention.store, QueryKeyWeights):
        return attention.layer_weights(layer)[:, rows]
    whole = attention.store.layers[layer]
    # A sink has a column of its own, and edits are laid over whole heads.
    if whole.sink is not None or whole.edited is not None:
        return attention.layer_weights(layer)[:, rows]
    visible = whole.visible_keys()
    part = replace(
        whole,
        query=whole.query[:, rows],
        bias=None if whole.bias is None else whole.bias[:, rows],
        visible=None if visible is None else visible[rows],
        causal=False,
    )
    return part.weights(slice(None))
