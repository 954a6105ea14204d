"""The same survey on a Ray cluster, where the parts of the corpus are handed to actors that hold the model (`attnviz[ray]`)."""

import socket
from collections.abc import Iterable
from dataclasses import replace
from itertools import islice
from pathlib import Path
from urllib.parse import urlsplit

from attnviz import memory
from attnviz.analysis.heads.corpus_statistics import merge
from attnviz.core.errors import CorpusError
from attnviz.models.base import Progress, silent
from attnviz.survey.corpus_survey import SurveyJob, read_part
from attnviz.survey.survey_folder import State, from_bytes, save, to_bytes, write_tables

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
