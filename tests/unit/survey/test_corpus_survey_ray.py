"""What a cluster is sent, and what is made of its answers: a cluster that is invented, and hands them out in another order."""

import socket
import sys
from collections.abc import Iterator
from functools import partial
from itertools import cycle
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from attnviz.analysis.heads.measures import FIELDS, measure, merge
from attnviz.core.errors import CorpusError, PromptError
from attnviz.core.trace import AttentionTrace
from attnviz.models import catalog
from attnviz.models.base import ModelCard
from attnviz.models.capabilities import Capabilities
from attnviz.survey import corpus_survey
from attnviz.survey.corpus_survey import STATE, TABLE, SurveyJob, load
from tests.factories import make_map, sentence

# Of seven parts the fourth is none that can be read.
TEXTS = [f"cat {'unread' if at in (9, 10, 11) else 'sat'}{' down' * (at % 5)}" for at in range(20)]


class Reader(Capabilities):
    """Reads every text but those with a word that it does not know."""

    card = ModelCard("reader", "reads", "encoder", 2, 3, 7, 61, "cpu")

    def trace(self, prompt: Any, edits: Any = None) -> AttentionTrace:
        if "unread" in prompt.text:
            raise PromptError("This word is not known.")
        return AttentionTrace("reader", prompt, (make_map(sentence(prompt.text)),))


class Cluster:
    """Ray, as far as a survey knows it: each part is read by an actor, the last one first."""

    def __init__(self) -> None:
        self.begun: list[tuple[Any, ...]] = []
        self.sent: list[list[int]] = []
        self.actors: list[Any] = []
        self.options: list[dict[str, Any]] = []
        self.util = SimpleNamespace(ActorPool=self._pool)

    def init(self, address: str, **options: Any) -> None:
        self.begun.append((address, options))
        if address == "lost":
            raise ConnectionError("nobody is there")

    def remote(self, **options: Any) -> Any:
        self.options.append(options)

        def begin(reader: Any, *given: Any) -> Any:
            self.actors.append(given)
            return SimpleNamespace(read=SimpleNamespace(remote=reader(*given).read))

        return lambda reader: SimpleNamespace(remote=partial(begin, reader))

    def _pool(self, actors: list[Any]) -> Any:
        def map_unordered(read: Any, parts: list[tuple[int, tuple[str, ...]]]) -> Iterator[tuple[int, bytes] | None]:
            self.sent.append([number for number, _ in parts])
            return (read(actor, part) for actor, part in zip(cycle(actors), reversed(parts), strict=False))

        return SimpleNamespace(map_unordered=map_unordered)


@pytest.fixture
def cluster(monkeypatch: pytest.MonkeyPatch) -> Cluster:
    monkeypatch.setitem(sys.modules, "ray", made := Cluster())
    monkeypatch.setitem(sys.modules, "ray.util", made.util)
    monkeypatch.setattr(catalog, "load", lambda name: {"reader-2": Reader()}[name])
    monkeypatch.setattr(corpus_survey, "PART", 3)
    monkeypatch.setattr(corpus_survey, "GROUP", 2)
    return made


@pytest.mark.parametrize(("shard", "groups", "parts"), [((1, 1), [[0, 1], [2, 3], [4, 5], [6]], 7), ((2, 3), [[1, 4]], 2)])
def test_parts_are_sent_a_few_at_a_time_and_added_up_in_their_order(
    shard: tuple[int, int], groups: list[list[int]], parts: int, cluster: Cluster, tmp_path: Path
) -> None:
    (tmp_path / "texts.txt").write_text("\n".join(TEXTS), encoding="utf-8")
    job, told = SurveyJob("reader-2", (tmp_path / "texts.txt",), shard), list[tuple[str, float | None]]()
    state = corpus_survey.survey_on_ray(job, tmp_path / "out", "local", 5, lambda *each: told.append(each))
    options = {"ignore_reinit_error": True, "log_to_driver": False, "include_dashboard": False}
    assert cluster.begun == [("local", options)]
    assert (cluster.sent, cluster.actors) == (groups, [(job,)] * 5)
    # An actor whose machine is gone begins anew, and there may be more of them than cores.
    assert cluster.options == [{"max_restarts": -1, "max_task_retries": -1}]
    sizes, want = [], None
    for group in groups:
        for part in group:
            for text in (text for text in TEXTS[3 * part : 3 * part + 3] if "unread" not in text):
                one = measure(make_map(sentence(text)), text)
                want = one if want is None else merge(want, one)
        assert want is not None
        sizes.append((want.read, want.tokens))
    assert told == [("Connecting to Ray at local", None), *((f"{n} texts, {tokens} tokens", None) for n, tokens in sizes)]
    assert want is not None
    for field in FIELDS:
        np.testing.assert_allclose(getattr(state.statistics, field), getattr(want, field))
    assert (state.statistics.examples, state.statistics.read) == (want.examples, want.read)
    shown = state.model, state.kind, state.corpus, state.shards, state.parts
    assert shown == ("reader-2", "encoder", job.corpus, (job.shard_name,), parts)
    again = load(tmp_path / "out")
    assert again is not None
    assert (again.parts, again.statistics.read) == (parts, want.read)
    assert (tmp_path / "out" / TABLE).is_file()
    with pytest.raises(CorpusError, match="holds a survey of another model, corpus or shard"):
        corpus_survey.survey_on_ray(SurveyJob("reader-2", job.files, (1, 9)), tmp_path / "out", "local", 5)
    assert len(cluster.begun) == 1


def test_a_cluster_of_others_keeps_its_page_and_one_that_is_not_there_is_refused(
    cluster: Cluster, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "texts.txt").write_text("unread\n" * 4, encoding="utf-8")
    job = SurveyJob("reader-2", (tmp_path / "texts.txt",))
    with pytest.raises(CorpusError, match="no text that the model can read in these files"):
        corpus_survey.survey_on_ray(job, tmp_path / "out", "auto", 1)
    assert cluster.begun[0][1]["include_dashboard"] is None
    with pytest.raises(CorpusError, match="no Ray cluster at 'lost'"):
        corpus_survey.survey_on_ray(job, tmp_path / "out", "lost", 1)
    monkeypatch.setitem(sys.modules, "ray", None)
    with pytest.raises(CorpusError, match="Ray is not installed"):
        corpus_survey.survey_on_ray(job, tmp_path / "out", "auto", 1)
    assert not (tmp_path / "out" / STATE).exists()


def test_a_port_where_nobody_listens_is_refused_at_once() -> None:
    with socket.create_server(("localhost", 0)) as server:
        port = server.getsockname()[1]
        for address in ("local", "auto", f"localhost:{port}", f"ray://localhost:{port}"):
            corpus_survey._check_listening(address, "nowhere")
    for address in (f"localhost:{port}", f"ray://localhost:{port}", "localhost:port"):
        with pytest.raises(CorpusError, match="nowhere"):
            corpus_survey._check_listening(address, "nowhere")
