"""`attnviz ablate`: its table and its CSV against the model itself, runs that were killed, and files that are none."""

import csv
import json
from pathlib import Path

import numpy as np
import pytest

from attnviz import Edits, Prompt, cli
from attnviz.cli.ablate import _table
from attnviz.models import catalog
from attnviz.models.capabilities import capabilities
from attnviz.models.shipped_translators import TranslationModel
from attnviz.models.whatif import every_head, without
from tests.translators import tiny_translator

PAIRS = ["The dog sat.\tLe chien", "The dog isn't Tom's.\tLe chien n'a pas mangé !", "A dog ate.\tLe chien a mangé ."]
pytestmark = pytest.mark.usefixtures("unchecked")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> str:
    return str(tiny_translator(tmp_path_factory.mktemp("transformer"), "transformer"))


@pytest.fixture
def data(tmp_path: Path) -> Path:
    path = tmp_path / "pairs.tsv"
    path.write_text("\n".join([*PAIRS, ""]), encoding="utf-8")
    return path


def rows(path: Path) -> dict[str, dict[str, str]]:
    with path.open(encoding="utf-8-sig") as file:
        return {row["condition"]: row for row in csv.DictReader(file)}


def test_every_cost_is_the_mean_over_the_pieces_of_the_file(folder, data, tmp_path, capsys):
    assert cli.main(["ablate", folder, "--data", str(data), "--out", str(tmp_path / "heads.csv")]) == 0
    table, model = rows(tmp_path / "heads.csv"), catalog.load(folder)
    heads = every_head(model)
    cross = [head for head in heads if head[0] == "cross"]
    asked = {
        f"cross L{cross[0][1]}·H{cross[0][2]}": without(cross[:1]),
        "cross, all heads": without(cross),
        "cross, all heads but L0·H0": without([head for head in cross if head[1:] != (0, 0)]),
        "decoder L0, all heads": without([head for head in heads if head[:2] == ("decoder", 0)]),
    }
    scorers = [capabilities(model).scorer(Prompt(text, target=target)) for text, target in (pair.split("\t") for pair in PAIRS)]
    pieces = sum(scorer.n_pieces for scorer in scorers)
    for name, edits in asked.items():
        scores = np.array([scorer.scores([Edits(), edits]) for scorer in scorers])
        cost = float((scores[:, 0] - scores[:, 1]).sum()) / pieces
        assert float(table[name]["cost"]) == pytest.approx(cost, abs=6e-5)
        assert Edits.parse(table[name]["edits"]) == edits
        assert float(table[name]["low"]) - 1e-4 <= cost <= float(table[name]["high"]) + 1e-4
    plain = -sum(float(scorer.scores([Edits()])[0]) for scorer in scorers) / pieces
    assert float(table["as it is"]["cost"]) == pytest.approx(plain, abs=6e-5)
    costs = [float(row["cost"]) for name, row in table.items() if name != "as it is"]
    assert costs == sorted(costs, reverse=True)
    singles = [name for name in table if "·H" in name and "but" not in name]
    assert len(singles) == len(heads)
    assert f"{table['cross, all heads']['low']} to {table['cross, all heads']['high']}" in capsys.readouterr().out


def test_an_interval_is_wide_where_texts_differ_and_has_no_width_where_they_are_one(folder, tmp_path):
    (tmp_path / "same.tsv").write_text("\n".join(PAIRS[:1] * 4), encoding="utf-8")
    (tmp_path / "other.tsv").write_text("\n".join(PAIRS), encoding="utf-8")
    widths = []
    for name in ("same", "other"):
        out = tmp_path / f"{name}.csv"
        cli.main(["ablate", folder, "--data", str(tmp_path / f"{name}.tsv"), "--edits", "c0.0z", "--out", str(out)])
        row = rows(out)["c0.0z"]
        widths.append(float(row["high"]) - float(row["low"]))
    assert widths[0] == 0
    assert widths[1] > 0


def test_of_one_text_there_is_no_interval(folder, tmp_path, capsys):
    (tmp_path / "one.tsv").write_text(PAIRS[0], encoding="utf-8")
    out = tmp_path / "one.csv"
    cli.main(["ablate", folder, "--data", str(tmp_path / "one.tsv"), "--edits", "c0.0z", "--out", str(out)])
    row = rows(out)["c0.0z"]
    assert (row["low"], row["high"]) == ("", "")
    head, *lines = capsys.readouterr().out.splitlines()
    assert head.endswith("One text has no interval: measure two or more.")
    assert all(line.split()[-1].lstrip("+-").replace(".", "").isdigit() for line in lines)


def test_a_killed_run_goes_on_where_it_stopped_and_ends_alike(folder, data, tmp_path, monkeypatch):
    whole, again = tmp_path / "whole.csv", tmp_path / "again.csv"
    command = ["ablate", folder, "--data", str(data), "--edits", "c0.0z", "d0.0m", "--out"]
    cli.main([*command, str(whole)])
    journal = (tmp_path / "whole.csv.jsonl").read_text(encoding="utf-8").splitlines()
    assert len(journal) == 1 + len(PAIRS)
    # Killed in the middle of its third line.
    (tmp_path / "again.csv.jsonl").write_text("\n".join([*journal[:2], journal[2][: len(journal[2]) // 2]]), encoding="utf-8")
    read: list[str] = []
    real = TranslationModel.scorer

    def counted(model, prompt):
        read.append(prompt.text)
        return real(model, prompt)

    monkeypatch.setattr(TranslationModel, "scorer", counted)
    cli.main([*command, str(again)])
    assert read == [pair.split("\t")[0] for pair in PAIRS[1:]]
    assert again.read_text(encoding="utf-8") == whole.read_text(encoding="utf-8")
    assert (tmp_path / "again.csv.jsonl").read_text(encoding="utf-8").splitlines() == journal


def test_what_was_measured_under_other_conditions_is_not_taken_over(folder, data, tmp_path):
    out = tmp_path / "heads.csv"
    for edits in ("c0.0z", "c0.1z"):
        cli.main(["ablate", folder, "--data", str(data), "--edits", edits, "--out", str(out)])
    lines = [json.loads(line) for line in (tmp_path / "heads.csv.jsonl").read_text(encoding="utf-8").splitlines()]
    assert lines[0]["edits"] == ["", "c0.1z"]
    assert len(lines) == 1 + len(PAIRS)
    assert list(rows(out)) == ["as it is", "c0.1z"]


def test_a_limit_reads_the_first_texts_and_a_head_may_be_set_to_its_mean(folder, data, tmp_path):
    cli.main(["ablate", folder, "--data", str(data), "--limit", "2", "--to", "mean", "--out", str(tmp_path / "mean.csv")])
    assert len((tmp_path / "mean.csv.jsonl").read_text(encoding="utf-8").splitlines()) == 3
    table = rows(tmp_path / "mean.csv")
    assert table["cross L0·H0"]["edits"] == "c0.0m"


@pytest.mark.parametrize(("content", "words"), [("no tab here", "Line 1 of pairs.tsv"), ("", "no text in")])
def test_a_bad_file_is_one_sentence(folder, data, content, words, capsys):
    data.write_text(content, encoding="utf-8")
    assert cli.main(["ablate", folder, "--data", str(data)]) == 1
    said = capsys.readouterr().err
    assert words in said
    assert "Traceback" not in said


def test_a_text_without_finite_scores_is_left_out_of_every_mean(folder, data, tmp_path, monkeypatch, capsys):
    command = ["ablate", folder, "--data", str(data), "--edits", "c0.0z", "--out"]
    data.write_text("\n".join(PAIRS[1:]), encoding="utf-8")
    cli.main([*command, str(tmp_path / "two.csv")])
    data.write_text("\n".join(PAIRS), encoding="utf-8")
    real = TranslationModel.scorer

    def broken(model, prompt):
        scorer = real(model, prompt)
        if prompt.text == PAIRS[0].split("\t")[0]:
            object.__setattr__(scorer, "scores", lambda rows, *_: np.full(len(rows), np.nan))
        return scorer

    monkeypatch.setattr(TranslationModel, "scorer", broken)
    cli.main([*command, str(tmp_path / "three.csv")])
    assert (tmp_path / "three.csv").read_bytes() == (tmp_path / "two.csv").read_bytes()
    assert "Text 1 of pairs.tsv is left out" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("more", "words"), [(["--edits", "c77.0z"], "there is no L77"), (["--edits", "nonsense"], "is no edit")]
)
def test_bad_edits_are_one_sentence(folder, data, more, words, capsys):
    assert cli.main(["ablate", folder, "--data", str(data), *more]) == 1
    assert words in capsys.readouterr().err


def test_what_costs_nothing_has_no_sign() -> None:
    (row,) = _table({}, np.zeros((2, 1)), np.ones(2))
    assert row[2:] == ("0.0000", "0.0000", "0.0000")
