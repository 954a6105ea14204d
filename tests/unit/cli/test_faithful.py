"""`attnviz faithful`, as it is typed: its table."""

import csv

import pytest

from attnviz import cli
from attnviz.analysis.whatif_comparison import mean_interval


@pytest.fixture
def sentences(tmp_path):
    path = tmp_path / "pairs.tsv"
    path.write_text("The red car is not new.\tx\nHe sleeps now.\tx\nWhere did you see my cat?\tx\n", encoding="utf-8")
    return path


def test_what_is_measured_is_printed_and_in_a_table(tmp_path, sentences, capsys):
    out = tmp_path / "out.csv"
    arguments = ["--data", str(sentences), "--ways", "gradient-norm,random", "--out", str(out)]
    assert cli.main(["faithful", "dot-lstm-en-fr", *arguments]) == 0
    printed = capsys.readouterr().out
    with out.open(encoding="utf-8-sig") as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == 2 * 3
    # Its own table is known again, whatever mark it begins with.
    assert cli.main(["faithful", "dot-lstm-en-fr", *arguments]) == 0
    for name in ("gradient-norm", "random"):
        interval = mean_interval([float(row["comprehensiveness"]) for row in rows if row["method"] == name])
        assert f"{interval.mean:.3f} [{interval.low:.3f}, {interval.high:.3f}]" in printed


def test_of_one_text_means_have_no_interval(tmp_path, capsys):
    (tmp_path / "one.tsv").write_text("He sleeps now.\tx\n", encoding="utf-8")
    arguments = ["--data", str(tmp_path / "one.tsv"), "--methods", "gradient-norm,random", "--out", str(tmp_path / "out.csv")]
    assert cli.main(["faithful", "dot-lstm-en-fr", *arguments]) == 0
    printed = capsys.readouterr().out
    assert "[" not in printed
    assert printed.endswith("One text has no interval: measure two or more.\n")


def test_another_table_is_not_written_over(tmp_path, sentences, capsys):
    (tmp_path / "mine.csv").write_text("a,b\n1,2\n", encoding="utf-8")
    assert cli.main(["faithful", "minilm", "--data", str(sentences), "--out", str(tmp_path / "mine.csv")]) == 1
    assert "no table of attnviz faithful" in capsys.readouterr().err
    assert (tmp_path / "mine.csv").read_text(encoding="utf-8") == "a,b\n1,2\n"


def test_a_file_without_a_text_leaves_the_journal_as_it_is(tmp_path, capsys):
    (tmp_path / "empty.txt").touch()
    journal = tmp_path / "x.csv.jsonl"
    journal.write_text("{}\n", encoding="utf-8")
    assert cli.main(["faithful", "minilm", "--data", str(tmp_path / "empty.txt"), "--out", str(tmp_path / "x.csv")]) == 1
    assert "There is no text in" in capsys.readouterr().err
    assert journal.read_text(encoding="utf-8") == "{}\n"
