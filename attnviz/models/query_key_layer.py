"""What a trace keeps of the attention of our own modules."""

from typing import Any

from attnviz.core.weights import QueryKeyLayer
from attnviz.nn.attention import Attended


def query_key_layer(states: Attended) -> QueryKeyLayer:
    """Compute the queries, keys and values of a `MultiHeadAttention`, of the first text of its batch, without a mask."""
    attention: Any = states.attention
    known = attention.project(states.offering)
    query, key, value = (each[0].cpu().numpy() for each in (attention.queries(states.asking), known.key, known.value))
    return QueryKeyLayer(query, key, scaling=attention.scaling, value=value)
