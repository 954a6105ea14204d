"""A pass of a model as an ONNX graph, whose weights stand in files of their own, and how these are written."""

import hashlib
import inspect
import logging
import warnings
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import save
from torch import Tensor, nn

from attnviz.core import whole_files
from attnviz.core.errors import ModelError
from attnviz.models.shipped_models import EXPONENTS

# The file that a graph says its weights are in; the browser puts it together from the parts.
WEIGHTS = "weights"
# From 21 on, runtimes read all that the exporter writes.
_OPSET = 21


@dataclass(frozen=True, eq=False)
class Graph:
    """One pass of a model.

    module   computes it
    inputs   its arguments by name, as an example whose sizes are all different
    axes     of each input the names of its axes that have any size
    outputs  names of what it returns
    """

    module: nn.Module
    inputs: Mapping[str, Tensor]
    axes: Mapping[str, Mapping[int, str]]
    outputs: Sequence[str]


@dataclass(frozen=True, eq=False)
class Exported:
    """A graph in bytes, whose weights are `size` numbers of 4 bytes; each begins at its offset among them."""

    content: bytes
    offsets: Mapping[str, int]
    size: int


def export(graph: Graph, weights: Mapping[str, Tensor]) -> Exported:
    """Export a pass without its weights: those of the graph's parameters that share their memory with one of `weights`.

    Raises:
        ModelError: the packages that export are not installed.
    """
    program = _program(graph)
    in_files = {value.data_ptr(): name for name, value in weights.items()}
    names = {own: in_files.get(value.data_ptr()) for own, value in graph.module.named_parameters(remove_duplicate=False)}
    offsets: dict[str, int] = {}
    size = 0
    for tensor in program.graph.initializer:
        if not (name := names.get(tensor.name)):
            continue
        n_bytes = len(tensor.raw_data)
        if name not in offsets:
            offsets[name] = size
            size += n_bytes // 4
        tensor.ClearField("raw_data")
        tensor.data_location = tensor.EXTERNAL
        for key, value in {"location": WEIGHTS, "offset": 4 * offsets[name], "length": n_bytes}.items():
            tensor.external_data.add(key=key, value=str(value))
    return Exported(program.SerializeToString(deterministic=True), offsets, size)


def _program(graph: Graph) -> Any:
    try:
        import onnxscript  # noqa: F401
    except ImportError as error:
        raise ModelError(
            "Models are exported by onnx and onnxscript: install them with pip install 'attnviz[live]'."
        ) from error
    level = logging.getLogger("torch.onnx").level
    logging.getLogger("torch.onnx").setLevel(logging.ERROR)
    try:
        with warnings.catch_warnings(), torch.no_grad():
            warnings.simplefilter("ignore")
            exported = torch.onnx.export(
                graph.module.eval(),
                tuple(graph.inputs.values()),
                input_names=list(graph.inputs),
                output_names=list(graph.outputs),
                dynamic_shapes=_shapes(graph),
                opset_version=_OPSET,
                dynamo=True,
                # Else weights would be transposed, and have other names than in their files.
                optimize=False,
                verbose=False,
            )
    finally:
        logging.getLogger("torch.onnx").setLevel(level)
    assert exported is not None
    program = exported.model_proto
    # Where the exporter's code lies on this machine is nobody's business, and would make every export another file.
    for node in program.graph.node:
        node.ClearField("metadata_props")
        node.ClearField("doc_string")
    # An LSTM's has the sizes of the example.
    del program.graph.value_info[:]
    for output in program.graph.output:
        output.type.tensor_type.ClearField("shape")
    return program


def _shapes(graph: Graph) -> tuple[Any, ...]:
    """Say which axes of which argument have any size, as the exporter wants it."""
    dims: dict[str, Any] = {name: torch.export.Dim.DYNAMIC for axes in graph.axes.values() for name in axes.values()}
    shapes: list[Any] = [{axis: dims[name] for axis, name in graph.axes.get(each, {}).items()} for each in graph.inputs]
    plain = [each.kind != each.VAR_POSITIONAL for each in inspect.signature(graph.module.forward).parameters.values()]
    if not all(plain):
        # Arguments that have no name of their own are one to the exporter.
        shapes = [*shapes[: sum(plain)], tuple(shapes[sum(plain) :])]
    return tuple(shapes)


def digest(content: bytes) -> str:
    """Return the SHA-256 of a file's content."""
    return hashlib.sha256(content).hexdigest()


# A browser fetches the vectors of words by so many when a text needs one of them.
ROWS_PER_FILE = 512
_GZIP = 31


@dataclass(frozen=True, eq=False)
class WeightFile:
    """Weights that are fetched together, as they are saved."""

    name: str
    weights: Mapping[str, Tensor]


@dataclass(frozen=True, eq=False)
class Rows:
    """One packed matrix under the name "rows" of which a text needs some rows only, by the numbers of its tokens."""

    name: str
    weights: Mapping[str, Tensor]


@dataclass(frozen=True, eq=False)
class Files:
    """What a model is written as.

    graphs      its passes by name
    weights     its parameters by the names that they have in the parts
    parts       weights, each with the folder it is in: models that share some share its files
    rows        vectors of words, and their folder; None: they are among the weights
    tokenizers  the content of each tokenizer.json by name
    options     what the runner needs to know besides the card
    """

    graphs: Mapping[str, Graph]
    weights: Mapping[str, Tensor]
    parts: tuple[tuple[str, WeightFile], ...]
    tokenizers: Mapping[str, bytes]
    rows: tuple[str, Rows] | None = None
    options: Mapping[str, Any] = field(default_factory=dict)


def halves(weights: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """Lay the high bytes of numbers in half precision apart from the low ones, which no compression makes smaller."""
    planes = {}
    for name, value in weights.items():
        both = value.contiguous().view(torch.uint8).reshape(*value.shape, 2)
        planes[name] = torch.stack([both[..., 1], both[..., 0]])
    return planes


def compressed(content: bytes, *, text: bool = False) -> bytes:
    """Compress as gzip does, the same bytes every time. Weights repeat in runs of one byte alone, if at all."""
    strategy = zlib.Z_DEFAULT_STRATEGY if text else zlib.Z_RLE
    packer = zlib.compressobj(9, zlib.DEFLATED, _GZIP, 9, strategy)
    return packer.compress(content) + packer.flush()


def write(folder: Path, name: str, content: bytes, *, text: bool = False) -> dict[str, Any]:
    """Write a compressed file, and say what the browser needs to know of it: its path, its sizes and its SHA-256."""
    small = compressed(content, text=text)
    path = folder / f"{name}.gz"
    path.parent.mkdir(parents=True, exist_ok=True)
    whole_files.write(path, small)
    return {"file": f"{name}.gz", "bytes": len(small), "size": len(content), "sha256": digest(small)}


def write_weights(folder: Path, model: str, part: WeightFile) -> dict[str, Any]:
    """Write weights as one file."""
    return write(folder, f"{model}/{part.name}.safetensors", save(dict(part.weights)))


def write_rows(folder: Path, model: str, rows: Rows) -> dict[str, Any]:
    """Write a matrix in files of some rows each."""
    planes, exponents = rows.weights["rows"], rows.weights["rows" + EXPONENTS]
    files = []
    for start in range(0, planes.shape[1], ROWS_PER_FILE):
        some = slice(start, start + ROWS_PER_FILE)
        content = save({"rows": planes[:, some].contiguous(), "rows" + EXPONENTS: exponents[some].contiguous()})
        files.append(write(folder, f"{model}/{rows.name}/{start // ROWS_PER_FILE:03}.safetensors", content))
    return {"width": planes.shape[2], "rows_per_file": ROWS_PER_FILE, "files": files}
