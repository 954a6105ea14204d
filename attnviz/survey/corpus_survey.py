"""A corpus of any size, read part by part: what is kept does not grow with it, and a run that was killed goes on."""

import hashlib
import socket
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path
from urllib.parse import urlsplit

from attnviz import memory
from attnviz.analysis.heads.measures import Statistics, measure, merge
from attnviz.core.errors import CorpusError
from attnviz.core.journal import exclusive
from attnviz.models.base import AttentionModel, Progress, silent
from attnviz.survey.self_attention import self_attention
from attnviz.survey.survey_folder import State, from_bytes, load, save, to_bytes, write_tables
from attnviz.text.data_files import text_lines

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
    with exclusive(folder):
        state = _read_corpus(model, job, folder, progress)
    write_tables(folder, state)
    return state


def _read_corpus(model: AttentionModel, job: SurveyJob, folder: Path, progress: Progress) -> State:
    state = _begun(job, folder)
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
        raise CorpusError("There is no text to read in this shard: give files of one text a line.")
    return state


def _begun(job: SurveyJob, folder: Path) -> State | None:
    state = load(folder)
    if state and (state.model, state.corpus, state.shards) != (job.model, job.corpus, (job.shard_name,)):
        raise CorpusError(f"{folder} holds a survey of another model, corpus or shard: choose another folder.")
    return state


def read_part(model: AttentionModel, texts: Sequence[str]) -> tuple[Statistics | None, str]:
    """Measure some texts; nothing where the model can read none of them."""
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
        CorpusError: Ray is not installed or not there, or there is nothing to read.
    """
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
        raise CorpusError("There is no text that the model can read in this shard: give files of one text a line.")
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
