"""What heads cost, in words and as a table."""

import re

import numpy as np

from attnviz.analysis.ablate.head_costs import describe_costs, describe_curve, describe_head
from attnviz.analysis.wording import plain
from attnviz.core.shares import HeadCosts, RemovalCurve
from attnviz.export.ablate.cost_sheet import costs_csv, curve_csv

COSTS = HeadCosts(
    "nats", -3.0, {"encoder": np.array([[0.02, -0.3, 0.01]]), "cross": np.array([[0.5, 0.04, 0.0], [0.1, 0.0, 1.25]])}
)
CURVE = RemovalCurve(
    (1, 4, 9), np.array([-0.3, 0.1, 4.0]), np.array([1.25, 3.0, 4.0]), np.array([[0.0, 0.5, 4.0], [1.0, 1.5, 4.0]])
)


def test_the_head_that_is_missed_most_is_named_with_its_kind():
    said = plain(describe_costs(COSTS))
    assert all(part in said for part in ("Without cross L1·H2", "falls by 1.25 nats", "7 of the 9 heads"))
    for head, parts in ((("cross", 0, 0), ("cross L0·H0", "0.500", "2 of 9")), (("encoder", 0, 1), ("−0.300", "9 of 9"))):
        assert all(part in plain(describe_head(head, COSTS)) for part in parts)


def test_where_no_head_costs_anything_it_says_so():
    helped = plain(describe_costs(HeadCosts("cosine", 0.0, {"encoder": np.array([[-0.1, 0.0]])})))
    assert helped.startswith("Switching off any single head")
    turned = plain(describe_costs(HeadCosts("cosine", 0.0, {"encoder": np.array([[0.1, 0.0]])})))
    assert turned.startswith("Without L0·H0 the last states turn by 0.100")


def test_the_curve_is_told_at_about_half_of_the_heads():
    said = plain(describe_curve(CURVE))
    assert re.findall(r"\d+\.\d\d", said) == ["0.10", "3.00", "1.00", "0.50", "1.50"]
    assert "4 of 9 heads" in said
    assert "in 2 draws" in said


def test_the_tables_hold_every_head_and_every_draw():
    lines = costs_csv(COSTS).decode().splitlines()
    assert lines[:2] == ["kind,layer,head,cost,unit", "cross,1,2,1.25,nats"]
    assert len(lines) == 1 + 9
    assert curve_csv(CURVE).decode().splitlines() == [
        "heads_off,least_costly,most_costly,draw_1,draw_2", "1,-0.3,1.25,0,1", "4,0.1,3,0.5,1.5", "9,4,4,4,4",
    ]  # fmt: skip
