"""`attnviz faithful`, as it is typed: its table, and the same on the card of a model of ours."""

import csv
import json
import shutil

import pytest

from attnviz import cli
from attnviz.analysis.bootstrap import mean_interval
from attnviz.paths import assets_folder
from recipes.card import translator_card


@pytest.fixture
def sentences(tmp_path):
    path = tmp_path / "pairs.tsv"
    path.write_text("The red car is not new.\tx\nHe sleeps now.\tx\nWhere did you see my cat?\tx\n", encoding="utf-8")
    return path


def test_what_is_measured_stands_on_the_card(tmp_path, sentences, capsys):
    folder, out = tmp_path / "dot-lstm-en-fr", tmp_path / "out.csv"
    shutil.copytree(assets_folder() / "models" / folder.name, folder)
    before = json.loads((folder / "metrics.json").read_text(encoding="utf-8"))
    arguments = ["--data", str(sentences), "--ways", "gradient-norm,random", "--out", str(out), "--save"]
    assert cli.main(["faithful", str(folder), *arguments]) == 0
    printed = capsys.readouterr().out
    metrics, config = (json.loads((folder / name).read_text(encoding="utf-8")) for name in ("metrics.json", "config.json"))
    kept = metrics.pop("faithfulness")
    assert {name: value for name, value in before.items() if name != "faithfulness"} == metrics
    assert (kept["data"], kept["texts"]) == ("pairs.tsv", 3)
    with out.open(encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == 2 * 3
    for name in ("gradient-norm", "random"):
        mean, low, high = kept["ways"][name]["comprehensiveness"]
        wanted = mean_interval([float(row["comprehensiveness"]) for row in rows if row["way"] == name])
        assert (mean, low, high) == pytest.approx((wanted.mean, wanted.low, wanted.high), abs=5e-4)
        assert f"{mean:.3f} [{low:.3f}, {high:.3f}]" in printed
    card = (folder / "card.md").read_text(encoding="utf-8")
    assert card == translator_card(config, metrics | {"faithfulness": kept})
    assert "| Gradient norm | " in card
    assert "On 3 texts of pairs.tsv" in card
    assert "| faithfulness |" not in card


def test_a_model_without_a_card_is_one_line(tmp_path, capsys):
    pairs = tmp_path / "qa.jsonl"
    pairs.write_text(json.dumps({"question": "Who wrote it?", "context": "Ada wrote it."}) + "\n", encoding="utf-8")
    arguments = ["--data", str(pairs), "--ways", "random", "--limit", "1", "--out", str(tmp_path / "out.csv"), "--save"]
    assert cli.main(["faithful", "minilm", *arguments]) == 1
    assert "no model that was trained here" in capsys.readouterr().err.splitlines()[-1]


def test_another_table_is_not_written_over(tmp_path, sentences, capsys):
    (tmp_path / "mine.csv").write_text("a,b\n1,2\n", encoding="utf-8")
    assert cli.main(["faithful", "minilm", "--data", str(sentences), "--out", str(tmp_path / "mine.csv")]) == 1
    assert "no table of attnviz faithful" in capsys.readouterr().err
    assert (tmp_path / "mine.csv").read_text(encoding="utf-8") == "a,b\n1,2\n"
