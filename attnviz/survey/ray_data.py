"""The same survey on a cluster: Ray Data hands the parts of the corpus to actors that hold the model (`attnviz[ray]`)."""

from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from attnviz.analysis.heads.statistics import merge
from attnviz.core.errors import CorpusError
from attnviz.survey.folder import State, from_bytes, save, to_bytes, write_tables
from attnviz.survey.run import SurveyJob, read_part


class PartReader:
    """Holds the model in an actor, and measures one part of the corpus at a call."""

    def __init__(self, job: SurveyJob) -> None:
        from attnviz.models import catalog

        self.job, self.model = job, catalog.load(job.model)

    def __call__(self, batch: dict[str, np.ndarray]) -> dict[str, list[Any]]:
        parts, states = [], []
        for part, texts in zip(batch["part"].tolist(), batch["texts"].tolist(), strict=True):
            statistics, kind = read_part(self.model, list(texts))
            if statistics is not None:
                parts.append(part)
                states.append(to_bytes(State(self.job.model, kind, self.job.corpus, (self.job.shard_name,), 1, statistics)))
        return {"part": parts, "state": states}


def survey_on_ray(job: SurveyJob, folder: Path, address: str, workers: int) -> State:
    """Measure every head over the corpus on the Ray cluster at `address`; "local" starts one on this machine.

    Raises:
        CorpusError: Ray is not installed or not there, or there is nothing to read.
    """
    try:
        import ray
    except ImportError as error:
        raise CorpusError("Ray is not installed: install attnviz[ray], or leave --ray out.") from error
    try:
        # A cluster of one's own for one run needs no page about itself, which takes as long to start as the rest.
        dashboard = False if address == "local" else None
        ray.init(address, ignore_reinit_error=True, log_to_driver=False, include_dashboard=dashboard)
    except (ConnectionError, ValueError, RuntimeError) as error:
        raise CorpusError(f"There is no Ray cluster at {address!r}: give another --ray ADDRESS, or local.") from error
    parts = [{"part": number, "texts": list(texts)} for number, texts in job.parts()]
    if not parts:
        raise CorpusError("There is no text to read in this shard: give files of one text a line.")
    dataset = ray.data.from_items(parts, override_num_blocks=len(parts)).map_batches(
        PartReader, fn_constructor_args=(job,), batch_size=1, compute=ray.data.ActorPoolStrategy(size=workers)
    )
    state = _summed(dataset.iter_rows(), job)
    save(folder, state)
    write_tables(folder, state)
    return state


def _summed(rows: Iterable[dict[str, Any]], job: SurveyJob) -> State:
    """Add up the parts in the order of the corpus, as a run on one machine does."""
    state_of = {row["part"]: from_bytes(row["state"], f"part {row['part']}") for row in rows}
    if not state_of:
        raise CorpusError("The model can read none of these texts: choose others.")
    states = [state_of[part] for part in sorted(state_of)]
    total = states[0].statistics
    for state in states[1:]:
        total = merge(total, state.statistics)
    return replace(states[0], parts=len(states), statistics=total, corpus=job.corpus)
