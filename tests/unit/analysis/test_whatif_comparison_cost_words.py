"""What heads cost, in words and as a table."""

import math
import re

import numpy as np
import pytest

from attnviz.analysis.whatif_comparison import describe_costs, describe_curve, name_of, written_cost
from attnviz.analysis.wording import plain
from attnviz.core.trace import HeadCosts, RemovalCurve
from attnviz.export.whatif_report import costs_csv, curve_csv

COSTS = HeadCosts(
    "nats", -3.0, {"encoder": np.array([[0.02, -0.3, 0.01]]), "cross": np.array([[0.5, 0.04, 0.0], [0.1, 0.0, 1.25]])}
)
CURVE = RemovalCurve(
    (1, 4, 9), np.array([-0.3, 0.1, 4.0]), np.array([1.25, 3.0, 4.0]), np.array([[0.0, 0.5, 4.0], [1.0, 1.5, 4.0]])
)


def test_the_head_that_is_missed_most_is_named_with_its_kind():
    lead, rest = map(plain, describe_costs(COSTS))
    assert lead == f"Without cross head 2 of layer 1 the output is {math.exp(1.25):.1f} times less likely: the most of all 9."
    assert rest.startswith("7 of the 9 heads cost less than a tenth of that.")
    for head, expected in (
        (("cross", 0, 0), "the output is 1.6 times less likely: number 2 of 9."),
        (("encoder", 0, 1), "the output is 1.3 times likelier: number 9 of 9."),
        (("cross", 0, 2), "the output stays as likely: number 8 of 9."),
    ):
        lead, rest = map(plain, describe_costs(COSTS, head))
        assert lead.endswith(expected)
        assert "a tenth of the most, which is cross head 2 of layer 1." in rest


def test_where_no_head_costs_anything_it_says_so():
    helped = plain(describe_costs(HeadCosts("cosine", 0.0, {"encoder": np.array([[-0.1, 0.0]])}))[1])
    assert helped.startswith("Without any single head")
    turned = plain(describe_costs(HeadCosts("cosine", 0.0, {"encoder": np.array([[0.1, 0.0]])}))[0])
    assert turned.startswith("Without head 0 of layer 0 the model reads this text differently, by 0.100")


def test_the_curve_is_told_at_about_half_of_the_heads():
    said = plain(describe_curve(CURVE))
    assert re.findall(r"\d+\.\d\d", said) == ["0.10", "3.00", "1.00", "0.50", "1.50"]
    assert "4 of 9 heads" in said
    assert "in 2 draws" in said


def test_the_tables_hold_every_head_and_every_draw():
    lines = costs_csv(COSTS).decode("utf-8-sig").splitlines()
    assert lines[:2] == ["kind,layer,head,cost,unit", "cross,1,2,1.25,nats"]
    assert len(lines) == 1 + 9
    assert curve_csv(CURVE).decode("utf-8-sig").splitlines() == [
        "heads_off,least_costly,most_costly,draw_1,draw_2", "1,-0.3,1.25,0,1", "4,0.1,3,0.5,1.5", "9,4,4,4,4",
    ]  # fmt: skip


@pytest.mark.parametrize(("largest", "written"), [(1.0, "0.12"), (0.99, "0.123"), (0.01, "0.123"), (0.0099, "0.1235")])
def test_a_cost_has_the_digits_that_the_largest_needs(largest, written):
    assert written_cost(0.12345, largest) == written


def test_a_head_has_its_kind_in_its_name_where_there_are_several():
    assert name_of(("cross", 1, 2), COSTS) == "cross L1·H2"
    assert name_of(("encoder", 0, 1), HeadCosts("nats", 0.0, {"encoder": np.zeros((1, 2))})) == "L0·H1"


@pytest.mark.parametrize(
    ("cost", "times"), [(1e9, math.exp(600)), (math.log(10), 10), (math.log(1.1), 1.1), (math.log(1.006), 1.01)]
)
def test_how_many_times_less_likely_has_the_digits_it_needs(cost, times):
    said = plain(describe_costs(HeadCosts("nats", 0.0, {"encoder": np.array([[cost, 0.0]])}))[0])
    digits = {10: "10", 1.1: "1.1", 1.01: "1.01"}.get(times, f"{times:.0f}")
    assert f" {digits} times less likely" in said


def test_heads_that_cost_a_tenth_are_not_those_that_cost_less():
    costs = HeadCosts("nats", 0.0, {"encoder": np.array([[1.0, 0.125, 0.0625]])})
    assert plain(describe_costs(costs)[1]).startswith("1 of the 3 heads")


def test_half_of_the_heads_is_the_nearest_count_and_the_largest_cost_says_how_many_digits():
    curve = RemovalCurve((2, 4, 10), np.full(3, 0.25), np.full(3, 0.5), np.array([[0.5, 0.125, 9.0], [0.5, 0.25, 0.5]]))
    said = plain(describe_curve(curve))
    assert "4 of 10 heads" in said
    assert re.findall(r"\d+\.\d+", said) == ["0.25", "0.50", "0.19", "0.12", "0.25"]
