"""The inside of a trace file: a trace as a header of plain JSON and named tensors, and back.

Each part is checked as it is read: a file need not come from attnviz.

What `open_trace` reads of such a file is the trace. These files travel with attnviz: none is read that a visitor has made.
"""

import importlib
import importlib.metadata
import math
from collections.abc import Mapping
from dataclasses import asdict, fields, is_dataclass, replace
from functools import cache
from typing import Any, TypeVar

import numpy as np

from attnviz.core.edits import Edits
from attnviz.core.errors import TraceError
from attnviz.core.trace import KINDS, AttentionMap, AttentionTrace, DenseWeights, Prompt, QueryKeyWeights, Token, WeightStore
from attnviz.core.weights import EditedHeads, QueryKeyLayer
from attnviz.core.write import Continuation
from attnviz.files.container import Packed, packed_layer, seal, unseal

Record = dict[str, Any]
Tensors = dict[str, np.ndarray]
Value = TypeVar("Value")
# Those that a trace's numbers depend on.
PACKAGES = ("attnviz", "torch", "transformers")
LARGEST = 2**31 - 1
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
        raise TraceError("a map has no token")
    if record["kind"] not in KINDS:
        raise TraceError(f"a map is of kind {', '.join(KINDS)}, not {record['kind']!r}")
    return AttentionMap(record["kind"], queries, keys, _store(record["layers"], tensors), _as(bool, record["causal"]))


def _store(layers: list[Record], tensors: Tensors) -> WeightStore:
    # A small file that named one tensor in thousands of layers would take minutes to check, and to draw.
    owned = [layer[name] for layer in layers for name in ("weights", "query", "key") if name in layer]
    if len(set(owned)) < len(owned):
        raise TraceError("two layers name one tensor; only masks, biases and sinks may be shared")
    if "weights" in layers[0]:
        return DenseWeights(tuple(_tensor(tensors, layer["weights"], "float32", 3) for layer in layers))
    return QueryKeyWeights(tuple(_layer(layer, tensors) for layer in layers))


def _layer(record: Record, tensors: Tensors) -> QueryKeyLayer:
    extras = {
        name: None if record[name] is None else _tensor(tensors, record[name], dtype, dimensions)
        for name, dtype, dimensions in (("visible", "bool", 2), ("bias", "float32", 3), ("sink", "float32", 1))
    }
    query, key = (_vectors(tensors, record[name]) for name in ("query", "key"))
    scaling, softcap = _as(float, record["scaling"]), _as((float, type(None)), record["softcap"])
    if softcap is not None and not 0 < softcap < math.inf:
        raise TraceError(f"a layer has the soft cap {softcap}")
    edited = _edited(record["edited"], tensors) if "edited" in record else None
    layer = QueryKeyLayer(query, key, scaling, _as(bool, record["causal"]), softcap=softcap, edited=edited, **extras)
    highest = abs(scaling) * float(np.abs(query).max()) * float(np.abs(key).max()) * query.shape[2]
    if not highest < float(np.finfo(np.float32).max):
        raise TraceError("a layer has scores that are not finite")
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
        raise TraceError(f"{name} has exponents of shape {packed.exponents.shape}")
    return packed.unpacked()


def _tensor(tensors: Tensors, name: str, dtype: str, dimensions: int) -> np.ndarray:
    array = tensors[name]
    if array.dtype != dtype or array.ndim != dimensions or not array.size:
        raise TraceError(f"{name} is {array.dtype} of shape {array.shape}, not {dtype} of {dimensions} dimensions")
    return array


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
            raise TraceError("a file holds one trace: write two values")
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
        raise TraceError(f"{type(value).__name__} is no value that a file can hold")
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
        raise TraceError(f"{name} is no class of attnviz")
    return getattr(importlib.import_module(module), place)
