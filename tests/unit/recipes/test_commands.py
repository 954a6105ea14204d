"""`attnviz train` and `attnviz evaluate`, as they are typed."""

import subprocess
import sys
from pathlib import Path

import pytest

from attnviz import cli
from recipes import commands


@pytest.fixture
def called(monkeypatch):
    """What the commands would have done."""
    calls: list[tuple] = []
    monkeypatch.setattr(commands, "train", lambda *a, **k: calls.append(("train", *a, k["out"], k["epochs"])))
    monkeypatch.setattr(commands, "evaluate", lambda *a, **k: calls.append(("evaluate", *a, k["save"], k["control"])))
    return calls


def test_what_is_typed_is_what_is_done(called, tmp_path):
    runs = tmp_path / "runs"
    assert cli.main(["train", "x", "--data", str(tmp_path), "--runs", str(runs), "--epochs", "3"]) == 0
    assert cli.main(["train", "x", "--data", str(tmp_path), "--out", str(runs)]) == 0
    assert cli.main(["evaluate", "x", "--data", str(tmp_path), "--save"]) == 0
    assert cli.main(["evaluate", "x", "--data", str(tmp_path), "--control", str(runs)]) == 0
    assert called == [
        ("train", "x", tmp_path, runs, None, 3),
        ("train", "x", tmp_path, Path("runs"), runs, None),
        ("evaluate", "x", tmp_path, True, None),
        ("evaluate", "x", tmp_path, False, runs),
    ]


@pytest.mark.parametrize("arguments", [["train", "x"], ["evaluate", "x"], ["train", "--data", "x"]])
def test_what_is_missing_is_named(arguments, capsys):
    with pytest.raises(SystemExit, match="2"):
        cli.main(arguments)
    assert "required" in capsys.readouterr().err


def test_an_unknown_name_is_one_line(capsys, tmp_path):
    assert cli.main(["train", "bahdano-en-fr", "--data", str(tmp_path)]) == 1
    assert capsys.readouterr().err == "attnviz: there is no recipe 'bahdano-en-fr'; did you mean bahdanau-en-fr?\n"


def test_data_that_are_not_there_are_one_line(capsys, tmp_path):
    arguments = ["train", "bahdanau-en-fr", "--data", str(tmp_path), "--runs", str(tmp_path / "runs")]
    assert cli.main(arguments) == 1
    assert "there is no tatoeba-en-fr.train.tsv.gz" in capsys.readouterr().err


@pytest.mark.parametrize("arguments", [["--help"], ["train", "--help"]])
def test_help_waits_for_no_heavy_package(arguments):
    script = (
        "import sys\nfrom attnviz import cli\n"
        f"try:\n    cli.main({arguments})\nexcept SystemExit:\n    pass\n"
        "print('heavy:', *sorted({'torch', 'streamlit', 'transformers', 'tokenizers', 'sacrebleu'} & set(sys.modules)))"
    )
    shown = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True).stdout
    assert "train" in shown
    assert shown.rstrip().endswith("heavy:")
