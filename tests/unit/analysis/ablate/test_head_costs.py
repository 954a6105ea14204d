"""What heads cost, in words and as a table."""

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
    assert plain(describe_costs(COSTS)) == (
        "Without cross L1·H2 ln p of this output falls by 1.25 nats, more than without any other one; 7 of the 9 heads cost "
        "less than a tenth of that."
    )
    assert plain(describe_head(("cross", 0, 0), COSTS)) == "cross L0·H0 costs 0.500 nats: number 2 of 9."
    assert plain(describe_head(("encoder", 0, 1), COSTS)) == "encoder L0·H1 costs −0.300 nats: number 9 of 9."


def test_where_no_head_is_missed_it_says_so():
    assert plain(describe_costs(HeadCosts("cosine", 0.0, {"encoder": np.array([[-0.1, 0.0]])}))).startswith("No head is missed")
    turned = plain(describe_costs(HeadCosts("cosine", 0.0, {"encoder": np.array([[0.1, 0.0]])})))
    assert turned.startswith("Without L0·H0 the last states turn by 0.100")


def test_the_curve_is_told_at_about_half_of_the_heads():
    assert plain(describe_curve(CURVE)) == (
        "With 4 of 9 heads off at once it costs 0.10 where they are the least costly, 3.00 where they are the most costly, and "
        "1.00 by chance (0.50 to 1.50 in 2 draws)."
    )


def test_the_tables_hold_every_head_and_every_draw():
    lines = costs_csv(COSTS).decode().splitlines()
    assert lines[:2] == ["kind,layer,head,cost,unit", "cross,1,2,1.25,nats"]
    assert len(lines) == 1 + 9
    assert curve_csv(CURVE).decode().splitlines() == [
        "heads_off,least_costly,most_costly,draw_1,draw_2", "1,-0.3,1.25,0,1", "4,0.1,3,0.5,1.5", "9,4,4,4,4",
    ]  # fmt: skip
