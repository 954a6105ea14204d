"""The files of a model for the browser: weights, compressed as the browser itself can read it, and where each is needed."""

import zlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import save
from torch import Tensor

from attnviz.core import disk
from attnviz.live.graphs.graph import Graph, digest
from attnviz.models.packed_weights import EXPONENTS

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
    disk.write(path, small)
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
