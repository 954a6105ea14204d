"""A survey writes each text's figures at once, goes on where it was stopped, and reads the data sets that it names."""

import gzip
import json

import pytest

import attnviz
from attnviz.analysis.matters.faithfulness import bootstrap
from attnviz.analysis.matters.methods import METHODS
from attnviz.attribution.dataset import SurveyOptions, read_prompts, read_table, survey
from attnviz.core.errors import ModelError
from attnviz.core.trace import Prompt
from tests.translators import tiny_translator

TEXTS = [Prompt(text) for text in ("The dog eat.", "The red car is not new.", "Tom didn't eat the car.", "The dog is red.")]


def test_a_survey_goes_on_where_it_was_stopped(tmp_path):
    model = attnviz.load(str(tiny_translator(tmp_path, "transformer")))
    ways, out = [METHODS[name] for name in ("attention", "leave-one-out", "random")], tmp_path / "out.csv"
    survey(model, TEXTS, ways, out, SurveyOptions(limit=2), lambda line: None)
    first, lines = out.read_text(encoding="utf-8"), list[str]()
    figures = survey(model, TEXTS, ways, out, SurveyOptions(limit=4), lines.append)
    assert out.read_text(encoding="utf-8").startswith(first)
    assert lines == ["3 of 4 texts", "4 of 4 texts"]
    assert {int(row["text"]) for row in read_table(out)} == {0, 1, 2, 3}
    assert [(each.way, each.n_texts, each.over_random is None) for each in figures] == [
        ("attention", 4, False), ("leave-one-out", 4, False), ("random", 4, True),
    ]  # fmt: skip
    assert next(each.tau for each in figures if each.way == "leave-one-out") == 1


def test_one_token_of_each_output_can_be_asked_about(tmp_path):
    model, ways = attnviz.load(str(tiny_translator(tmp_path, "transformer"))), [METHODS["leave-one-out"], METHODS["random"]]
    whole = survey(model, TEXTS, ways, tmp_path / "whole.csv", SurveyOptions(limit=2), lambda line: None)
    token = survey(model, TEXTS, ways, tmp_path / "token.csv", SurveyOptions(limit=2, target="token:0"), lambda line: None)
    assert whole[0].comprehensiveness != token[0].comprehensiveness
    with pytest.raises(ModelError, match="nothing that can be asked about"):
        survey(model, TEXTS, ways, tmp_path / "none.csv", SurveyOptions(target="nonsense"), lambda line: None)


def test_another_table_is_not_written_over(tmp_path):
    (tmp_path / "mine.csv").write_text("a,b\n1,2\n", encoding="utf-8")
    with pytest.raises(ModelError, match="no table of attnviz faithful"):
        read_table(tmp_path / "mine.csv")


def test_data_sets_are_read_packed_or_not(tmp_path):
    questions, pairs, other = tmp_path / "qa.jsonl.gz", tmp_path / "pairs.tsv", tmp_path / "other.jsonl"
    with gzip.open(questions, "wt", encoding="utf-8") as file:
        file.write(json.dumps({"question": "Who?", "context": "Ada wrote it."}) + "\n")
    pairs.write_text("Hello.\tBonjour.\n\n", encoding="utf-8")
    other.write_text('{"neither": 1}\n', encoding="utf-8")
    assert read_prompts(questions) == [Prompt("Ada wrote it.", question="Who?", pair="Who?")]
    assert read_prompts(pairs) == [Prompt("Hello.")]
    with pytest.raises(ModelError, match="cannot be read as a data set"):
        read_prompts(other)


def test_the_interval_of_a_mean_is_about_two_standard_errors_wide():
    values = [0.0, 1.0] * 200
    interval = bootstrap(values)
    assert interval.mean == 0.5
    assert interval.high - interval.low == pytest.approx(4 * 0.5 / 20, rel=0.1)
