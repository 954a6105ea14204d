"""Results that were computed beforehand and travel in assets/: by what was asked of which model, with which weights."""

import hashlib
from functools import cache
from pathlib import Path
from typing import Any

from attnviz.core.errors import TraceError
from attnviz.files.trace_file import value_from_bytes, value_to_bytes
from attnviz.settings import assets_folder

# So much of a model's weights tells whether it was trained again: every number of them changes.
WEIGHTS_BYTES = 2**16


def examples_folder() -> Path:
    """Return the folder of these results."""
    return assets_folder() / "examples"


def find_example(work: str, name: str, *arguments: Any) -> Any:
    """Read the result of a piece of work for a model; None: it does not travel."""
    path = shipped_path(work, name, arguments)
    return read_shipped(path) if path and path.is_file() else None


def examples_of(work: str, name: str) -> list[Any]:
    """Read all results of a kind of work for a model."""
    return [read_shipped(path) for path in sorted(examples_folder().glob(f"{name}-{work}-*"))]


def shipped_path(work: str, name: str, arguments: tuple[Any, ...]) -> Path | None:
    """Name the file of a result; None: what was asked cannot be written."""
    try:
        digest = hashlib.sha256(value_to_bytes((work, name, _weights(name), arguments))).hexdigest()
    except (TraceError, ValueError):  # such as a number that is not finite
        return None
    return examples_folder() / f"{'-'.join(filter(None, (name, work.strip('_'))))}-{digest[:12]}.attn"


@cache
def _weights(name: str) -> str:
    """Tells weights that travel from others of the same model; of those that do not, nothing: they are always the same."""
    path = assets_folder() / "models" / name / "model.safetensors"
    if not name or not path.is_file():
        return ""
    with path.open("rb") as file:
        return hashlib.sha256(file.read(WEIGHTS_BYTES)).hexdigest() + f" of {path.stat().st_size}"


@cache
def read_shipped(path: Path) -> Any:
    """Read the file of a result."""
    return value_from_bytes(path.read_bytes(), name=path.name)


def models_with_atlas() -> tuple[str, ...]:
    """Name the models whose atlas travels with attnviz."""
    return tuple(sorted(path.stem for path in (assets_folder() / "atlas").glob("*.json")))
