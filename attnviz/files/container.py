"""The outside of a trace file: a JSON header and tensors in one safetensors file, under a checksum of every byte of it.

The checksum stands in the header itself, as 64 hexadecimal digits. It is the SHA-256 of the file with these digits as zeros.

float16 keeps 11 bits of every number, whatever the number adds to a score. Of two numbers of one dimension the larger matters
more: with a common step, all 16 bits go where they count, and weights come out about ten times closer. A power of two is exact
to multiply by, so a trace that was opened and is saved again stays as it is.

The checksum stands in the header itself, as 64 hexadecimal digits. It is the SHA-256 of the file with these digits as zeros.
"""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Float, Float32, Int8, Int16
from safetensors import SafetensorError
from safetensors.numpy import load
from safetensors.numpy import save as serialized

from attnviz.core.errors import TraceError
from attnviz.core.weights import QueryKeyLayer

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


# A trace that was edited is of format 2, since a reader of format 1 would show weights that its heads did not have.
PLAIN, EDITED = 1, 2
FORMAT = EDITED
KEY = "attnviz"
_METADATA = "__metadata__"
_ZEROS = "0" * 64
_PREFIX = 8  # safetensors: the length of its header, unsigned, little-endian
LEAST = _PREFIX + 1


def is_beginning(data: bytes) -> bool:
    """Say whether a file that begins so may be a trace file."""
    return data.startswith(b"{", _PREFIX)


def seal(header: Mapping[str, Any], tensors: Mapping[str, np.ndarray]) -> bytes:
    """Write the bytes of a file with that header, to which the format's number and the checksum are added."""
    full = {"format": EDITED if header.get("edits") else PLAIN, "sha256": _ZEROS, **header}
    data = serialized(dict(tensors), {KEY: json.dumps(full, ensure_ascii=False, allow_nan=False, separators=(",", ":"))})
    at = data.index(_ZEROS.encode())
    return data[:at] + hashlib.sha256(data).hexdigest().encode() + data[at + len(_ZEROS) :]


def unseal(data: bytes, name: str) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    """Read the header and the tensors of a file whose checksum is right.

    Raises:
        TraceError: it is no trace file, of a newer format, cut short, or not as it was saved.
    """
    size, header = _header(data, name)
    if type(header.get("format")) is not int or header["format"] < 1:
        raise TraceError(f"{name} does not say which format it has: it was edited, so it is not opened.")
    if header["format"] > FORMAT:
        raise TraceError(f"{name} was saved by a newer attnviz (format {header['format']}; this reads {FORMAT}): update it.")
    digits = header.get("sha256")
    if not isinstance(digits, str) or digest(data, size, digits) != digits:
        raise TraceError(f"{name} is not as it was saved: it was damaged or edited. Get it again from where it came.")
    try:
        return header, load(data)
    except SafetensorError as error:
        raise TraceError(f"{name} is not written as safetensors are: {error}.") from error
    except (KeyError, TypeError, ValueError) as error:
        raise TraceError(f"{name} has numbers of a type that no trace has ({error}): it was not saved by attnviz.") from error


def digest(data: bytes, size: int, digits: str) -> str:
    """Compute the checksum of a file whose first `size` bytes hold `digits`; empty where they do not stand there once."""
    recorded = digits.encode("utf-8", "replace")
    at = data.find(recorded, 0, size)
    if len(recorded) != len(_ZEROS) or at < 0 or data.find(recorded, at + 1, size) >= 0:
        return ""
    content = hashlib.sha256(data[:at])
    content.update(_ZEROS.encode())
    content.update(memoryview(data)[at + len(recorded) :])
    return content.hexdigest()


def _header(data: bytes, name: str) -> tuple[int, dict[str, Any]]:
    """Find where the safetensors header ends, and what attnviz wrote in it."""
    size = _PREFIX + int.from_bytes(data[:_PREFIX], "little")
    if not is_beginning(data):
        raise TraceError(f"{name} is no trace file: choose one that attnviz saved, such as x.attn.")
    if len(data) < size:
        raise TraceError(f"{name} is cut short, or damaged at its beginning: get it again from where it came.")
    try:
        header = json.loads(json.loads(data[_PREFIX:size])[_METADATA][KEY])
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        raise TraceError(f"{name} has no header that attnviz wrote: it is damaged, or holds something else.") from error
    if not isinstance(header, dict):
        raise TraceError(f"{name} has no header that attnviz wrote: it is damaged, or holds something else.")
    return size, header
