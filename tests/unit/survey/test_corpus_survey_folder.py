"""The folder of a survey is read as it was written; whatever else stands there is one sentence, and takes no memory or time."""

import io
import json
import os
import pickle
import zipfile
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from numpy.lib import format as npy
from scipy.stats import norm, sem

from attnviz.analysis.heads.measures import FIELDS, measure, merge
from attnviz.cli import main
from attnviz.core.errors import CorpusError
from attnviz.core.trace import AttentionMap, DenseWeights
from attnviz.figures.head_claims import measures_table
from attnviz.survey.corpus_survey import STATE, State, from_bytes, headvis, merge_folders, opened, rows, save, to_bytes
from tests.factories import make_map, numbered

STATISTICS = merge(*(measure(make_map(numbered(size)), "a café") for size in (5, 7)))
SURVEY = State("tiny-model", "encoder", "abc", ("2/3", "1/3"), 11, STATISTICS)


def test_a_survey_is_read_as_it_was_written():
    again = from_bytes(to_bytes(SURVEY), "it")
    assert (again.model, again.kind, again.corpus, again.shards, again.parts) == (
        "tiny-model",
        "encoder",
        "abc",
        ("2/3", "1/3"),
        11,
    )
    for field in FIELDS:
        np.testing.assert_array_equal(getattr(again.statistics, field), getattr(STATISTICS, field))
    assert (again.statistics.examples, again.statistics.read) == (STATISTICS.examples, 2)
    # As whoever opens the file without attnviz wants to read it.
    assert '"a café"' in str(np.load(io.BytesIO(members()["facts.npy"])))
    npy.write_array(file := io.BytesIO(), STATISTICS.sums, version=(2, 0))
    np.testing.assert_array_equal(
        from_bytes(archive(members() | {"sums.npy": file.getvalue()}), "it").statistics.sums, STATISTICS.sums
    )
    assert from_bytes(with_facts(parts=2**63 - 1, tokens=0), "it").parts == 2**63 - 1


def test_an_interval_is_that_of_a_normal_mean():
    low, high = STATISTICS.intervals
    known = STATISTICS.errors > 0
    assert known.any()
    np.testing.assert_allclose(norm.cdf((high - STATISTICS.means)[known] / STATISTICS.errors[known]), 0.975, atol=1e-6)
    np.testing.assert_allclose(high - STATISTICS.means, STATISTICS.means - low)


def test_the_error_of_a_mean_is_that_of_its_texts_and_one_text_tells_none():
    drawn = np.random.default_rng(3).dirichlet(np.ones(5), (4, 2, 3, 5))
    texts = [measure(AttentionMap("encoder", numbered(5), numbered(5), DenseWeights(tuple(each)))) for each in drawn]
    means = np.stack([each.means[0] for each in texts])
    np.testing.assert_allclose(merge(*texts).errors[0], sem(means), rtol=1e-5)
    assert np.isnan([texts[0].errors[0], *np.array(texts[0].intervals)[:, 0]]).all()


def test_a_layer_without_attention_is_left_out():
    attention = make_map(numbered(5))
    layers = [attention.layer_weights(layer) for layer in range(attention.n_layers)]
    layers[1] = np.zeros_like(layers[1])
    mixed = AttentionMap(attention.kind, attention.queries, attention.keys, DenseWeights(tuple(layers)))
    state = replace(SURVEY, statistics=measure(mixed, "a text"))
    assert state.statistics.attending.tolist() == [layer != 1 for layer in range(attention.n_layers)]
    assert set(rows(state)["layer"]) == {each["layer"] for each in headvis(state)} == {*range(attention.n_layers)} - {1}
    assert "not measured" in measures_table(state.statistics, 1, 0, chosen="self")


def archive(members: dict[str, bytes]) -> bytes:
    with zipfile.ZipFile(file := io.BytesIO(), "w", zipfile.ZIP_DEFLATED) as written:
        for name, content in members.items():
            written.writestr(name, content)
    return file.getvalue()


def members() -> dict[str, bytes]:
    with zipfile.ZipFile(io.BytesIO(to_bytes(SURVEY))) as file:
        return {name: file.read(name) for name in file.namelist()}


def with_array(field: str, change: Callable[[np.ndarray], np.ndarray]) -> bytes:
    npy.write_array(file := io.BytesIO(), change(np.array(getattr(STATISTICS, field))))
    return archive(members() | {f"{field}.npy": file.getvalue()})


def with_shape(field: str, *shape: int) -> bytes:
    npy.write_array_header_1_0(file := io.BytesIO(), {"descr": "<f8", "fortran_order": False, "shape": shape})
    return archive(members() | {f"{field}.npy": file.getvalue() + bytes(56)})


def with_facts(**facts: object) -> bytes:
    known = json.loads(str(np.load(io.BytesIO(members()["facts.npy"])))) | facts
    npy.write_array(file := io.BytesIO(), np.array(json.dumps(known)))
    return archive(members() | {"facts.npy": file.getvalue()})


def first_is(value: float) -> Callable[[np.ndarray], np.ndarray]:
    return lambda array: np.concatenate([[value], array.ravel()[1:]]).reshape(array.shape)


def encrypted() -> bytes:
    data = bytearray(archive(members()))
    for at in range(len(data)):  # the flag of a password, in every local and central header
        for sign, offset in ((b"PK\x03\x04", 6), (b"PK\x01\x02", 8)):
            if data.startswith(sign, at):
                data[at + offset] |= 1
    return bytes(data)


def deep() -> bytes:
    npy.write_array(file := io.BytesIO(), np.array("[" * 9999))
    return archive(members() | {"facts.npy": file.getvalue()})


FORGED = {
    "many rows": lambda: with_shape("histogram", 10**13, 3, 41),
    "no rows of many": lambda: with_shape("histogram", 10**7, 10**7, 0),
    "flat": lambda: with_shape("sums", 7),
    "heads of a larger model": lambda: with_array("sums", lambda array: np.concatenate([array, array], axis=2)),
    "longer than it says": lambda: archive(members() | {"sums.npy": members()["sums.npy"] + bytes(8)}),
    "negative size": lambda: with_shape("sums", -7),
    "inflated": lambda: archive(members() | {"more.npy": bytes(131 * 2**20)}),
    "not a number": lambda: with_array("sums", first_is(float("nan"))),
    "endless": lambda: with_array("squares", first_is(float("inf"))),
    "too large": lambda: with_array("sums", first_is(-1e200)),
    "just too large": lambda: with_array("sums", first_is(1e100)),
    "fewer than none": lambda: with_array("rows", first_is(-5.0)),
    "half a text": lambda: with_array("texts", first_is(1.5)),
    "other numbers": lambda: with_array("histogram", lambda array: array.astype(np.float32)),
    "objects": lambda: with_array("histogram", lambda array: array.astype(object)),
    "read before it began": lambda: with_facts(read=-1),
    "more than numbers go": lambda: with_facts(parts=2**63),
    "half a part": lambda: with_facts(parts=1.5),
    "endless tokens": lambda: with_facts(tokens=float("inf")),
    "measured otherwise": lambda: with_facts(measures=["a"]),
    "no facts": lambda: with_facts(examples=[[]]),
    "deep": deep,
    "encrypted": encrypted,
    "empty": lambda: b"",
    "cut": lambda: to_bytes(SURVEY)[:-200],
}  # fmt: skip


@pytest.mark.parametrize("name", FORGED)
def test_what_was_forged_is_one_sentence(name, tmp_path, capsys):
    (tmp_path / STATE).write_bytes(FORGED[name]())
    with pytest.raises(CorpusError, match="holds no survey of this version") as raised:
        opened(tmp_path)
    assert str(raised.value).count(".") - str(raised.value).count(STATE) == 1 + str(tmp_path).count(".")
    assert main(["survey", "--merge", str(tmp_path), "-o", str(tmp_path / "out")]) == 1
    assert capsys.readouterr().err.count("\n") == 1


def test_no_code_of_a_file_is_run(tmp_path):
    class Touch:
        def __reduce__(self):
            return Path.touch, (tmp_path / "touched",)

    code = pickle.dumps(Touch())
    code += bytes(-len(code) % 8)
    npy.write_array_header_1_0(file := io.BytesIO(), {"descr": "|O", "fortran_order": False, "shape": (len(code) // 8,)})
    with pytest.raises(CorpusError, match="holds no survey of this version"):
        from_bytes(archive(members() | {"sums.npy": file.getvalue() + code}), "it")
    assert not (tmp_path / "touched").exists()


def test_what_is_no_file_is_not_waited_for(tmp_path, capsys):
    os.mkfifo(tmp_path / STATE)
    with pytest.raises(CorpusError, match="is no file"):
        opened(tmp_path)
    (tmp_path / "texts.txt").write_text("The cat sat.\n", encoding="utf-8")
    assert main(["survey", "minilm", "--text", str(tmp_path / "texts.txt"), "-o", str(tmp_path)]) == 1
    assert "is no file" in capsys.readouterr().err


def test_a_folder_that_is_too_large_is_not_read(tmp_path):
    save(tmp_path, SURVEY)
    with (tmp_path / STATE).open("ab") as file:
        file.truncate(2**28)
    with pytest.raises(CorpusError, match="a survey of more than 128 MB: read its heads"):
        opened(tmp_path)


@pytest.mark.parametrize("shard", ["1/99999999999999999999999", "0/3", "4/3", "1", "a/b", "1/" + "9" * 5000, "-1/2", "1/2/3"])
def test_a_shard_that_is_none_is_one_sentence(shard, tmp_path, capsys):
    (tmp_path / "texts.txt").write_text("The cat sat.\n", encoding="utf-8")
    command = ["survey", "minilm", "--text", str(tmp_path / "texts.txt"), "-o", str(tmp_path / "out"), f"--shard={shard}"]
    assert main(command) == 1
    assert "write K/N" in capsys.readouterr().err
    assert not (tmp_path / "out").exists()


def test_the_table_has_what_the_rows_of_all_texts_have_in_common():
    table = rows(SURVEY)
    weights = [make_map(numbered(size)).weights(1, 2).diagonal() for size in (5, 7)]
    row = [*zip(table["measure"], table["layer"], table["head"], strict=True)].index(("self", 1, 2))
    values, means = np.concatenate(weights), [each.mean() for each in weights]
    assert table["mean"][row] == pytest.approx(values.mean())
    assert table["standard_deviation"][row] == pytest.approx(values.std())
    assert (table["rows"][row], table["texts"][row]) == (12, 2)
    residuals = [size * (mean - values.mean()) for size, mean in zip((5, 7), means, strict=True)]
    assert table["standard_error"][row] == pytest.approx(np.linalg.norm(residuals) * np.sqrt(2) / 12)
    assert table["low"][row] < table["mean"][row] < table["high"][row]
    assert len({(row["layer"], row["head"]) for row in headvis(SURVEY)}) == 6
    assert headvis(SURVEY)[5]["self_score"] == pytest.approx(values.mean())


def test_shards_of_one_survey_are_added_up_in_their_order(tmp_path):
    other = replace(SURVEY, shards=("3/3",), parts=2)
    for name, state in (("a", SURVEY), ("b", other), ("c", replace(other, model="another"))):
        save(tmp_path / "deep" / name, state)
    whole = merge_folders([tmp_path / "deep" / name for name in "ab"], tmp_path / "whole")
    assert (whole.model, whole.kind, whole.corpus) == (SURVEY.model, SURVEY.kind, SURVEY.corpus)
    assert (whole.shards, whole.parts) == (("1/3", "2/3", "3/3"), 13)
    np.testing.assert_allclose(whole.statistics.sums, 2 * STATISTICS.sums)
    alone = merge_folders([tmp_path / "deep" / "a"], tmp_path / "alone")
    assert (alone.shards, alone.parts, alone.statistics.read) == (("1/3", "2/3"), 11, 2)
    again = opened(tmp_path / "whole")
    assert (again.shards, again.parts, again.statistics.read) == (whole.shards, whole.parts, 4)
    assert json.loads((tmp_path / "whole" / "headvis" / "scatter_data.json").read_text()) == headvis(whole)
    for names, says in (("ac", "not of one model"), ("aa", "twice"), ("ad", "d holds no survey")):
        with pytest.raises(CorpusError, match=says):
            merge_folders([tmp_path / "deep" / name for name in names], tmp_path / "out")
    with pytest.raises(CorpusError, match="whole holds a survey of another model"):
        merge_folders([tmp_path / "deep" / "c"], tmp_path / "whole")
    assert opened(tmp_path / "whole").model == SURVEY.model
    for folder, says in (("nowhere", "There is no folder"), ("deep", "deep holds no survey"), ("d" * 300, "cannot be read")):
        with pytest.raises(CorpusError, match=says):
            opened(tmp_path / folder)
