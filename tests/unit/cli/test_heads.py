"""`attnviz claim` and `attnviz survey`, as they are typed: what they say while they work, and how they refuse."""

import gzip
import io
import socket
import sys
import time
from argparse import Namespace
from types import SimpleNamespace

import pytest

from attnviz.analysis.heads.atlas import AtlasExample
from attnviz.cli import heads, main
from attnviz.cli.progress_line import ProgressLine, progress_line
from attnviz.text.corpora import plain


def test_progress_says_at_once_what_is_done_and_then_no_more_than_one_line_in_ten_seconds(monkeypatch, capsys):
    line, clock = ProgressLine(), [100.0]
    monkeypatch.setattr(time, "monotonic", lambda: clock[0])
    for step in range(31):
        clock[0] = 100.0 + step
        line("minilm reads", step / 31)
    assert capsys.readouterr().err.splitlines() == [f"minilm reads {step / 31:.0%}" for step in (0, 10, 20, 30)]
    line("Loading", None)
    assert capsys.readouterr().err == "Loading\n"


def test_in_a_terminal_what_follows_progress_begins_a_line_of_its_own(monkeypatch, capsys):
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    line = ProgressLine()
    line("a long stage", 0.5)
    line("short", 0.75)
    line("Saved x.csv", None)
    line("last", 1.0)
    line("Done", None)
    assert capsys.readouterr().err == "\ra long stage  50%\rshort  75%       \nSaved x.csv\n\rlast 100%\nDone\n"
    progress_line("a stage", 0.5)
    assert main(["claim", "minilm", "no claim"]) == 1
    assert capsys.readouterr().err.startswith("\ra stage  50%\nattnviz: ")


@pytest.mark.gate
def test_a_claim_says_at_once_what_is_read(monkeypatch, capsys, unchecked):
    monkeypatch.setattr(progress_line, "_again", 0.0)
    assert main(["claim", "minilm", "any -> previous", "--first", "3"]) == 0
    assert "minilm reads 3 sentences 0%" in capsys.readouterr().err


def test_sentences_of_ours_are_those_that_a_page_shows_and_those_of_a_person_are_all_shown(unchecked):
    sentences = plain(["They hide a nuclear weapon.", "The cat sat."])
    report = SimpleNamespace(sentences=sentences, cases=tuple(AtlasExample(number, 1, 0, True) for number in range(2)))
    attention = SimpleNamespace(report=lambda tested, most: report)
    for text, first in (("ewt", "holds: cat → The"), ("mine.txt", "holds: hide → They")):
        lines = heads._examples(attention, None, Namespace(text=text, examples=3))
        assert lines[0].startswith(first)
        assert len(lines) == (1 if text == "ewt" else 2)


def test_a_head_that_is_not_there_is_told_before_a_sentence_is_read(capsys):
    assert main(["claim", "minilm", "L0·H12: any -> previous", "--first", "3"]) == 1
    said = capsys.readouterr().err
    assert "no head 12" in said
    assert "reads" not in said


def test_a_cluster_that_is_nowhere_is_said_within_seconds(tmp_path, capsys):
    pytest.importorskip("ray", reason="Ray is an extra: attnviz[ray]")
    (tmp_path / "texts.txt").write_text("The cat sat.\n", encoding="utf-8")
    with socket.create_server(("127.0.0.1", 0)) as closed:
        port = closed.getsockname()[1]
    begin = time.monotonic()
    for address in (f"127.0.0.1:{port}", f"ray://127.0.0.1:{port}", "127.0.0.1:99999"):
        command = ["survey", "minilm", "--text", str(tmp_path / "texts.txt"), "-o", str(tmp_path / "out"), "--ray", address]
        assert main(command) == 1
        said = capsys.readouterr().err
        assert said.startswith(f"Connecting to Ray at {address}\n")
        assert "There is no Ray cluster" in said
    assert time.monotonic() - begin < 9


@pytest.mark.parametrize(
    "command",
    [
        "claim minilm obj --first",
        "survey minilm --text x -o y --workers",
        "ablate minilm --data x --limit",
        "faithful minilm --data x --limit",
        "faithful minilm --data x --max-tokens",
    ],
)
@pytest.mark.parametrize("number", ["-1", "0", "1.5", "many", "9" * 19, "9" * 5000, "²", ""])
def test_a_number_that_is_none_is_refused(command, number, capsys):
    with pytest.raises(SystemExit, match="2"):
        main([*command.split(), number])
    assert "this is a number from 1 to" in capsys.readouterr().err or number == "-1"


@pytest.mark.parametrize(
    "command",
    [
        "ablate minilm --data",
        "faithful minilm --data",
        "claim minilm any->next --text",
        "claim minilm --file",
        "survey minilm -o out --text",
    ],
)
def test_a_file_that_is_cut_or_deep_is_one_sentence(command, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "cut.jsonl.gz").write_bytes(gzip.compress(b'{"text": "The cat sat."}\n' * 3)[:-9])
    assert main([*command.split(), "cut.jsonl.gz"]) == 1
    assert "cannot be read" in capsys.readouterr().err.splitlines()[-1]
    (tmp_path / "deep.jsonl").write_text("[" * 99_999, encoding="utf-8")
    if "data" in command:
        assert main([*command.split(), "deep.jsonl"]) == 1
        assert "Line 1 of deep.jsonl" in capsys.readouterr().err


def test_half_a_character_of_a_shell_is_no_traceback(monkeypatch, capsys, unchecked):
    out = io.TextIOWrapper(io.BytesIO(), encoding="utf-8")
    monkeypatch.setattr(sys, "stdout", out)
    assert main(["claim", "minilm", '"a\udcff" | any -> next', "--first", "2"]) in (0, 1)
    out.flush()
    assert "Traceback" not in capsys.readouterr().err


@pytest.mark.parametrize(
    "command",
    [
        "ablate minilm --data x",
        "faithful minilm --data x",
        "claim minilm any->next",
        "atlas minilm",
        "grade x",
        "train toy-copy",
    ],
)
@pytest.mark.parametrize("out", ["", ".", "/", "a folder"])
def test_a_file_to_write_without_a_name_is_refused_before_anything_is_computed(command, out, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "a folder").mkdir()
    with pytest.raises(SystemExit, match="2"):
        main([*command.split(), f"--out={out}"])
    assert "the path of a file" in capsys.readouterr().err


def test_what_has_no_end_is_no_lesson_and_a_file_is_no_folder_of_a_site(tmp_path, capsys):
    assert main(["lesson", "check", "/dev/zero"]) == 1
    assert "has more than 60 kB" in capsys.readouterr().out
    (tmp_path / "site").write_text("mine", encoding="utf-8")
    assert main(["site", "-o", str(tmp_path / "site")]) == 1
    assert "is a file: name a folder" in capsys.readouterr().err
