"""A corpus of any size, read part by part: what is kept does not grow with it, and a run that was killed goes on.

The folder of a survey holds:

state.npz       sums, how far the survey has come, and of what: written after every part, whole or not at all
heads.parquet   one row a head and measure
headvis/        six numbers a head, in the form of Anthropic's HeadVis (2026)
"""

import hashlib
import io
import json
import math
import socket
import zipfile
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.lib import format as npy

from attnviz import memory
from attnviz.analysis.heads.measures import FIELDS, NAMES, Statistics, measure, merge
from attnviz.core import whole_files
from attnviz.core.errors import CorpusError, failing_as
from attnviz.models.base import AttentionModel, Progress, silent
from attnviz.text.data_files import text_lines

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
    whole_files.write(folder / STATE, to_bytes(state))


def write_tables(folder: Path, state: State) -> None:
    """Write the tables of a survey."""
    with whole_files.replacing(folder / TABLE) as file:
        pq.write_table(pa.table(rows(state)), file)
    (folder / "headvis").mkdir(exist_ok=True)
    whole_files.write(folder / "headvis" / "scatter_data.json", json.dumps(headvis(state)))


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
        CorpusError: a folder holds none, they are not different shards of one survey, or `out` holds another.
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
    if len({shard.partition("/")[2] for shard in shards}) > 1:
        raise CorpusError(f"Shards {', '.join(sorted(shards))} have texts in common: merge the parts K/N of one N.")
    _begun(out, first.model, first.corpus)
    statistics = merge(*(state.statistics for state in states))
    whole = State(
        first.model, first.kind, first.corpus, tuple(sorted(shards)), sum(state.parts for state in states), statistics
    )
    save(out, whole)
    write_tables(out, whole)
    return whole


# Texts of a part: enough of like length for full batches, and few enough to lose little when a run is killed.
PART = 256


@dataclass(frozen=True)
class SurveyJob:
    """What a survey reads: the model's name, files of one text a line, and which of how many shards."""

    model: str
    files: tuple[Path, ...]
    shard: tuple[int, int] = (1, 1)

    @property
    def corpus(self) -> str:
        """Tell this corpus from another: by the names and sizes of its files.

        Raises:
            CorpusError: a file is not there.
        """
        for path in self.files:
            if not path.is_file():
                raise CorpusError(f"There is no file {path}: name texts that are there, one text a line.")
        listing = "\n".join(f"{path.name} {path.stat().st_size}" for path in self.files)
        return hashlib.sha256(listing.encode()).hexdigest()[:16]

    @property
    def shard_name(self) -> str:
        return f"{self.shard[0]}/{self.shard[1]}"

    def nothing_to_read(self) -> CorpusError:
        """Say that no text was read: of all files, or of the part that was asked for."""
        where = "these files" if self.shard == (1, 1) else f"part {self.shard_name} of these files"
        return CorpusError(f"There is no text that the model can read in {where}: give files of one text a line.")

    def parts(self) -> Iterator[tuple[int, tuple[str, ...]]]:
        """Cut the texts of this shard into numbered parts: every N-th part of the corpus, beginning with the K-th."""
        number, total = self.shard
        texts = (line.strip() for path in self.files for line in text_lines(path) if line.strip())
        return islice(enumerate(_batched(texts, PART)), number - 1, None, total)


def _batched(texts: Iterator[str], size: int) -> Iterator[tuple[str, ...]]:
    while part := tuple(islice(texts, size)):
        yield part


def survey(model: AttentionModel, job: SurveyJob, folder: Path, progress: Progress = silent) -> State:
    """Measure every head over the corpus, and write folder/heads.parquet; goes on where a run before was stopped.

    Raises:
        CorpusError: there is nothing to read, or the folder holds a survey of something else.
        AttnvizError: another process is surveying into the folder.
    """
    memory.bound_heaps()
    folder.mkdir(parents=True, exist_ok=True)
    with whole_files.exclusive(folder):
        state = _read_corpus(model, job, folder, progress)
    write_tables(folder, state)
    return state


def _read_corpus(model: AttentionModel, job: SurveyJob, folder: Path, progress: Progress) -> State:
    state = _begun(folder, job.model, job.corpus, job.shard_name)
    done = state.parts if state else 0
    for index, (_, texts) in enumerate(job.parts()):
        if index < done:
            continue
        part, kind = read_part(model, texts)
        if part is not None:
            statistics = merge(state.statistics, part) if state else part
            state = State(job.model, kind, job.corpus, (job.shard_name,), index + 1, statistics)
            save(folder, state)
            progress(f"{statistics.read:,} texts, {statistics.tokens:,} tokens", None)
    if state is None:
        raise job.nothing_to_read()
    return state


def _begun(folder: Path, model: str, corpus: str, shard: str = "") -> State | None:
    """Read what a folder holds of this survey, of whichever shard where none is named; nothing may be written over another."""
    state = load(folder)
    if state and ((state.model, state.corpus) != (model, corpus) or (shard and state.shards != (shard,))):
        raise CorpusError(f"{folder} holds a survey of another model, corpus or shard: choose another folder.")
    return state


def read_part(model: AttentionModel, texts: Sequence[str]) -> tuple[Statistics | None, str]:
    """Measure some texts; nothing where the model can read none of them."""
    # Imported here: a page that opens a survey waits for no PyTorch.
    from attnviz.survey.self_attention import self_attention

    total, kind = None, ""
    for index, attention in self_attention(model, texts):
        part, kind = measure(attention, texts[index]), attention.kind
        total = part if total is None else merge(total, part)
    return total, kind


# Parts that are given to the cluster at once: what is held here does not grow with the corpus.
GROUP = 1024
CONNECT_SECONDS = 3.0


class PartReader:
    """Holds the model in an actor, and measures one part of the corpus at a call."""

    def __init__(self, job: SurveyJob) -> None:
        from attnviz.models import catalog

        memory.bound_heaps()
        self.job, self.model = job, catalog.load(job.model)

    def read(self, part: int, texts: tuple[str, ...]) -> tuple[int, bytes] | None:
        """Measure a part; None where the model can read nothing of it."""
        statistics, kind = read_part(self.model, texts)
        if statistics is None:
            return None
        return part, to_bytes(State(self.job.model, kind, self.job.corpus, (self.job.shard_name,), 1, statistics))


def survey_on_ray(job: SurveyJob, folder: Path, address: str, workers: int, progress: Progress = silent) -> State:
    """Measure every head over the corpus on the Ray cluster at `address`; "local" starts one on this machine.

    Raises:
        CorpusError: Ray is not installed or not there, there is nothing to read, or the folder holds another survey.
    """
    _begun(folder, job.model, job.corpus, job.shard_name)
    try:
        import ray
        from ray.util import ActorPool
    except ImportError as error:
        raise CorpusError("Ray is not installed: install attnviz[ray], or leave --ray out.") from error
    progress(f"Connecting to Ray at {address}", None)
    nowhere = f"There is no Ray cluster at {address!r}: give another --ray ADDRESS, or local."
    _check_listening(address, nowhere)
    try:
        # A cluster of one's own for one run needs no page about itself, which takes as long to start as the rest.
        dashboard = False if address == "local" else None
        ray.init(address, ignore_reinit_error=True, log_to_driver=False, include_dashboard=dashboard)
    except (ConnectionError, ValueError, RuntimeError) as error:
        raise CorpusError(nowhere) from error
    # One whose machine is gone begins anew, and so does what it was reading. None keeps a core to itself: with more of them
    # than cores, some would wait for ever, each with a part.
    reader = ray.remote(max_restarts=-1, max_task_retries=-1)(PartReader)
    pool = ActorPool([reader.remote(job) for _ in range(workers)])
    parts, total = job.parts(), None
    while group := [*islice(parts, GROUP)]:
        read = pool.map_unordered(lambda actor, part: actor.read.remote(*part), group)
        total = _added(total, filter(None, read), job.shard)
        if total is not None:
            progress(f"{total.statistics.read:,} texts, {total.statistics.tokens:,} tokens", None)
    if total is None:
        raise job.nothing_to_read()
    save(folder, total)
    write_tables(folder, total)
    return total


def _check_listening(address: str, nowhere: str) -> None:
    """Refuse an address with a port where nobody listens: Ray itself asks there for half a minute, and says nothing."""
    place = urlsplit(address if "://" in address else f"//{address}")
    try:
        if place.hostname and place.port:
            socket.create_connection((place.hostname, place.port), timeout=CONNECT_SECONDS).close()
    except (OSError, ValueError) as error:  # nobody is there, or the port is no number
        raise CorpusError(nowhere) from error


def _added(total: State | None, read: Iterable[tuple[int, bytes]], shard: tuple[int, int]) -> State | None:
    """Add parts to what there is, in the order of the corpus, as a run on one machine does."""
    number, n_shards = shard
    for part, data in sorted(read):
        state = from_bytes(data, f"part {part}")
        merged = merge(total.statistics, state.statistics) if total else state.statistics
        # Of the corpus every so-manieth part is this shard's, beginning with its own number.
        total = replace(state, parts=(part - number + 1) // n_shards + 1, statistics=merged)
    return total
