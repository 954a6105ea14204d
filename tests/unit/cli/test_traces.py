"""Traces in a shell: through files and pipes, for people and for programs."""

import csv
import io
import json
import os
import shlex
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import attnviz
from attnviz import cli
from attnviz.models import catalog
from attnviz.models.base import AttentionModel
from tests import tiny

TEXT = "The cat sat on the unbelievable mat. 😀"
ATTNVIZ = [sys.executable, "-m", "attnviz"]
IN_SHELL = shlex.join(ATTNVIZ)


@pytest.fixture(scope="module")
def minilm() -> AttentionModel:
    return attnviz.load("minilm")


@pytest.fixture
def file(tmp_path: Path, minilm: AttentionModel) -> Path:
    return attnviz.save(minilm.trace(TEXT), tmp_path / "x.attn", exact=True)


def feed(monkeypatch: pytest.MonkeyPatch, data: bytes) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(data)))


@pytest.mark.gate
def test_a_pipe_from_a_text_to_what_is_in_its_trace() -> None:
    """As a person types it: `attnviz trace dot-lstm-en-fr … | attnviz show -`."""
    environment = {**os.environ, "HF_HUB_OFFLINE": "1"}
    trace = subprocess.Popen(
        [*ATTNVIZ, "trace", "dot-lstm-en-fr", TEXT], stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment
    )
    shown = subprocess.run(
        [*ATTNVIZ, "show", "-", "--json"], stdin=trace.stdout, capture_output=True, env=environment, check=True
    )
    _, progress = trace.communicate()
    assert trace.returncode == 0
    summary = json.loads(shown.stdout)
    assert summary["prompt"] == {"text": TEXT}
    assert (summary["maps"]["cross"]["layers"], summary["maps"]["cross"]["heads"]) == (1, 1)
    assert "mat" in summary["maps"]["cross"]["keys"]
    assert b"Loading dot-lstm-en-fr" in progress
    assert shown.stderr == b""


def test_a_home_folder_that_cannot_be_written_is_no_news(tmp_path: Path, file: Path) -> None:
    environment = {name: text for name, text in os.environ.items() if name not in ("MPLCONFIGDIR", "XDG_CONFIG_HOME")}
    done = subprocess.run(
        [*ATTNVIZ, "show", str(file), "-o", str(tmp_path / "x.png"), "--layer", "3", "--head", "1"],
        capture_output=True, check=True, env={**environment, "HOME": os.devnull},
    )  # fmt: skip
    assert done.stderr == b""


def test_a_trace_is_saved_exactly_and_told(tmp_path: Path, capsys: pytest.CaptureFixture[str], minilm: AttentionModel) -> None:
    path = tmp_path / "x.attn"
    assert cli.main(["trace", "minilm", TEXT, "--pair", "Another.", "-o", str(path), "--exact", "--json"]) == 0
    said = capsys.readouterr()
    opened, want = attnviz.open(path), minilm.trace(attnviz.Prompt(TEXT, pair="Another."))
    np.testing.assert_array_equal(opened.encoder.weights(3, 1), want.encoder.weights(3, 1))
    summary = json.loads(said.out)
    assert summary["prompt"] == {"text": TEXT, "pair": "Another."}
    assert summary["versions"] == dict(opened.versions)
    assert f"Saved {path}" in said.err


@pytest.mark.parametrize(
    ("model", "options"),
    [("minilm", ["--question", "--target"]), ("dot-lstm-en-fr", ["--pair"]), ("summarize-en", ["--question"])],
)
def test_what_a_model_does_not_read_is_refused(
    model: str, options: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "x.attn"
    given = [each for option in options for each in (option, "Who?")]
    assert cli.main(["trace", model, TEXT, *given, "-o", str(path)]) == 1
    assert f"{model} does not read {' and '.join(options)}: run it without" in capsys.readouterr().err
    assert not path.exists()


def test_the_language_that_is_written_is_chosen_and_kept(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    make, kind, config, source = tiny.MBART_50
    folder, path = tmp_path / "mbart", tmp_path / "x.attn"
    tokenizer = tiny.of_many_languages(make, source, None)
    tiny.of_so_many_pieces(kind, config, tokenizer).save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    asked = ["trace", str(folder), "the cat sat", "--target", "a dog", "-o", str(path), "--json"]
    assert cli.main([*asked, "--language", "de_DE"]) == 0
    assert json.loads(capsys.readouterr().out)["prompt"]["language"] == "de_DE"
    trace = attnviz.open(path)
    assert (trace.prompt.language, trace.cross.queries[1].text) == ("de_DE", "de_DE")
    assert cli.main([*asked, "--language", "German"]) == 1
    assert "does not write 'German': choose one of its 52 languages, such as" in capsys.readouterr().err


def test_a_text_comes_from_stdin(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    path = str(tmp_path / "x.attn")
    # PowerShell begins what it sends with a mark.
    for arguments, encoding in ((["minilm"], "utf-8"), (["minilm", "-"], "utf-8-sig")):
        feed(monkeypatch, TEXT.encode(encoding) + b"\r\n")
        assert cli.main(["trace", *arguments, "-o", path]) == 0
        assert attnviz.open(path).prompt.text == TEXT
    for data, message in ((b"\xff\xfe", "no text in UTF-8"), (b"", "nothing to read")):
        feed(monkeypatch, data)
        assert cli.main(["trace", "minilm", "-o", path]) == 1
        assert message in capsys.readouterr().err


def test_a_trace_is_shown_as_a_picture_and_as_tables(file: Path, tmp_path: Path, minilm: AttentionModel) -> None:
    attention = minilm.trace(TEXT).encoder
    out = tmp_path / "x"
    assert cli.main(["show", str(file), "-o", f"{out}.svg", "--layer", "3", "--head", "1"]) == 0
    assert "L3·H1 of minilm" in Path(f"{out}.svg").read_text(encoding="utf-8")
    assert cli.main(["show", str(file), "-o", f"{out}.PNG"]) == 0
    assert Path(f"{out}.PNG").read_bytes().startswith(b"\x89PNG")
    assert cli.main(["show", str(file), "-o", f"{out}.html"]) == 0
    assert Path(f"{out}.html").read_text(encoding="utf-8").startswith("<!doctype html>")
    assert cli.main(["show", str(file), "-o", f"{out}.npz", "--layer", "2"]) == 0
    np.testing.assert_array_equal(np.load(f"{out}.npz")["weights"], attention.layer_weights(2))
    assert cli.main(["show", str(file), "-o", f"{out}.csv", "--head", "1"]) == 0
    rows = list(csv.DictReader(io.StringIO(Path(f"{out}.csv").read_text(encoding="utf-8-sig"))))
    assert {row["layer"] for row in rows} == set("012345")
    assert np.float32(rows[1]["weight"]) == attention.weights(0, 1)[0, 1]


def test_words_are_merged_and_special_tokens_left_out(file: Path, capfdbinary: pytest.CaptureFixture[bytes]) -> None:
    assert cli.main(["show", str(file), "--format", "json", "--layer", "0", "--head", "0", "--words", "--hide-special"]) == 0
    summary = json.loads(capfdbinary.readouterr().out)
    assert "unbelievable" in [token["text"] for token in summary["keys"]]
    assert "[CLS]" not in [token["text"] for token in summary["keys"]]


def test_what_is_in_a_trace_is_told_in_a_few_lines(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["show", str(file)]) == 0
    lines = dict(line.split(maxsplit=1) for line in capsys.readouterr().out.splitlines())
    assert (lines["model"], lines["text"]) == ("minilm", TEXT)
    assert lines["encoder"].startswith("6 layers of 12 heads")
    assert "torch" in lines["versions"]


def test_models_are_listed_and_told_about(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["models"]) == 0
    assert set(catalog.available()) <= set(capsys.readouterr().out.split())
    assert cli.main(["models", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["attnviz"] == list(catalog.available())
    assert cli.main(["models", "minilm"]) == 0
    assert "Apache-2.0" in capsys.readouterr().out
    assert cli.main(["models", "minilm", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["n_layers"] == 6


@pytest.mark.parametrize(("arguments", "message"), [
    (["show", "none.attn"], "There is no file none.attn"), (["show", "{file}", "-o", "x.eps"], "ends in .svg"),
    (["show", "{file}", "-o", "x"], "or say --format"), (["show", "{file}", "-o", "x.svg", "--head", "12"], "no head 12"),
    (["show", "{file}", "-o", "x.svg", "--kind", "cross"], "no cross attention"),
    (["show", "{file}", "-o", "no/folder/x.svg"], "cannot be written"), (["trace", "minilmm", "a", "-o", "x"], "mean minilm"),
    (["models", "minilmm"], "mean minilm"),
    (["trace", "minilm", "a", "-o", "cat.svg"], "say -o cat.attn, and then attnviz show cat.attn -o cat.svg"),
    (["write", "smollm2", "a", "-o", "a/story.PNG"], "A trace is no .PNG file: say -o a/story.attn"),
    (["trace", "minilm", "a", "-o", "none/x.attn"], "There is no folder none, so none/x.attn cannot be written"),
    (["write", "nosuchmodel", "a", "-o", "."], ". is a folder"),
    (["claim", "minilm", "any: det -> head", "-o", "none/x.csv"], "There is no folder none, so none/x.csv cannot be written"),
    (["trace", "minilm", "a", "-o", "-", "--json"], "both write to stdout"),
    (["patch", "smollm2", "a", "b", "-o", "x.npz"], "not written as 'npz': choose svg"),
    (["show", "{file}", "--layer", "0", "--words"], "which --layer and --words would choose: say where that goes"),
    (["show", "{file}", "--next", "--head", "0", "-o", "x.svg"], "which --head would choose: leave out --next"),
    (["show", "{file}", "--json", "-o", "x.svg"], "no picture or table is written then: leave one of them out"),
])  # fmt: skip
def test_a_failure_is_one_line_and_exit_code_1(
    file: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, arguments: list[str], message: str
) -> None:
    monkeypatch.chdir(file.parent)
    assert cli.main([argument.format(file=file) for argument in arguments]) == 1
    said = capsys.readouterr()
    assert said.out == ""
    assert message in said.err
    *progress, error = said.err.splitlines()
    assert error.startswith("attnviz: ")
    assert progress in ([], ["Looking up minilmm"])


@pytest.mark.parametrize("arguments", [["show"], ["trace"], ["show", "x", "--format", "eps"], ["show", "x", "--layer", "one"]])
def test_what_is_not_understood_is_exit_code_2(arguments: list[str]) -> None:
    with pytest.raises(SystemExit, match="2"):
        cli.main(arguments)


@pytest.mark.parametrize("command", ["trace", "show", "models"])
def test_help_has_examples_and_exit_codes(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit, match="0"):
        cli.main([command, "--help"])
    said = capsys.readouterr().out
    assert f"  attnviz {command} " in said or f"  attnviz {command}\n" in said
    assert "exit codes" in said


@pytest.mark.gate
def test_a_reader_that_has_enough_ends_it_quietly(file: Path) -> None:
    script = f"{IN_SHELL} show {shlex.quote(str(file))} -o - --format csv | head -n 1"
    done = subprocess.run(["bash", "-o", "pipefail", "-c", script], capture_output=True, text=True, check=False)
    assert done.stdout.startswith("\ufefflayer,head")
    assert "Traceback" not in done.stderr
    assert "Exception" not in done.stderr


def test_it_is_told_where_a_text_was_cut(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text, path = "a cat sat " * 308, str(tmp_path / "x.attn")
    assert cli.main(["trace", "minilm", text, "-o", path, "--json"]) == 0
    said, trace = capsys.readouterr(), attnviz.open(path)
    assert trace.is_cut
    assert trace.cut is not None
    sentence = f"the text was cut after character {trace.cut:,} of {len(text):,}"
    assert f"warning: minilm read only the beginning: {sentence}" in said.err
    assert (json.loads(said.out)["cut"], json.loads(said.out)["cut_pair"]) == (trace.cut, None)
    assert cli.main(["show", path]) == 0
    assert sentence in dict(line.split(maxsplit=1) for line in capsys.readouterr().out.splitlines())["cut"]
    assert cli.main(["show", path, "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["cut"] == trace.cut
    assert ", cut;" in repr(trace)


def test_nothing_is_told_of_a_text_that_was_read_whole(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = str(tmp_path / "x.attn")
    assert cli.main(["trace", "minilm", TEXT, "-o", path, "--json"]) == 0
    said = capsys.readouterr()
    assert "warning" not in said.err
    assert json.loads(said.out)["cut"] is None
    assert cli.main(["show", path]) == 0
    assert "\ncut" not in capsys.readouterr().out


@pytest.mark.gate
def test_stdout_that_is_full_or_closed_is_one_line() -> None:
    for redirected, said in ((">/dev/full", "written (No space left on device): stdout"), (">&-", "written: stdout is closed")):
        script = f"{IN_SHELL} models {redirected}"
        done = subprocess.run(["bash", "-c", script], capture_output=True, text=True, check=False)
        assert (done.returncode, done.stderr.count("\n")) == (1, 1), done.stderr
        assert f"The output cannot be {said}" in done.stderr
    # What stdout is not needed for is done; a closed stderr keeps warnings to itself, and a closed stdin is told.
    script = f"{IN_SHELL} models 2>&- | head -c 4; {IN_SHELL} trace minilm <&- >/dev/null"
    done = subprocess.run(["bash", "-c", script], capture_output=True, text=True, check=False)
    assert done.stdout == "They"
    assert done.stderr.splitlines()[-1].startswith("attnviz: There is no text, and stdin is closed")
    assert "Traceback" not in done.stderr
