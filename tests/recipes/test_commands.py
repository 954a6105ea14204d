"""`python -m recipes`, as it is typed."""

import csv
import gzip
import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from attnviz.analysis.whatif_comparison import mean_interval
from attnviz.cli.faithful import COLUMNS
from attnviz.settings import assets_folder
from recipes import commands
from recipes.__main__ import main
from recipes.translate.card import translator_card


@pytest.fixture
def called(monkeypatch):
    """What the commands would have done."""
    calls: list[tuple] = []
    monkeypatch.setattr(commands, "train", lambda *a, **k: calls.append(("train", *a, k["out"], k["epochs"])))
    monkeypatch.setattr(commands, "evaluate", lambda *a, **k: calls.append(("evaluate", *a, k["save"], k["control"])))
    return calls


def test_what_is_typed_is_what_is_done(called, tmp_path):
    runs = tmp_path / "runs"
    assert main(["x", "--data", str(tmp_path), "--runs", str(runs), "--epochs", "3"]) == 0
    assert main(["x", "--data", str(tmp_path), "--out", str(runs)]) == 0
    assert main(["evaluate", "x", "--data", str(tmp_path), "--save"]) == 0
    assert main(["evaluate", "x", "--data", str(tmp_path), "--control", str(runs)]) == 0
    assert called == [
        ("train", "x", tmp_path, runs, None, 3),
        ("train", "x", tmp_path, Path("runs"), runs, None),
        ("evaluate", "x", tmp_path, True, None),
        ("evaluate", "x", tmp_path, False, runs),
    ]


@pytest.mark.parametrize(
    "arguments", [["x"], ["train", "x"], ["evaluate", "x"], ["pack", "x"], ["faithful", "x", "--data", "y"], ["--data", "x"]]
)
def test_what_is_missing_is_named(arguments, capsys):
    with pytest.raises(SystemExit, match="2"):
        main(arguments)
    assert "required" in capsys.readouterr().err


def test_an_unknown_name_is_one_line(capsys, tmp_path):
    assert main(["bahdano-en-fr", "--data", str(tmp_path)]) == 1
    assert capsys.readouterr().err == "python -m recipes: there is no recipe 'bahdano-en-fr'; did you mean bahdanau-en-fr?\n"


def test_data_that_are_not_there_are_one_line(capsys, tmp_path):
    arguments = ["bahdanau-en-fr", "--data", str(tmp_path), "--runs", str(tmp_path / "runs")]
    assert main(arguments) == 1
    assert "there is no tatoeba-en-fr.train.tsv.gz" in capsys.readouterr().err


@pytest.mark.parametrize(
    "content",
    [b"He sat.\tIl.\n", gzip.compress(b"He sat.\tIl.\n" * 99)[:-9], gzip.compress(b"\xff")],
    ids=["plain", "cut short", "Latin-1"],
)
def test_data_that_are_damaged_are_one_line(content, capsys, tmp_path):
    (tmp_path / "tatoeba-en-fr.train.tsv.gz").write_bytes(content)
    assert main(["bahdanau-en-fr", "--data", str(tmp_path), "--runs", str(tmp_path / "runs")]) == 1
    assert "is no whole file of text that gzip packed" in capsys.readouterr().err


@pytest.mark.parametrize(("program", "arguments"), [
    ("attnviz.cli", ["--help"]), ("attnviz.cli", ["train", "--help"]),
    ("recipes.__main__", ["--help"]), ("recipes.__main__", ["train", "--help"]),
])  # fmt: skip
def test_help_waits_for_no_heavy_package(program, arguments):
    script = (
        f"import sys\nfrom {program} import main\n"
        f"try:\n    main({arguments})\nexcept SystemExit:\n    pass\n"
        "print('heavy:', *sorted({'torch', 'streamlit', 'transformers', 'tokenizers', 'sacrebleu'} & set(sys.modules)))"
    )
    shown = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True).stdout
    assert "train" in shown
    assert shown.rstrip().endswith("heavy:")


def test_what_was_measured_stands_on_the_card(tmp_path, capsys):
    folder, table = tmp_path / "dot-lstm-en-fr", tmp_path / "out.csv"
    shutil.copytree(assets_folder() / "models" / folder.name, folder)
    before = json.loads((folder / "metrics.json").read_text(encoding="utf-8"))
    rows = [(0, 7, way, worth, 0.125, tau, 3.0) for way, worth, tau in (("gradient-norm", 0.25, 0.5), ("random", 0.125, ""))]
    rows += [(1, 5, way, worth, 0.25, tau, 3.0) for way, worth, tau in (("gradient-norm", 0.75, 0.5), ("random", 0.125, ""))]
    with table.open("w", newline="", encoding="utf-8-sig") as file:
        csv.writer(file).writerows([COLUMNS, *rows])
    assert main(["faithful", str(folder), str(table), "--data", str(tmp_path / "pairs.tsv")]) == 0
    metrics, config = (json.loads((folder / name).read_text(encoding="utf-8")) for name in ("metrics.json", "config.json"))
    kept = metrics.pop("faithfulness")
    assert {name: value for name, value in before.items() if name != "faithfulness"} == metrics
    assert (kept["data"], kept["texts"]) == ("pairs.tsv", 2)
    assert kept["ways"]["random"] == {"comprehensiveness": [0.125] * 3, "sufficiency": kept["ways"]["random"]["sufficiency"]}
    interval = mean_interval([0.25, 0.75])
    assert kept["ways"]["gradient-norm"]["comprehensiveness"] == pytest.approx([0.5, interval.low, interval.high], abs=5e-4)
    card = (folder / "card.md").read_text(encoding="utf-8")
    assert card == translator_card(config, metrics | {"faithfulness": kept})
    assert "| Gradient norm | 0.500 [" in card
    assert "On 2 texts of pairs.tsv" in card
    assert "| faithfulness |" not in card
    assert main(["faithful", "minilm", str(table), "--data", "pairs.tsv"]) == 1
    assert "no model that was trained here" in capsys.readouterr().err


@pytest.mark.parametrize("text", [None, "", "a,b\n1,2\n", "text,tokens,way\n1,2,random\n"])
def test_another_table_is_one_line(tmp_path, capsys, text):
    table = tmp_path / "out.csv"
    if text is not None:
        table.write_text(text, encoding="utf-8")
    assert main(["faithful", "dot-lstm-en-fr", str(table), "--data", "pairs.tsv"]) == 1
    assert "is no table of attnviz faithful" in capsys.readouterr().err
