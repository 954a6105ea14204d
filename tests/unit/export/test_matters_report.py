"""What Matters keeps: a sheet of every way, and tables that hold all of it and run nothing."""

import csv
import io
import json
from typing import Any

import numpy as np
import pytest

from attnviz.analysis.matters import AttributionReport, Faithfulness, Removals
from attnviz.attribution.methods import titles_of
from attnviz.export import matters_report as exported
from attnviz.export import svg_png_pdf
from attnviz.figures.matters_text import methods_table


def made(**more: Any) -> AttributionReport:
    values: dict[str, Any] = {
        "target": "the answer “<b>”", "probability": 0.75, "words": ("=1+1", "<b>", "was", "it"), "own": frozenset({1}),
        "shares": {"rollout": np.array([0.5, 9.0, -0.25, 0.0]), "leave-one-out": np.array([0.4, 0.0, -0.3, 0.1])},
        "figures": {
            "rollout": Faithfulness(0.5, 0.25, None, 7.0),
            "leave-one-out": Faithfulness(0.625, 0.125),
            "random": Faithfulness(0.25, 0.5),
        },
        "refused": {"flow": "It is too long: type less."},
    }  # fmt: skip
    return AttributionReport(**values | more)


def test_the_tables_hold_every_share_and_no_formula():
    rows = list(csv.DictReader(io.StringIO(exported.shares_csv(made()).decode("utf-8-sig"))))
    assert [row["word"] for row in rows] == ["'=1+1", "<b>", "was", "it"]
    assert [float(row["rollout"]) for row in rows] == [0.5, 9.0, -0.25, 0.0]
    assert [row["own"] for row in rows] == ["0", "1", "0", "0"]
    facts = json.loads(exported.attribution_json(made(), "rollout", Removals((0, 1), (0.75, 0.25), (0.75, 0.5))))
    assert facts["figures"]["rollout"]["tau"] == pytest.approx(made().agreement("rollout"))
    assert facts["curves"] == {"rollout": {"gone": [0, 1], "most_first": [0.75, 0.25], "least_first": [0.75, 0.5]}}
    assert facts["refused"] == {"flow": "It is too long: type less."}


def test_agreement_leaves_the_outputs_own_words_out():
    # Of the three that can be taken both orders are the same, whatever the share of the answer itself.
    assert made().agreement("rollout") == 1
    assert made().ranked("rollout") == (0, 3, 2)
    assert made(shares={"rollout": np.zeros(4)}).agreement("rollout") is None


def test_the_sheet_is_a_picture_with_a_strip_a_way():
    drawn = svg_png_pdf.sheet_svg(exported.draw_attribution(made(), "rollout", titles_of(made().figures))).decode()
    assert drawn.count("data-share") == 4
    assert all(title in drawn for title in ("Attention rollout", "Leaving one word out", "Chance", "&lt;b&gt;"))


def test_every_way_has_a_row_whether_it_was_asked_or_not():
    names = ("rollout", "flow", "leave-one-out", "value-zeroing", "random")
    drawn = methods_table(made(), titles_of(names), chosen="rollout", waiting=("value-zeroing",))
    assert drawn.count("data-pick") == 2
    assert drawn.count('aria-pressed="true"') == 1
    assert "It is too long: type less." in drawn
    assert "is running" in drawn
    assert "<b>was" not in drawn


def test_a_joined_report_has_the_ways_of_both():
    other = made(shares={"flow": np.ones(4)}, figures={"flow": Faithfulness(0.1, 0.1)}, refused={})
    assert set(made().joined(other).shares) == {"rollout", "leave-one-out", "flow"}
