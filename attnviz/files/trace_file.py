"""A trace file: a JSON header and tensors in one safetensors file, under a checksum of every byte. See docs/file-format.md.

It is saved, opened and checked here, and so are the values that travel with attnviz. Nothing here knows models or pages.

The checksum stands in the header itself, as 64 hexadecimal digits. It is the SHA-256 of the file with these digits as zeros.

float16 keeps 11 bits of every number, whatever the number adds to a score. Of two numbers of one dimension the larger matters
more: with a common step, all 16 bits go where they count, and weights come out about ten times closer. A power of two is exact
to multiply by, so a trace that was opened and is saved again stays as it is.

Each part is checked as it is read: a file need not come from attnviz.
"""

import hashlib
import importlib
import importlib.metadata
import io
import json
import os
from collections.abc import Mapping
from dataclasses import asdict, fields, is_dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

import numpy as np
from jaxtyping import Float, Float32, Int8, Int16
from safetensors import SafetensorError
from safetensors.numpy import load
from safetensors.numpy import save as serialized

from attnviz.core import whole_files
from attnviz.core.edits import Edits
from attnviz.core.errors import ArgumentError, EditError, TraceError, described
from attnviz.core.sampling import Continuation
from attnviz.core.trace import (
    KINDS,
    AttentionMap,
    AttentionTrace,
    DenseWeights,
    Prompt,
    QueryKeyWeights,
    Token,
    WeightStore,
    check_trace,
)
from attnviz.core.weights import EditedHeads, QueryKeyLayer

# Weights of packed queries and keys stay as close as this to those of the model, else they are not packed.
TOLERANCE = 1e-3
_LARGEST = 2**15 - 1
# Beyond, the numbers of a dimension are too small to move a score. An int8 holds it, and float32 its power and its inverse.
_LEAST_EXPONENT = -120

# What reading a header that was made by hand, or with bad intent, may run into.
_MALFORMED = (KeyError, IndexError, TypeError, ValueError, AttributeError, ArithmeticError, RecursionError)


def save(trace: AttentionTrace, path: str | os.PathLike[str], *, exact: bool = False) -> Path:
    """Write a trace to a file, by custom named `.attn`, and return its path.

    Queries and keys take 16 bits a number where every weight then stays within 0.001 of the model's own, else 32; with
    `exact` always 32, so that the opened trace has the very same bits. Weights that a trace holds themselves are kept as
    they are.

    Raises:
        ArgumentError: this is no trace, or no path.
        TraceError: the file cannot be written.
    """
    check_trace(trace)
    if not isinstance(path, str | os.PathLike):
        raise ArgumentError(f"save takes the path of the file to write, not {described(path)}.")
    path, data = Path(path), to_bytes(trace, exact=exact)
    try:
        whole_files.write(path, data)
    except OSError as error:
        raise TraceError(f"{path} cannot be written ({error.strerror}): choose another place.") from error
    except ValueError as error:  # as in `open_trace`
        raise TraceError(f"{str(path)!r} cannot be the path of a file: check it.") from error
    return path


def open_trace(source: str | os.PathLike[str] | io.BufferedIOBase) -> AttentionTrace:
    """Read the trace in a file, given by its path or opened for reading bytes.

    Raises:
        ArgumentError: this is neither a path nor a file that is open for reading bytes.
        TraceError: there is no such file; it is no trace; it is cut short, damaged or edited; or a newer attnviz made it.
    """
    if not isinstance(source, str | os.PathLike):
        data = _content(source) if callable(getattr(source, "read", None)) else source
        if data is source or not isinstance(data, bytes):
            raise ArgumentError(f"open takes the path of a trace file, or one opened in mode 'rb', not {described(source)}.")
        return from_bytes(data, name=str(getattr(source, "name", "The file")))
    try:
        with open(source, "rb") as file:
            data = _content(file)
    except FileNotFoundError:
        raise TraceError(f"There is no file {source}: check its path.") from None
    except OSError as error:
        raise TraceError(f"{source} cannot be read ({error.strerror}).") from error
    except ValueError as error:  # a NUL byte, or half of a character
        raise TraceError(f"{str(source)!r} cannot be the path of a file: check it.") from error
    return from_bytes(data, name=Path(source).name)


def _content(file: Any) -> Any:
    """Read a file; of what does not begin as a trace file no more than its beginning, for a device may have no end."""
    beginning = file.peek(_LEAST) if isinstance(file, io.BufferedReader) else b""
    return file.read() if len(beginning) < _LEAST or _is_beginning(beginning) else beginning


def to_bytes(trace: AttentionTrace, *, exact: bool = False) -> bytes:
    """Write a trace as the bytes of a file. The same trace gives the same bytes."""
    return seal(*describe(trace, exact=exact))


def from_bytes(data: bytes, *, name: str = "The file") -> AttentionTrace:
    """Read the trace in the bytes of a file; `name` is what messages call it.

    Raises:
        TraceError: as of `open_trace`.
    """
    header, tensors = unseal(data, name)
    try:
        return rebuild(header, tensors)
    except (TraceError, EditError) as error:
        raise TraceError(f"{name} holds no trace that could be true: {error}") from error
    except _MALFORMED as error:
        reason = f"{error} is missing" if isinstance(error, KeyError) else error
        raise TraceError(f"{name} is not written as the format says: {reason}.") from error


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
_LEAST = _PREFIX + 1


def _is_beginning(data: bytes) -> bool:
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
    if not _is_beginning(data):
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


Record = dict[str, Any]
Tensors = dict[str, np.ndarray]
Value = TypeVar("Value")
# Those that a trace's numbers depend on.
PACKAGES = ("attnviz", "torch", "transformers")
LARGEST = 2**31 - 1
_FLOATS = np.finfo(np.float32)
_PROMPT = ("text", "pair", "question", "target")
# Of what a language model says comes next, the arrays: their types, and how many dimensions they have.
_NEXT = {"candidates": ("int32", 2), "log_probabilities": ("float32", 2), "rest": ("float32", 2), "given": ("float32", 1)}


def describe(trace: AttentionTrace, *, exact: bool) -> tuple[Record, Tensors]:
    """Describe a trace by the header and the tensors that `rebuild` makes it from."""
    sequences: list[tuple[Token, ...]] = []
    tensors: Tensors = {}
    maps = []
    for attention in trace.maps:
        for tokens in (attention.queries, attention.keys):
            if tokens not in sequences:
                sequences.append(tokens)
        maps.append(
            {
                "kind": attention.kind,
                "causal": attention.causal,
                "queries": sequences.index(attention.queries),
                "keys": sequences.index(attention.keys),
                "layers": _layers(attention, tensors, exact),
            }
        )
    header = {
        "model": trace.model,
        "revision": trace.revision,
        "versions": dict(trace.versions or installed()),
        "prompt": {name: text for name, text in asdict(trace.prompt).items() if name in _PROMPT or text is not None},
        "output": trace.output,
        "cut": trace.cut,
        "cut_pair": trace.cut_pair,
        "tokens": [[_token_record(token) for token in tokens] for tokens in sequences],
        "maps": maps,
    }
    further: Record = {"edits": trace.edits.text} if trace.edits else {}
    if trace.continuation:
        further["continuation"] = _continuation_record(trace.continuation, tensors)
    return header | further, tensors


def _continuation_record(continuation: Continuation, tensors: Tensors) -> Record:
    tensors.update({f"next.{name}": _plain(getattr(continuation, name)) for name in _NEXT})
    vocabulary = [[index, *names] for index, names in continuation.vocabulary.items()]
    return {"start": continuation.start, "pieces": list(continuation.pieces), "vocabulary": vocabulary}


def _continuation(record: Record | None, tensors: Tensors) -> Continuation | None:
    if record is None:
        return None
    vocabulary = {_as(int, index): (_as(str, piece), _as(str, text)) for index, piece, text in record["vocabulary"]}
    arrays = {name: _tensor(tensors, f"next.{name}", *kind) for name, kind in _NEXT.items()}
    return Continuation(
        _as(int, record["start"]), tuple(_as(str, each) for each in record["pieces"]), **arrays, vocabulary=vocabulary
    )


@cache
def installed() -> Mapping[str, str]:
    """Look up the versions of the packages that compute traces here, without importing them."""
    versions = {}
    for package in PACKAGES:
        try:
            versions[package] = importlib.metadata.version(package)
        except importlib.metadata.PackageNotFoundError:
            continue
    return versions


def _token_record(token: Token) -> Record:
    """List a token's fields, without those at their default."""
    return {each.name: value for each in fields(Token) if (value := getattr(token, each.name)) != each.default}


def _layers(attention: AttentionMap, tensors: Tensors, exact: bool) -> list[Record]:
    store = attention.store
    if isinstance(store, QueryKeyWeights):
        shared: dict[int, str] = {}
        return [
            _query_key_layer(f"{attention.kind}.{index}", layer, tensors, shared, exact)
            for index, layer in enumerate(store.layers)
        ]
    names = [f"{attention.kind}.{layer}.weights" for layer in range(store.n_layers)]
    tensors.update({name: _plain(store.layer(layer)) for layer, name in enumerate(names)})
    return [{"weights": name} for name in names]


def _query_key_layer(place: str, layer: QueryKeyLayer, tensors: Tensors, shared: dict[int, str], exact: bool) -> Record:
    packed = None if exact else packed_layer(layer)
    for index, name in enumerate(("query", "key")):
        if packed is None:
            tensors[f"{place}.{name}"] = _plain(getattr(layer, name))
        else:
            tensors[f"{place}.{name}"] = _plain(packed[index].integers)
            tensors[f"{place}.{name}_exponent"] = _plain(packed[index].exponents)
    record: Record = {
        "query": f"{place}.query",
        "key": f"{place}.key",
        "scaling": float(layer.scaling),
        "causal": layer.causal,
        "softcap": None if layer.softcap is None else float(layer.softcap),
    }
    for name in ("visible", "bias", "sink"):
        array = getattr(layer, name)
        # Layers often have one mask, or one position bias, in common: it is written once.
        address = None if array is None else array.__array_interface__["data"][0]
        record[name] = None if address is None else shared.setdefault(address, f"{place}.{name}")
        if array is not None:
            tensors[record[name]] = _plain(array)
    if layer.edited is not None:
        tensors[f"{place}.edited"] = _plain(layer.edited.weights)
        record["edited"] = {"heads": list(layer.edited.heads), "weights": f"{place}.edited"}
    return record


def _plain(array: np.ndarray) -> np.ndarray:
    return np.ascontiguousarray(array)


def rebuild(header: Mapping[str, Any], tensors: Tensors) -> AttentionTrace:
    """Rebuild the trace that a header and tensors describe.

    Raises:
        TraceError: what they say cannot be.
        KeyError, TypeError, ValueError: something is missing, or of another kind than the format says.
    """
    sequences = [tuple(_token(record) for record in sequence) for sequence in header["tokens"]]
    return AttentionTrace(
        _as(str, header["model"]),
        _prompt(header["prompt"]),
        tuple(_map(record, sequences, tensors) for record in header["maps"]),
        _as(str, header["output"]),
        _as((int, type(None)), header["cut"]),
        _as((int, type(None)), header["cut_pair"]),
        _as(str, header["revision"]),
        tuple((name, _as(str, version)) for name, version in header["versions"].items()),
        Edits.parse(_as(str, header.get("edits", ""))),
        _continuation(header.get("continuation"), tensors),
    )


def _prompt(record: Record) -> Prompt:
    given = {name: record[name] for name in _PROMPT} | {"language": record.get("language")}
    return Prompt(**{name: _as((str, type(None)), text) for name, text in given.items()})


def _token(record: Record) -> Token:
    kinds = {"text": str, "start": int, "end": int, "special": bool, "segment": int, "word": int, "piece": str}
    return Token(**{name: _as(kinds[name], value) for name, value in record.items()})


def _map(record: Record, sequences: list[tuple[Token, ...]], tensors: Tensors) -> AttentionMap:
    queries, keys = (sequences[_as(int, record[name])] for name in ("queries", "keys"))
    if not queries or not keys:
        raise TraceError("A map has no token.")
    if record["kind"] not in KINDS:
        raise TraceError(f"A map is of kind {', '.join(KINDS)}, not {record['kind']!r}.")
    return AttentionMap(record["kind"], queries, keys, _store(record["layers"], tensors), _as(bool, record["causal"]))


def _store(layers: list[Record], tensors: Tensors) -> WeightStore:
    # A small file that named one tensor in thousands of layers would take minutes to check, and to draw.
    owned = [layer[name] for layer in layers for name in ("weights", "query", "key") if name in layer]
    if len(set(owned)) < len(owned):
        raise TraceError("Two layers name one tensor; only masks, biases and sinks may be shared.")
    if "weights" in layers[0]:
        return DenseWeights(tuple(_tensor(tensors, layer["weights"], "float32", 3) for layer in layers))
    return QueryKeyWeights(tuple(_layer(layer, tensors) for layer in layers))


def _layer(record: Record, tensors: Tensors) -> QueryKeyLayer:
    extras = {
        name: None if record[name] is None else _tensor(tensors, record[name], dtype, dimensions)
        for name, dtype, dimensions in (("visible", "bool", 2), ("bias", "float32", 3), ("sink", "float32", 1))
    }
    query, key = (_vectors(tensors, record[name]) for name in ("query", "key"))
    scaling, softcap = _number(record["scaling"]), None if record["softcap"] is None else _number(record["softcap"])
    # Scores are float32, in which 1e308 is no number and 1e-60 is none that divides.
    if softcap is not None and not float(_FLOATS.tiny) <= softcap <= float(_FLOATS.max):
        raise TraceError(f"A layer has the soft cap {softcap}.")
    edited = _edited(record["edited"], tensors) if "edited" in record else None
    layer = QueryKeyLayer(query, key, scaling, _as(bool, record["causal"]), softcap=softcap, edited=edited, **extras)
    highest = abs(scaling) * float(np.abs(query).max()) * float(np.abs(key).max()) * query.shape[2]
    if not highest < float(_FLOATS.max):
        raise TraceError("A layer has scores that are not finite.")
    return layer


def _edited(record: Record, tensors: Tensors) -> EditedHeads:
    return EditedHeads(tuple(_as(int, head) for head in record["heads"]), _tensor(tensors, record["weights"], "float32", 3))


def _vectors(tensors: Tensors, name: str) -> np.ndarray:
    """Read queries or keys as floats, unpacked where the file has them packed."""
    if f"{name}_exponent" not in tensors:
        return _tensor(tensors, name, "float32", 3)
    packed = Packed(_tensor(tensors, name, "int16", 3), _tensor(tensors, f"{name}_exponent", "int8", 3))
    head, _, dim = packed.integers.shape
    if packed.exponents.shape != (head, 1, dim):
        raise TraceError(f"{name} has exponents of shape {packed.exponents.shape}.")
    return packed.unpacked()


def _tensor(tensors: Tensors, name: str, dtype: str, dimensions: int) -> np.ndarray:
    array = tensors[name]
    if array.dtype != dtype or array.ndim != dimensions or not array.size:
        raise TraceError(f"{name} is {array.dtype} of shape {array.shape}, not {dtype} of {dimensions} dimensions.")
    return array


def _number(value: Any) -> float:
    """Read a number of JSON, which many languages write as 1 where Python writes 1.0."""
    return float(_as((float, int), value))


def _as(kind: type | tuple[type, ...], value: Value) -> Value:
    """Check that the value is of that very type, True not being 1, and no whole number larger than any offset."""
    if type(value) not in (kind if isinstance(kind, tuple) else (kind,)):
        raise TypeError(f"{value!r:.40} is not of type {kind}")
    if type(value) is int and abs(value) > LARGEST:
        raise ValueError("a number is beyond every text and layer")
    return value


# Where a record says what it is: "module:Class", or one of the kinds below.
_IS = "is"
_VALUE = "value"


def value_to_bytes(value: Any) -> bytes:
    """Write a value as the bytes of a file, every number of it exactly. The same value gives the same bytes.

    Raises:
        TraceError: it holds more than one trace, or what is no value.
    """
    tensors: Tensors = {}
    traces: list[AttentionTrace] = []
    record = _record(value, tensors, traces)
    header, own = describe(_smallest(traces[0]), exact=True) if traces else ({}, {})
    return seal({**header, _VALUE: record}, {**own, **tensors})


def _smallest(trace: AttentionTrace) -> AttentionTrace:
    """Hold what a decoder wrote in weights, where these are fewer numbers than the many queries and keys that give them."""
    return replace(trace, maps=tuple(replace(each, store=_fewest_numbers(each)) for each in trace.maps))


def _fewest_numbers(attention: AttentionMap) -> WeightStore:
    store = attention.store
    n_weights = attention.n_layers * attention.n_heads * len(attention.queries) * len(attention.keys)
    if (
        attention.kind != "decoder"
        or not isinstance(store, QueryKeyWeights)
        or 2 * n_weights * np.dtype(np.float32).itemsize > store.nbytes
    ):
        return store
    return DenseWeights(tuple(store.layer(layer) for layer in range(store.n_layers)))


def value_from_bytes(data: bytes, *, name: str = "The file") -> Any:
    """Read the value in the bytes of a file that travels with attnviz; `name` is what messages call it.

    Raises:
        TraceError: the file is damaged.
    """
    header, tensors = unseal(data, name)
    return _rebuilt(header[_VALUE], tensors, rebuild(header, tensors) if "maps" in header else None)


def _record(value: Any, tensors: Tensors, traces: list[AttentionTrace]) -> Any:
    if isinstance(value, str | bool | int | float | None):
        return value
    if isinstance(value, np.generic):
        return value.item()
    if isinstance(value, tuple):
        return [_record(each, tensors, traces) for each in value]
    if isinstance(value, AttentionTrace):
        traces.extend([] if traces else [value])
        if traces[0] is not value:
            raise TraceError("A file holds one trace: write two values.")
        return {_IS: "trace"}
    if isinstance(value, np.ndarray):
        name = f"value.{len(tensors)}"
        tensors[name] = np.ascontiguousarray(value)
        return {_IS: "array", "name": name}
    if isinstance(value, Mapping):
        return {_IS: "mapping", "items": _record(tuple(value.items()), tensors, traces)}
    if isinstance(value, frozenset):
        return {_IS: "set", "items": _record(tuple(sorted(value)), tensors, traces)}
    if not is_dataclass(value) or isinstance(value, type):
        raise TraceError(f"{type(value).__name__} is no value that a file can hold.")
    # A named field that is added later, and says nothing, changes no file and no name of one.
    said = [
        each for each in fields(value) if each.init and not (each.kw_only and each.default is getattr(value, each.name) is None)
    ]
    made = {each.name: _record(getattr(value, each.name), tensors, traces) for each in said}
    return {_IS: f"{type(value).__module__}:{type(value).__qualname__}", **made}


def _rebuilt(record: Any, tensors: Tensors, trace: AttentionTrace | None) -> Any:
    if isinstance(record, list):
        return tuple(_rebuilt(each, tensors, trace) for each in record)
    if not isinstance(record, dict):
        return record
    kind = record[_IS]
    if kind == "trace":
        return trace
    if kind == "array":
        return tensors[record["name"]]
    if kind in ("mapping", "set"):
        items = _rebuilt(record["items"], tensors, trace)
        return dict(items) if kind == "mapping" else frozenset(items)
    return _class(kind)(**{name: _rebuilt(each, tensors, trace) for name, each in record.items() if name != _IS})


def _class(name: str) -> type:
    """Find a class by its "module:Class"."""
    module, _, place = name.partition(":")
    if not module.startswith("attnviz."):
        raise TraceError(f"{name} is no class of attnviz.")
    return getattr(importlib.import_module(module), place)
