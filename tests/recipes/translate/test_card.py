"""What supervising a head costs: read from a run that was measured, and said on the card."""

import json

import pytest

from recipes.data import DataError
from recipes.translate.card import CONTROL, control_section, read_control

FIGURES = {"BLEU": 44.1, "BLEU beam 5": 45.6, "BLEU signature": "nrefs:1", "AER in domain L1·H0 shifted": 0.74, "parameters": 9}


@pytest.fixture
def run(tmp_path):
    def written(head=None, figures=FIGURES):
        (tmp_path / "config.json").write_text(json.dumps({"card": {"name": "x-without"}, "recipe": {"supervised_head": head}}))
        (tmp_path / "metrics.json").write_text(json.dumps(figures))
        return tmp_path

    return written


def test_figures_that_can_be_compared_are_read(run):
    assert read_control(run()) == {
        "name": "x-without", "BLEU": 44.1, "BLEU beam 5": 45.6, "AER in domain L1·H0 shifted": 0.74
    }  # fmt: skip


def test_what_is_no_control_is_refused(run, tmp_path):
    with pytest.raises(DataError, match="no model that was trained here"):
        read_control(tmp_path)
    with pytest.raises(DataError, match="supervised, too"):
        read_control(run(head={"layer": 1}))
    with pytest.raises(DataError, match="python -m recipes evaluate"):
        read_control(run(figures={"parameters": 9}))


@pytest.mark.parametrize(
    ("bleu", "verdict"),
    [
        (44.5, "It costs nothing that one could tell: 0.40 BLEU more with it than without."),
        (43.8, "It costs nothing that one could tell: 0.30 BLEU less with it than without."),
        (45.0, "It costs nothing: 0.90 BLEU more with it than without."),
        (43.0, "It costs translation: 1.10 BLEU less with it than without."),
    ],
)
def test_the_card_says_what_it_costs(run, bleu, verdict):
    supervised = {"BLEU": bleu, "BLEU beam 5": 46.0, "AER in domain L1·H0 shifted": 0.11, CONTROL: read_control(run())}
    _, text, rows = control_section(supervised)
    assert "x-without" in text
    assert text.endswith(verdict)
    assert rows.splitlines()[2:] == [
        f"| BLEU | {bleu:.2f} | 44.10 |",
        "| BLEU beam 5 | 46.00 | 45.60 |",
        "| AER in domain L1·H0 shifted | 0.11 | 0.74 |",
    ]


def test_without_a_control_nothing_is_said():
    assert control_section({"BLEU": 44.5}) == []
