"""Attention weights of any model of one's own, as a trace: arrays of NumPy, torch or JAX, or nested lists."""

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from attnviz.core.errors import TraceError, described, shortened
from attnviz.core.trace import KINDS, AttentionMap, AttentionTrace, DenseWeights, Kind, Prompt, Token
from attnviz.core.weights import ROW_SUM_TOLERANCE, rounding_of

# Weights that were printed have so many decimals. Rows that sum to 1 again may not move by more than this share.
_DECIMALS, _MOST_ROUNDED = (2, 3, 4), 0.1
_ASK = 'load it with attn_implementation="eager", and call it with output_attentions=True'
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
    looks ahead, else "encoder". Weights of sixteen bits, and those printed with two decimals or more, may be off by what
    rounding explains: in the trace their rows sum to 1.

    Raises:
        TraceError: the shape does not fit the tokens, or a row sums neither to 1 nor to 0; the message says which, and why.

    >>> trace = from_weights([[0.25, 0.75], [1.0, 0.0]], queries=["la", "voiture"], keys=["the", "car"])
    >>> trace.cross.weights(0, 0)[0].tolist(), trace.kinds
    ([0.25, 0.75], ('cross',))
    """
    if kind is not None and kind not in KINDS:
        raise TraceError(f"kind is one of {', '.join(KINDS)}, or None, not {described(kind)}")
    layers, rounding = _layers(weights)
    rows = _tokens(queries)
    columns = rows if keys is None else _tokens(keys)
    if (sizes := layers.shape[2:]) != (len(rows), len(columns)):
        raise TraceError(
            f"the weights are of {sizes[0]} queries and {sizes[1]} keys (the last two axes of their shape), but there are "
            f"{len(rows)} query tokens and {len(columns)} key tokens; keep special tokens, and give the keys of another text"
        )
    layers = _whole_rows(layers, rounding)
    looks_ahead = bool(np.triu(layers, k=1 + len(columns) - len(rows)).any())
    kind = kind or ("cross" if keys is not None else "encoder" if looks_ahead else "decoder")
    causal = kind == "decoder" and not looks_ahead
    attention = AttentionMap(kind, rows, columns, DenseWeights(tuple(layers)), causal=causal)
    output = " ".join(token.text for token in rows) if keys is not None else ""
    return AttentionTrace(model, Prompt(" ".join(token.text for token in columns)), (attention,), output)


def _layers(weights: Any) -> tuple[np.ndarray, float]:
    """Stack the weights as (layer, head, query, key), in float32, with the relative rounding of the type they came in."""
    rounding = rounding_of(getattr(weights, "dtype", ""))
    if isinstance(weights, Sequence) and not isinstance(weights, str | bytes | bytearray):
        if steps := _steps(weights):
            raise TraceError(
                f"these are {steps} steps of generate(), each with its layers, and a trace is of one pass: give those of "
                "model(sequences, output_attentions=True) over all that was written, or trace that text by wrap"
            )
        rounding = max((rounding_of(getattr(layer, "dtype", "")) for layer in weights), default=0.0)
        weights = [_array(layer) for layer in weights]
        if len(shapes := sorted({layer.shape for layer in weights})) > 1:
            raise TraceError(f"every layer must have the same shape (head, query, key), got {shapes}")
    array = _array(weights)
    if array.ndim == 5 and array.shape[1] == 1:
        array = array[:, 0]
    if array.ndim not in (2, 3, 4) or not array.size:
        wanted = ", ".join(f"({axes.replace(' ', ', ')})" for axes in _SHAPES.values())
        raise TraceError(f"weights of the shape {array.shape} are not of one of {wanted}; batches must be of one")
    return array.reshape((1,) * (4 - array.ndim) + array.shape), rounding


def _steps(weights: Sequence[Any]) -> int:
    """Count the steps, where there is a sequence of layers for each; 0: these are layers."""
    steps = [each for each in weights if isinstance(each, Sequence) and len(getattr(next(iter(each), None), "shape", ())) == 4]
    return len(steps) if len(steps) == len(weights) else 0


def _whole_rows(layers: np.ndarray, rounding: float) -> np.ndarray:
    """Let rows sum to 1 again that rounding has changed.

    Raises:
        TraceError: rows sum to something else, for a reason that shows in them.
    """
    if not np.isfinite(layers).all():
        return layers
    sums = layers.sum(axis=-1, dtype=np.float64)
    off = float(np.abs(sums - 1).max(initial=0, where=sums != 0))
    if off <= ROW_SUM_TOLERANCE and not rounding:
        return layers
    n_keys = layers.shape[-1]
    decimals = next((each for each in _DECIMALS if _has_decimals(layers, each)), None)
    explained = 0.0 if decimals is None else n_keys * 0.5 * 10.0**-decimals
    if layers.min() >= 0 and off <= ROW_SUM_TOLERANCE + max(rounding, min(explained, _MOST_ROUNDED)):
        return (layers / np.where(sums, sums, 1)[..., None]).astype(np.float32)
    if layers.min() >= 0 and off <= explained:
        raise TraceError(
            f"the weights have {decimals} decimals, and a row of {n_keys} keys is {off:.2f} away from a sum of 1, too much is "
            "lost by rounding; give more decimals"
        )
    if reason := _reason(layers, sums):
        raise TraceError(reason)
    return layers


def _has_decimals(layers: np.ndarray, decimals: int) -> bool:
    scaled = layers.astype(np.float64) * 10**decimals
    # What float32 leaves of a number with so many decimals.
    return bool(np.abs(scaled - scaled.round()).max() <= 10**decimals * 1e-7)


def _reason(layers: np.ndarray, sums: np.ndarray) -> str:
    """Say why rows do not sum to 1, where their numbers tell; empty where they do not."""
    first = f"a row sums to {sums[np.abs(sums - 1) > ROW_SUM_TOLERANCE][0]:.4g} instead of 1"
    some = sums[sums != 0]
    if layers.max() <= 0 and np.allclose(np.exp(layers.astype(np.float64)).sum(axis=-1), 1, atol=1e-3):
        return "these are logarithms of weights: give their exponentials, such as np.exp(weights)"
    if layers.min() < 0:
        return ""
    if np.allclose(some, 100, atol=1):
        return f"{first}, so these are percent: divide them by 100"
    if np.allclose(layers.sum(axis=-2), 1, atol=1e-3):
        return f"{first}, and each column does: keys stand where queries belong; swap the last two axes"
    zeros = (layers == 0) & ~np.triu(np.ones(layers.shape[-2:], bool), k=1)
    if some.min() < 1 - ROW_SUM_TOLERANCE and some.max() > 1 + ROW_SUM_TOLERANCE and zeros.any() and abs(some.mean() - 1) < 0.2:
        return f"{first}, others to less or more, as dropout leaves them in training: call model.eval(), and compute them again"
    if some.max() <= 1 + ROW_SUM_TOLERANCE:
        return f"{first}: columns are missing, such as that of the end mark; give a column for each key, special tokens too"
    return ""


def _array(values: Any) -> np.ndarray:
    """Convert any array to NumPy's; torch's is converted without importing torch."""
    if values is None or isinstance(values, str | bytes | bytearray):
        given = f"None, which a model gives that computes without them: {_ASK}" if values is None else described(values)
        raise TraceError(f"weights are an array of numbers, or lists of them, not {given}")
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
