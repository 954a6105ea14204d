"""A corpus of any size, read part by part: what is kept does not grow with it, and a run that was killed goes on."""

import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

from attnviz import memory
from attnviz.analysis.heads.corpus_statistics import Statistics, measure, merge
from attnviz.core.errors import CorpusError
from attnviz.core.journal import exclusive
from attnviz.models.base import AttentionModel, Progress, silent
from attnviz.survey.self_attention import self_attention
from attnviz.survey.survey_folder import State, load, save, write_tables
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
