"""A journal holds what was measured: whole lines of finite numbers, of this run's settings, written by one process."""

import json
import os
from pathlib import Path

import pytest

from attnviz.core.errors import AttnvizError
from attnviz.core.journal import Journal, digest, exclusive, model_facts

HEADER = {"model": "mine", "data": digest(["a", "b"])}


def opened(path: Path, header: dict = HEADER, said: list[str] | None = None) -> Journal:
    return Journal(path, header, [].append if said is None else said.append)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    path = tmp_path / "out.csv.jsonl"
    with opened(path) as journal:
        assert journal.note("a", 1, [0.5])
        assert journal.note("b", 2, [0.25])
    return path


def test_a_run_goes_on_with_what_was_noted_and_a_torn_last_line_is_dropped(path):
    whole = path.read_bytes()
    path.write_bytes(whole[:-9])
    with opened(path) as journal:
        assert journal.done == {"a": [1, [0.5]]}
        journal.note("b", 2, [0.25])
    assert path.read_bytes() == whole


def test_each_record_is_in_the_file_as_soon_as_it_is_noted(path):
    with opened(path) as journal:
        journal.note("c", 3)
        assert json.loads(path.read_text(encoding="utf-8").splitlines()[-1]) == ["c", 3]


@pytest.mark.parametrize("other", [{**HEADER, "model": "yours"}, {**HEADER, "data": digest(["a", "c"])}, {"model": "mine"}])
def test_a_run_with_other_settings_begins_anew_and_says_so(path, other):
    said: list[str] = []
    with opened(path, other, said) as journal:
        assert journal.done == {}
    assert path.read_text(encoding="utf-8").splitlines() == [json.dumps(other)]
    assert "everything is measured anew" in said[0]


def test_a_header_that_was_torn_is_written_again(path):
    path.write_bytes(path.read_bytes()[:11])
    with opened(path) as journal:
        assert journal.done == {}
    assert json.loads(path.read_text(encoding="utf-8")) == HEADER


@pytest.mark.parametrize("mine", ["[1, 2]\n", "a line without an end", '{"text": "mine"}'])
def test_another_file_is_not_written_over(tmp_path, mine):
    (tmp_path / "mine.jsonl").write_text(mine, encoding="utf-8")
    with pytest.raises(AttnvizError, match="no journal of attnviz"), opened(tmp_path / "mine.jsonl"):
        pass
    assert (tmp_path / "mine.jsonl").read_text(encoding="utf-8") == mine


def test_a_pipe_is_no_journal(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(AttnvizError, match="no journal of attnviz"), opened(tmp_path / "pipe"):
        pass


@pytest.mark.parametrize(
    "line",
    [
        '["c", 1, [1e999]]',
        '["c", 1, [-1e400]]',
        '[["c"], 1]',
        '[{"c": 2}, 1]',
        "[]",
        '["c"]',
        '["c", 1]',
        '["c", 1, "half"]',
        "[" * 9999,
        '["c", 1, [' + "9" * 5000 + "]]",
    ],
)
def test_a_record_that_no_run_can_have_written_is_measured_again(path, line):
    with path.open("a", encoding="utf-8") as file:
        file.write(line + "\n")
    with Journal(path, HEADER, [].append, lambda count, scores: count > 0 and len(scores) == 1) as journal:
        assert sorted(journal.done) == ["a", "b"]


def test_a_folder_whose_files_changed_is_another_model(tmp_path):
    (tmp_path / "model.safetensors").write_bytes(b"weights")
    os.utime(tmp_path / "model.safetensors", ns=(11, 11))
    first = model_facts(str(tmp_path), "")
    assert model_facts(str(tmp_path), "") == first
    os.utime(tmp_path / "model.safetensors", ns=(11, 13))
    assert model_facts(str(tmp_path), "") != first
    assert model_facts(str(tmp_path), "1a2b")["revision"] == "1a2b"


@pytest.mark.parametrize("number", [float("nan"), float("inf"), -float("inf")])
def test_a_number_that_is_not_finite_is_neither_written_nor_read(path, number):
    whole = path.read_bytes()
    with opened(path) as journal:
        assert not journal.note("c", 1, [number])
    assert path.read_bytes() == whole
    path.write_bytes(whole + json.dumps(["c", 1, [number]]).encode() + b"\n[" * 9)
    with opened(path) as journal:
        assert sorted(journal.done) == ["a", "b"]


def test_a_second_run_is_refused_while_the_first_is_writing(path, tmp_path):
    with opened(path), pytest.raises(AttnvizError, match="Another run is writing"), opened(path):
        pass
    with exclusive(tmp_path), pytest.raises(AttnvizError, match="Another run is writing"), exclusive(tmp_path):
        pass
    with opened(path) as journal:
        assert sorted(journal.done) == ["a", "b"]


def test_a_full_disk_is_said_of_the_journal(path):
    full = pytest.raises(OSError, match="No space left on device")
    with opened(path) as journal, open("/dev/full", "wb", buffering=0) as journal._file, full as error:
        journal.note("c", 1, [0.5])
    assert error.value.filename == str(path)
