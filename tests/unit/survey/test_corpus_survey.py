"""A survey is the same in one run, in shards, after a kill, and on Ray; and its numbers are the model's own."""

import csv
import io
import json
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest

from attnviz.analysis.heads.atlas import CLAIMS, from_json, to_json
from attnviz.analysis.heads.claim import parse
from attnviz.analysis.heads.measures import FIELDS, NAMES, RESERVOIR, measure, merge
from attnviz.analysis.heads.verdict import compare_with_rivals
from attnviz.cli import main
from attnviz.core.errors import ClaimError, CorpusError
from attnviz.core.trace import Prompt
from attnviz.models import catalog
from attnviz.models.capabilities import capabilities
from attnviz.survey import corpus_survey
from attnviz.survey.corpus_survey import from_bytes, load, merge_folders
from attnviz.survey.make_atlas import make
from attnviz.survey.treebank_attention import look
from attnviz.text.corpora import plain, shipped

NAMES_SEEN = ("dog", "bird", "child", "teacher", "animal", "man", "woman", "king", "queen", "boy", "girl", "horse", "fish")
TEXTS = [f"The {name} saw the cat, and the cat saw the {name}{' again' * (n % 5)}." for n, name in enumerate(NAMES_SEEN)]


@pytest.fixture(scope="module")
def minilm():
    return catalog.load("minilm")


@pytest.fixture
def texts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(corpus_survey, "PART", 2)
    path = tmp_path / "texts.txt"
    path.write_text("\n\n".join(TEXTS), encoding="utf-8")
    return path


def test_shards_merged_equal_one_run_and_a_killed_run_goes_on(minilm, texts, tmp_path):
    whole = corpus_survey.survey(minilm, corpus_survey.SurveyJob("minilm", (texts,)), tmp_path / "whole").statistics
    for shard in range(1, 5):
        corpus_survey.survey(minilm, corpus_survey.SurveyJob("minilm", (texts,), (shard, 4)), tmp_path / str(shard))
    merged = merge_folders([tmp_path / str(shard) for shard in range(1, 5)], tmp_path / "merged").statistics
    for field in FIELDS:
        exactly = field in ("rows", "texts", "row_squares")
        np.testing.assert_allclose(getattr(merged, field), getattr(whole, field), rtol=0, atol=0 if exactly else 1e-9)
    assert (merged.read, merged.tokens, merged.examples) == (whole.read, whole.tokens, whole.examples)
    assert len(whole.examples) == min(len(TEXTS), RESERVOIR)
    stopped = _killed_after(3, minilm, texts, tmp_path / "killed")
    assert stopped < len(TEXTS)
    corpus_survey.survey(minilm, corpus_survey.SurveyJob("minilm", (texts,)), tmp_path / "killed")
    for name in ("heads.parquet", "headvis/scatter_data.json"):
        assert (tmp_path / "killed" / name).read_bytes() == (tmp_path / "whole" / name).read_bytes()


def _killed_after(parts: int, model, texts: Path, folder: Path) -> int:
    def stop(stage: str, fraction: float | None) -> None:
        nonlocal parts
        parts -= 1
        if not parts:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        corpus_survey.survey(model, corpus_survey.SurveyJob("minilm", (texts,)), folder, stop)
    state = load(folder)
    assert state is not None
    return state.statistics.read


def test_the_table_has_one_row_a_head_and_measure_and_headvis_six_numbers(minilm, texts, tmp_path):
    state = corpus_survey.survey(minilm, corpus_survey.SurveyJob("minilm", (texts,)), tmp_path / "out")
    table = pq.read_table(tmp_path / "out" / "heads.parquet").to_pylist()
    # There is no second text, so nothing is measured between two.
    assert len(table) == 72 * (len(NAMES) - 1)
    row = next(row for row in table if (row["layer"], row["head"], row["measure"]) == (0, 2, "previous"))
    assert row["mean"] > 0.9
    assert row["low"] < row["mean"] < row["high"]
    assert row["texts"] == state.statistics.read == len(TEXTS)
    heads = json.loads((tmp_path / "out" / "headvis" / "scatter_data.json").read_text(encoding="utf-8"))
    assert len(heads) == 72
    assert len(heads[0]) == 8


def test_a_folder_of_another_survey_is_not_touched(minilm, texts, tmp_path):
    corpus_survey.survey(minilm, corpus_survey.SurveyJob("minilm", (texts,)), tmp_path / "out")
    before = (tmp_path / "out" / "state.npz").read_bytes()
    with pytest.raises(CorpusError, match="another model, corpus or shard"):
        corpus_survey.survey(minilm, corpus_survey.SurveyJob("minilm", (texts,), (1, 2)), tmp_path / "out")
    with pytest.raises(CorpusError, match="twice"):
        merge_folders([tmp_path / "out", tmp_path / "out"], tmp_path / "merged")
    with pytest.raises(CorpusError, match="no survey"):
        merge_folders([tmp_path / "nowhere"], tmp_path / "merged")
    corpus_survey.survey(minilm, corpus_survey.SurveyJob("minilm", (texts,), (1, 2)), tmp_path / "half")
    with pytest.raises(CorpusError, match="1/1, 1/2 have texts in common"):
        merge_folders([tmp_path / "out", tmp_path / "half"], tmp_path / "merged")
    assert (tmp_path / "out" / "state.npz").read_bytes() == before


@pytest.mark.gate
def test_claims_of_the_treebank_come_out_as_published_here(minilm, unchecked):
    looks = look(minilm, shipped("ewt")[:80], rivals=frozenset({"shuffled"}))
    tested, wrong, small = looks.test_each([parse("L2·H0: obj -> head"), parse("L9·H0: obj -> head"), parse("orphan -> head")])
    assert 0.6 < tested.overall < 0.8
    assert tested.holds
    assert tested.rival("shuffled") < 0.2
    assert isinstance(wrong, ClaimError)
    assert isinstance(small, ClaimError)
    with pytest.raises(ClaimError, match="winogender"):
        looks.test([parse("pronoun -> antecedent")])
    own = look(minilm, plain(["The cat sat.", "It ran."]), rivals=frozenset())
    with pytest.raises(ClaimError, match="syntax"):
        own.test([parse("obj -> head")])


def test_an_untrained_model_is_another_each_seed_and_the_same_for_one(minilm):
    first, again, other = (
        capabilities(minilm).untrained(seed).trace("The cat sat.").encoder.weights(1, 1) for seed in (1, 1, 2)
    )
    np.testing.assert_array_equal(first, again)
    assert np.abs(first - other).max() > 1e-4


@pytest.mark.gate
def test_an_atlas_is_read_as_it_was_written(minilm, unchecked):
    atlas = make(minilm, most=8)
    again = from_json(to_json(atlas))
    assert len(again.claims) == len(CLAIMS) + 1
    looks = look(minilm, shipped("ewt")[:8], rivals=frozenset({"untrained"}))
    for text in ("any -> previous", "det -> head"):
        at = next(at for at, facts in enumerate(atlas.claims) if facts.text == text)
        evidence = looks.evidence(parse(text))
        hits, queries = evidence.model.hits[1::2, :, :-1].sum(axis=0), evidence.model.queries[1::2].sum()
        np.testing.assert_allclose(atlas.rates[at], hits / queries)
        rivals = {rival.name.split()[0]: rival for rival, _ in compare_with_rivals(parse(text), evidence).rivals}
        facts = atlas.claims[at]
        assert (facts.queries, facts.chance, facts.untrained) == (queries, rivals["chance"].rate, rivals["untrained"].rate)
        assert rivals["offset"].name == f"offset {facts.offset:+d}"
        assert (facts.offset_rate, facts.place) == (rivals["offset"].rate, text == "any -> previous")
    np.testing.assert_allclose(atlas.histogram.sum(axis=2), 1)
    measured = merge(*(measure(minilm.trace(shipped("ewt")[at].text).encoder) for at in (0, 5)))
    # Weights of a batch are those of a text alone but for float32's rounding; a distance is a sum of as many as a row is long.
    longest = max(len(minilm.trace(shipped("ewt")[at].text).encoder.queries) for at in (0, 5))
    np.testing.assert_allclose(atlas.means, measured.means, rtol=longest * float(np.finfo(np.float32).eps), atol=1e-6)
    assert (atlas.sentences, atlas.command) == (8, "attnviz atlas minilm -o minilm.json --first 8")
    np.testing.assert_allclose(again.rates, atlas.rates, atol=5.1e-4)
    np.testing.assert_array_equal(again.supported, atlas.supported)
    assert again.examples == atlas.examples
    with pytest.raises(CorpusError, match="no atlas"):
        from_json("{}")


@pytest.mark.gate
def test_the_shell_tests_a_file_of_claims_into_one_table(tmp_path, capsys, unchecked):
    (tmp_path / "claims.txt").write_text(
        '# homework\nL0·H2: any -> previous\nobjj -> head\n\nany: "the" -> NOUN\n', encoding="utf-8"
    )
    assert (
        main(["claim", "minilm", "--file", str(tmp_path / "claims.txt"), "--first", "30", "-o", str(tmp_path / "out.csv")]) == 0
    )
    rows = list(csv.DictReader(io.StringIO((tmp_path / "out.csv").read_text(encoding="utf-8-sig"))))
    assert [row["verdict"] for row in rows] == ["holds", "cannot be tested", rows[2]["verdict"]]
    assert float(rows[0]["rate"]) > 0.95
    assert "write obj" in rows[1]["in words"]
    assert main(["claim", "minilm", "objj -> head"]) == 1
    assert "is no relation" in capsys.readouterr().err


def test_parts_that_come_in_groups_and_in_any_order_add_up_to_one_run(minilm, texts, tmp_path):
    from attnviz.survey import corpus_survey

    job, total = corpus_survey.SurveyJob("minilm", (texts,), shard=(2, 3)), None
    whole = corpus_survey.survey(minilm, job, tmp_path / "whole")
    parts, reader = list(job.parts()), corpus_survey.PartReader(job)
    assert reader.read(99, ()) is None
    for group in (parts[:2], parts[2:]):
        read = [each for part in reversed(group) if (each := reader.read(*part))]
        assert [from_bytes(data, "it").parts for _, data in read] == [1] * len(group)
        total = corpus_survey._added(total, read, job.shard)
    assert total is not None
    assert (total.parts, total.shards, total.corpus) == (whole.parts, whole.shards, whole.corpus)
    assert (total.model, total.kind) == (whole.model, whole.kind) == ("minilm", "encoder")
    for field in FIELDS:
        np.testing.assert_array_equal(getattr(total.statistics, field), getattr(whole.statistics, field))


@pytest.mark.gate
def test_on_ray_the_numbers_are_the_same(minilm, texts, tmp_path):
    ray = pytest.importorskip("ray", reason="Ray is an extra: attnviz[ray]")
    from attnviz.survey.corpus_survey import survey_on_ray

    job = corpus_survey.SurveyJob("minilm", (texts,))
    whole = corpus_survey.survey(minilm, job, tmp_path / "whole").statistics
    try:
        actual = survey_on_ray(job, tmp_path / "ray", "local", 1).statistics
    finally:
        ray.shutdown()
    for field in FIELDS:
        np.testing.assert_allclose(getattr(actual, field), getattr(whole, field), rtol=0, atol=1e-9)
    assert Prompt(TEXTS[0]).text in {text for _, text in actual.examples}
