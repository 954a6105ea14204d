"""A value of frozen dataclasses, and at most one trace in it, as one file: that of the trace, with the rest in its header.

What `open_trace` reads of such a file is the trace. These files travel with attnviz: none is read that a visitor has made.
"""

import importlib
from collections.abc import Mapping
from dataclasses import fields, is_dataclass, replace
from typing import Any

import numpy as np

from attnviz.core.errors import TraceError
from attnviz.core.trace import AttentionMap, AttentionTrace, DenseWeights, QueryKeyWeights, WeightStore
from attnviz.files.container import seal, unseal
from attnviz.files.contents import Tensors, describe, rebuild

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
