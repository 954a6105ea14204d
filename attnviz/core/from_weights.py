"""Attention weights of any model of one's own, as a trace: arrays of NumPy, torch or JAX, or nested lists."""

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from attnviz.core.errors import TraceError, described, shortened
from attnviz.core.trace import KINDS, AttentionMap, AttentionTrace, DenseWeights, Kind, Prompt, Token

_SHAPES = {2: "query key", 3: "head query key", 4: "layer head query key", 5: "layer batch head query key"}


def from_weights(
    weights: Any,
    queries: Sequence[str | Token],
    keys: Sequence[str | Token] | None = None,
    *,
    kind: Kind | None = None,
    model: str = "your model",
) -> AttentionTrace:
    """Make a trace of the weights of any model: after the softmax, one row a query.

    `weights` is (query, key), (head, query, key) or (layer, head, query, key), or a list of layers, each of which may have
    a batch of one before its heads, as Hugging Face models give them. `keys` are the tokens of another text; without them,
    queries look at each other. `kind`, where it is not given, is "cross" where there are keys, else "decoder" where no query
    looks ahead, else "encoder".

    Raises:
        TraceError: the shape does not fit the tokens, or a row sums neither to 1 nor to 0; the message says which.

    >>> trace = from_weights([[0.25, 0.75], [1.0, 0.0]], queries=["la", "voiture"], keys=["the", "car"])
    >>> trace.cross.weights(0, 0)[0].tolist(), trace.kinds
    ([0.25, 0.75], ('cross',))
    """
    if kind is not None and kind not in KINDS:
        raise TraceError(f"kind is one of {', '.join(KINDS)}, or None, not {described(kind)}")
    layers = _layers(weights)
    rows = _tokens(queries)
    columns = rows if keys is None else _tokens(keys)
    if (sizes := layers.shape[2:]) != (len(rows), len(columns)):
        raise TraceError(
            f"the weights are of {sizes[0]} queries and {sizes[1]} keys (the last two axes of their shape), but there are "
            f"{len(rows)} query tokens and {len(columns)} key tokens; keep special tokens, and give the keys of another text"
        )
    looks_ahead = bool(np.triu(layers, k=1 + len(columns) - len(rows)).any())
    kind = kind or ("cross" if keys is not None else "encoder" if looks_ahead else "decoder")
    causal = kind == "decoder" and not looks_ahead
    attention = AttentionMap(kind, rows, columns, DenseWeights(tuple(layers)), causal=causal)
    output = " ".join(token.text for token in rows) if keys is not None else ""
    return AttentionTrace(model, Prompt(" ".join(token.text for token in columns)), (attention,), output)


def _layers(weights: Any) -> np.ndarray:
    """Stack the weights as (layer, head, query, key), in float32."""
    if isinstance(weights, Sequence) and not isinstance(weights, str | bytes | bytearray):
        weights = [_array(layer) for layer in weights]
        if len(shapes := sorted({layer.shape for layer in weights})) > 1:
            raise TraceError(f"every layer must have the same shape (head, query, key), got {shapes}")
    array = _array(weights)
    if array.ndim == 5 and array.shape[1] == 1:
        array = array[:, 0]
    if array.ndim not in (2, 3, 4) or not array.size:
        wanted = ", ".join(f"({axes.replace(' ', ', ')})" for axes in _SHAPES.values())
        raise TraceError(f"weights of the shape {array.shape} are not of one of {wanted}; batches must be of one")
    return array.reshape((1,) * (4 - array.ndim) + array.shape)


def _array(values: Any) -> np.ndarray:
    """Convert any array to NumPy's; torch's is converted without importing torch."""
    if values is None or isinstance(values, str | bytes | bytearray):
        raise TraceError(f"weights are an array of numbers, or lists of them, not {described(values)}")
    try:
        if hasattr(values, "detach"):
            values = values.detach().to_dense().cpu()
            values = values.numpy() if values.is_complex() else values.float().numpy()
        if np.iscomplexobj(values):
            raise TypeError("complex numbers are no weights")
        return np.asarray(values, dtype=np.float32)
    except (TypeError, ValueError, RuntimeError) as error:  # the last: a tensor of torch that has no numbers to give
        raise TraceError(f"the weights cannot be read as an array of numbers: {error}") from error


def _tokens(tokens: Sequence[str | Token]) -> tuple[Token, ...]:
    """Keep tokens as they are; lay words out as tokens of a text that has one space between them."""
    if isinstance(tokens, str | bytes) or not isinstance(tokens, Iterable):
        named = f"the text {shortened(tokens)}" if isinstance(tokens, str) else described(tokens)
        raise TraceError(f"queries and keys are lists of tokens, not {named}; split it as the model does")
    placed, position = [], 0
    for each in tokens:
        if not isinstance(each, str | Token):
            raise TraceError(f"a token is a str or a Token, not {described(each)}")
        token = each if isinstance(each, Token) else Token(each, position, position + len(each))
        placed.append(token)
        position += len(token.text) + 1
    return tuple(placed)
