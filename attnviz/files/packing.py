"""Queries and keys in half their size: 16-bit integers with one power of two a head and dimension.

float16 keeps 11 bits of every number, whatever the number adds to a score. Of two numbers of one dimension the larger matters
more: with a common step, all 16 bits go where they count, and weights come out about ten times closer. A power of two is exact
to multiply by, so a trace that was opened and is saved again stays as it is.
"""

from dataclasses import replace
from typing import NamedTuple

import numpy as np
from jaxtyping import Float, Float32, Int8, Int16

from attnviz.core.query_key import QueryKeyLayer

# Weights of packed queries and keys stay as close as this to those of the model, else they are not packed.
TOLERANCE = 1e-3
_LARGEST = 2**15 - 1
# Beyond, the numbers of a dimension are too small to move a score. An int8 holds it, and float32 its power and its inverse.
_LEAST_EXPONENT = -120


class Packed(NamedTuple):
    """value = integer · 2^exponent."""

    integers: Int16[np.ndarray, "head position dim"]
    exponents: Int8[np.ndarray, "head 1 dim"]

    def unpacked(self) -> Float32[np.ndarray, "head position dim"]:
        return self.integers.astype(np.float32) * np.ldexp(np.float32(1), self.exponents.astype(np.int32))


def pack_vectors(vectors: Float[np.ndarray, "head position dim"]) -> Packed:
    """Round each number to the nearest multiple of its dimension's step, which lets the largest fill 16 bits.

    >>> pack_vectors(np.array([[[3.0], [-0.5]]])).unpacked().tolist()
    [[[3.0], [-0.5]]]
    """
    _, exponents = np.frexp(np.abs(vectors).max(axis=1, keepdims=True))
    exponents = np.maximum(exponents - 15, _LEAST_EXPONENT)
    steps = np.rint(vectors * np.ldexp(np.float32(1), -exponents))
    integers = np.clip(steps, -_LARGEST, _LARGEST).astype(np.int16)
    return Packed(integers, exponents.astype(np.int8))


def packed_layer(layer: QueryKeyLayer) -> tuple[Packed, Packed] | None:
    """Pack the queries and keys of a layer; None where a weight would change by more than the tolerance."""
    query, key = pack_vectors(layer.query), pack_vectors(layer.key)
    restored = replace(layer, query=query.unpacked(), key=key.unpacked())
    for head in range(layer.query.shape[0]):
        one = slice(head, head + 1)
        # The bound is nearly always enough; where it is not, the weights are computed both ways.
        doubtful = largest_change(layer, restored, head) > TOLERANCE
        if doubtful and np.abs(layer.weights(one) - restored.weights(one)).max() > TOLERANCE:
            return None
    return query, key


def largest_change(layer: QueryKeyLayer, restored: QueryKeyLayer, head: int) -> float:
    """Bound how far a weight of a head may be off, for a fraction of the time that computing the weights takes.

    A score moves by q'k' - qk = (q' - q)k' + q(k' - k). If none moves by more than d, then the odds w / (1 - w) of a weight
    grow at most by e^2d, and w by at most tanh(d / 2). Soft-capped scores move less, and masks, biases and sinks do not move.
    """
    key_head = head // (layer.query.shape[0] // layer.key.shape[0])
    query, key, new_query, new_key = layer.query[head], layer.key[key_head], restored.query[head], restored.key[key_head]
    moved = np.concatenate([new_query - query, query], axis=1) @ np.concatenate([new_key, new_key - key], axis=1).T
    return float(np.tanh(abs(layer.scaling) * max(moved.max(), -moved.min()) / 2))
