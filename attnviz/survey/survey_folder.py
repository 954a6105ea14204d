"""The folder of a survey: its statistics, which merge, and the tables that are made of them.

state.npz       sums, how far the survey has come, and of what: written after every part, whole or not at all
heads.parquet   one row a head and measure
headvis/        six numbers a head, in the form of Anthropic's HeadVis (2026)
"""

import io
import json
import math
import zipfile
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.lib import format as npy

from attnviz.analysis.heads.measures import FIELDS, NAMES, Statistics, merge
from attnviz.core import journal
from attnviz.core.errors import CorpusError, failing_as

STATE, TABLE = "state.npz", "heads.parquet"
# Statistics take 3 kB a head; no model has so many heads.
MOST_BYTES = 128 * 2**20
# Beyond any sum over a corpus, and small enough that its square is finite.
_LARGEST = 1e100
# HeadVis' name of each number, and ours.
HEADVIS = {
    "induction_score": "after same", "prev_token_score": "previous", "self_score": "self", "bos_score": "first",
    "entropy": "entropy", "mean_distance": "distance",
}  # fmt: skip


@dataclass(frozen=True, eq=False)
class State:
    """How far a survey has come: what it is of, its shards, the parts that are read, and their statistics."""

    model: str
    kind: str
    corpus: str
    shards: tuple[str, ...]
    parts: int
    statistics: Statistics


def to_bytes(state: State) -> bytes:
    """Write a state."""
    statistics = state.statistics
    facts = {
        "model": state.model, "kind": state.kind, "corpus": state.corpus, "shards": state.shards, "parts": state.parts,
        "examples": statistics.examples, "read": statistics.read, "tokens": statistics.tokens, "measures": NAMES,
    }  # fmt: skip
    arrays = {field: getattr(statistics, field) for field in FIELDS}
    file = io.BytesIO()
    np.savez(file, facts=np.array(json.dumps(facts, ensure_ascii=False)), **arrays)
    return file.getvalue()


def from_bytes(data: bytes, name: str) -> State:
    """Read a state.

    Raises:
        CorpusError: it is none, or of another version.
    """
    with failing_as(CorpusError, f"{name} holds no survey of this version of attnviz: survey the corpus again."):
        arrays = _arrays(data)
        facts = json.loads(str(arrays.pop("facts")))
        if tuple(facts["measures"]) != NAMES:
            raise ValueError("other measures")
        _check(arrays)
        read, tokens, parts = (_count(facts[field]) for field in ("read", "tokens", "parts"))
        examples = tuple((str(key), str(text)) for key, text in facts["examples"])
        model, kind, corpus = (str(facts[field]) for field in ("model", "kind", "corpus"))
        shards = tuple(str(shard) for shard in facts["shards"])
        return State(model, kind, corpus, shards, parts, Statistics(**arrays, examples=examples, read=read, tokens=tokens))


def _arrays(data: bytes) -> dict[str, Any]:
    """Read the arrays of an archive, each of which is as large as its header says, before memory is taken for it."""
    arrays = {}
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        if sum(member.file_size for member in archive.infolist()) > MOST_BYTES:
            raise ValueError("more than a survey can hold")
        for field in ("facts", *FIELDS):
            content = archive.read(f"{field}.npy")
            file = io.BytesIO(content)
            read = {(1, 0): npy.read_array_header_1_0, (2, 0): npy.read_array_header_2_0}[npy.read_magic(file)]
            shape, _, dtype = read(file)
            if math.prod(shape) * dtype.itemsize != len(content) - file.tell():
                raise ValueError("an array of another size")
            arrays[field] = npy.read_array(io.BytesIO(content), allow_pickle=False)
    return arrays


def _check(arrays: dict[str, Any]) -> None:
    """Check that arrays can be sums over a corpus: all of one model, finite, and no count of anything below 0."""
    n_layers, n_heads, _ = arrays["histogram"].shape
    if not arrays["histogram"].size:
        raise ValueError("no head")
    wanted = Statistics.empty(n_layers, n_heads)
    if any(arrays[field].shape != getattr(wanted, field).shape or arrays[field].dtype != float for field in FIELDS):
        raise ValueError("arrays of other shapes")
    # The bound keeps what is computed of them finite, too.
    if any(not (np.abs(array) < _LARGEST).all() for array in arrays.values()):
        raise ValueError("a sum that is not finite")
    if any((arrays[field] < 0).any() for field in FIELDS if field not in ("sums", "cross")):
        raise ValueError("a sum of squares or counts below 0")
    if any((arrays[field] % 1).any() for field in ("rows", "texts", "row_squares")):
        raise ValueError("a count that is no whole number")


def _count(value: object) -> int:
    if type(value) is not int or not 0 <= value < 2**63:
        raise ValueError("no count")
    return value


def load(folder: Path) -> State | None:
    """Read the state of a folder; None where no survey was begun.

    Raises:
        CorpusError: what stands there is no survey.
    """
    path = folder / STATE
    if not path.exists():
        return None
    # A named pipe would be waited for, and a device has no end.
    if not path.is_file():
        raise CorpusError(f"{path} is no file: name another folder.")
    if path.stat().st_size > MOST_BYTES:
        raise CorpusError(f"{folder} holds a survey of more than {MOST_BYTES >> 20} MB: read its {TABLE} instead.")
    return from_bytes(path.read_bytes(), str(path))


def opened(folder: Path) -> State:
    """Read the survey of a folder that a person names.

    Raises:
        CorpusError: there is no such folder, no survey in it, or none that can be read.
    """
    try:
        if not folder.is_dir():
            raise CorpusError(f"There is no folder {folder}: name the one that `attnviz survey` wrote with -o.")
        state = load(folder)
    except CorpusError:
        raise
    except OSError as error:
        raise CorpusError(f"The folder {folder} cannot be read: name another, or allow it to be read.") from error
    if state is None:
        raise CorpusError(f"{folder} holds no survey: name the folder that `attnviz survey` wrote with -o.")
    return state


def save(folder: Path, state: State) -> None:
    """Write the state of a survey."""
    folder.mkdir(parents=True, exist_ok=True)
    journal.write(folder / STATE, to_bytes(state))


def write_tables(folder: Path, state: State) -> None:
    """Write the tables of a survey."""
    with journal.replacing(folder / TABLE) as file:
        pq.write_table(pa.table(rows(state)), file)
    (folder / "headvis").mkdir(exist_ok=True)
    journal.write(folder / "headvis" / "scatter_data.json", json.dumps(headvis(state)))


def rows(state: State) -> dict[str, list[Any]]:
    """Lay the statistics out in columns, one row a head and measure, but those that were not measured."""
    statistics = state.statistics
    means, errors, (low, high) = statistics.means, statistics.errors, statistics.intervals
    columns: dict[str, list[Any]] = defaultdict(list)
    for place in np.ndindex(*means.shape):
        measure, layer, head = place
        if not np.isnan(means[place]):
            spread = max(statistics.squares[place] / statistics.rows[measure] - means[place] ** 2, 0) ** 0.5
            row = {
                "model": state.model, "kind": state.kind, "layer": layer, "head": head, "measure": NAMES[measure],
                "mean": float(means[place]), "standard_error": float(errors[place]), "low": float(low[place]),
                "high": float(high[place]), "standard_deviation": float(spread), "rows": int(statistics.rows[measure]),
                "texts": int(statistics.texts[measure]),
            }  # fmt: skip
            for name, value in row.items():
                columns[name].append(value)
    return dict(columns)


def headvis(state: State) -> list[dict[str, Any]]:
    """Give the six numbers that HeadVis shows of each head that attends; null where no text had what is measured."""
    means, attending = state.statistics.means, state.statistics.attending
    return [
        {
            "layer": layer,
            "head": head,
            **{name: _number(means[NAMES.index(ours), layer, head]) for name, ours in HEADVIS.items()},
        }
        for layer, head in np.ndindex(*means.shape[1:])
        if attending[layer]
    ]


def _number(value: float) -> float | None:
    return None if np.isnan(value) else float(value)


def merge_folders(folders: Sequence[Path], out: Path) -> State:
    """Add up the shards of a survey.

    Raises:
        CorpusError: a folder holds none, or they are not different shards of one survey.
    """
    states = []
    for folder in folders:
        if (state := load(folder)) is None:
            raise CorpusError(f"{folder} holds no survey: name the folders that `attnviz survey` wrote.")
        states.append(state)
    first, shards = states[0], [shard for state in states for shard in state.shards]
    if len({(state.model, state.kind, state.corpus) for state in states}) > 1:
        raise CorpusError("These surveys are not of one model and one corpus: merge the shards of one survey.")
    if len(set(shards)) < len(shards):
        raise CorpusError("One shard stands there twice: name every folder once.")
    statistics = merge(*(state.statistics for state in states))
    whole = State(
        first.model, first.kind, first.corpus, tuple(sorted(shards)), sum(state.parts for state in states), statistics
    )
    save(out, whole)
    write_tables(out, whole)
    return whole
