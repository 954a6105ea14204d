"""Roles of heads: a score is what the papers define, and holds where it beats its rivals."""

import numpy as np
import pytest

from attnviz.analysis.heads.roles import ROLES, HeadRoles, describe_holders, describe_role, random_scores, role_lines
from attnviz.analysis.wording import plain

START, PERIOD = 1, 5


def looking(places: dict[int, int]) -> np.ndarray:
    """The weights of a head whose rows look at one token each, the others at themselves."""
    size = START + 2 * PERIOD
    weights = np.eye(size)
    for row, key in places.items():
        weights[row] = np.eye(size)[key]
    return weights


def test_a_head_that_does_nothing_else_scores_one_in_its_role_alone():
    second = range(START + PERIOD, START + 2 * PERIOD)
    heads = {
        "previous token": {row: row - 1 for row in range(START + 1, START + 2 * PERIOD)},
        "duplicate token": {row: row - PERIOD for row in second},
        "induction": {row: row - PERIOD + 1 for row in second},
        "sink": dict.fromkeys(range(1, START + 2 * PERIOD), 0),
    }
    scores = random_scores(np.stack([looking(each) for each in heads.values()]), START)
    want = np.array([[float(role == name) for name in heads] for role in ROLES])
    np.testing.assert_allclose(scores, want)


def roles(untrained: float = 0.0) -> HeadRoles:
    """Of two heads the first is an induction head, the second moves names."""
    dice, scores = np.random.default_rng(0), np.full((20, len(ROLES), 1, 2), np.nan)
    scores[:8] = dice.uniform(0, 0.1, (8, len(ROLES), 1, 2))
    scores[:, 3] = np.nan
    scores[:8, 2, 0, 0] = dice.uniform(0.7, 0.9, 8)
    scores[8:, 3, 0] = np.stack([np.zeros(12), dice.uniform(0.5, 0.9, 12)], axis=1)
    return HeadRoles("tiny", scores, np.full((len(ROLES), 1, 2), untrained), np.array([[0.0, 1.0]]))


def test_a_role_holds_where_the_score_is_above_its_rivals():
    made = roles()
    assert np.argwhere(made.holds).tolist() == [[2, 0, 0], [3, 0, 1]]
    assert made.rivals.tolist() == [0.3] * 5
    told = plain(describe_role(made, "induction", 0, 0))
    assert told.startswith("Holds: L0·H0 looks at what followed the same token before: ")
    assert told.endswith("to beat: 30\xa0%).")
    assert plain(describe_role(made, "name mover", 0, 1)).endswith("it copies 100\xa0% of names.")
    assert plain(describe_role(made, "sink", 0, 0)).startswith("Does not hold: ")
    assert "induction 1, name mover 1, sink 0" in plain(describe_holders(made))
    assert [line.split()[-1] for line in role_lines(made, 1) if "L0" in line] == ["hold", "hold", "holds", "holds", "hold"]


def test_what_the_untrained_model_does_too_is_no_role():
    made = roles(untrained=0.8)
    assert not made.holds.any()
    assert made.rivals == pytest.approx([0.85] * 5)


def test_every_role_of_every_head_is_a_row():
    frame = roles().frame
    assert len(frame) == 2 * len(ROLES)
    assert frame[frame.holds].role.tolist() == ["induction", "name mover"]
    assert ((frame.low <= frame.score) & (frame.score <= frame.high)).all()
