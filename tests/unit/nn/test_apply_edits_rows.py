"""The rows of an edited head, against the same written again with loops, one row at a time."""

from typing import Any

import numpy as np
import pytest
import torch

from attnviz.core.edits import HeadPatched, HeadSet
from attnviz.core.errors import EditedRowError, EditError
from attnviz.nn.apply_edits import HeadEdits, RowContext, edited_rows

HEAD, EARLIER, QUERIES, KEYS, BATCH = 3, 2, 4, 5, 2
MEAN, UNIFORM = HeadSet("encoder", 1, HEAD, "mean"), HeadSet("encoder", 1, HEAD, "uniform")


def shares(scores: np.ndarray) -> np.ndarray:
    powers = np.exp(scores, where=scores > -np.inf, out=np.zeros_like(scores))
    return powers / powers.sum() if powers.any() else powers


def even(scores: np.ndarray, sinks: int) -> np.ndarray:
    seen = np.array([score > -np.inf and key < len(scores) - sinks for key, score in enumerate(scores)])
    return seen / max(seen.sum(), 1)


def replaced(edit: Any, place: RowContext, scores: np.ndarray, past: np.ndarray, row: int, pattern: Any) -> np.ndarray:
    """One row of a head that is set, or patched."""
    if pattern is not None:
        at = place.first_query + row
        whole = past[len(past) - len(scores) + row].copy()
        if at < len(pattern):
            whole[:] = 0
            part = pattern[at, place.first_key : place.first_key + scores.shape[1]]
            whole[: len(part)] = part
        return whole
    if edit.to == "uniform":
        return even(scores[row], place.sinks)
    read = [*past[: len(past) - len(scores) + row + 1]] if place.causal else [*past]
    if not place.causal and past.shape[0] == past.shape[1]:
        # A token that nobody sees is padding.
        read = [line for line, seen in zip(past, scores.T, strict=True) if (seen > -np.inf).any()]
    mean = np.where(scores[row] == -np.inf, 0, np.mean(read, axis=0) if read else 0)
    return mean / mean.sum() if mean.sum() > 0 else even(scores[row], place.sinks)


def one_by_one(plan: HeadEdits, place: RowContext, scores: np.ndarray, past: np.ndarray, pattern: Any) -> np.ndarray:
    """All rows of one text."""
    rows = []
    for row, own in enumerate(scores):
        weights = past[len(past) - len(scores) + row]
        if place.head in plan.replaced:
            new = replaced(plan.replaced[place.head], place, scores, past, row, pattern)
            if not np.allclose(new, weights, atol=1e-6, rtol=1e-5):
                weights = new
                own = np.array([np.log(weight) if weight else -np.inf for weight in new])
        gone = {key for query, key in plan.cuts.get(place.head, []) if query == place.first_query + row} | {*plan.hidden}
        left = [-np.inf if place.first_key + key in gone else score for key, score in enumerate(own)]
        if not np.array_equal(left, own):
            weights, own = shares(np.array(left)), np.array(left)
        typed = {
            key - place.first_key: weight
            for query, key, weight in plan.weights.get(place.head, [])
            if query == place.first_query + row and 0 <= key - place.first_key < len(own)
        }
        if any(abs(weights[key] - weight) > 1e-6 + 1e-5 * weights[key] for key, weight in typed.items()):
            others = shares(np.array([-np.inf if key in typed else score for key, score in enumerate(own)]))
            weights = np.array([typed.get(key, (1 - sum(typed.values())) * others[key]) for key in range(len(own))])
        rows.append(weights)
    return np.array(rows)


def drawn(dice: np.random.Generator, place: RowContext) -> tuple[np.ndarray, np.ndarray]:
    """Scores of two texts, some of them masked, and their weights with those of earlier steps."""
    n_earlier = EARLIER * place.causal
    n_queries = KEYS if place.kind == "encoder" else QUERIES
    scores = dice.normal(size=(BATCH, n_queries, KEYS))
    scores[dice.random(scores.shape) < 0.2] = -np.inf
    scores[0, 1] = -np.inf
    scores[1, :, 2] = -np.inf
    if place.kind == "decoder":
        scores[:, ~np.tri(n_queries, KEYS, KEYS - n_queries, dtype=bool)] = -np.inf
    earlier = dice.dirichlet(np.ones(KEYS), size=(BATCH, n_earlier))
    return scores, np.concatenate([earlier, np.apply_along_axis(shares, 2, scores)], axis=1)


@pytest.mark.parametrize("kind", ["encoder", "decoder", "cross"])
@pytest.mark.parametrize("edit", [None, "mean", "uniform", "patched"])
def test_rows_are_those_of_loops(kind: Any, edit: Any) -> None:
    dice, refused = np.random.default_rng(7), 0
    for draw in range(40):
        writes = draw % 2 == 1
        first = (0, 0) if kind == "encoder" else (EARLIER, 0 if writes and kind == "cross" else int(dice.integers(3)))
        place = RowContext(kind, 1, HEAD, *first, writes=writes, alone=edit != "patched", sinks=draw % 3)
        scores, past = drawn(dice, place)
        plan, pattern = HeadEdits(), None
        if edit == "patched":
            plan.replaced[HEAD] = HeadPatched(kind, 1, HEAD, "abc")
            pattern = np.zeros((first[0] + scores.shape[1], first[1] + KEYS))
            pattern[:, first[1] :] = dice.dirichlet(np.ones(KEYS), size=len(pattern))
        elif edit:
            plan.replaced[HEAD] = HeadSet(kind, 1, HEAD, edit)
        cells = [(int(query) + first[0], int(key) + first[1]) for query, key in dice.integers(-1, 5, (6, 2))]
        plan.cuts[HEAD if draw % 4 else 0] = cells[:3]
        plan.hidden += [cells[3][1]] * (draw % 5 == 0)
        given = {(query, key): weight for (query, key), weight in zip(cells[4:], (0.25, 0.5), strict=True)}
        plan.weights[HEAD if draw % 3 else 0] = [(*cell, weight) for cell, weight in given.items()]
        tensors = torch.tensor(scores, dtype=torch.float32), torch.tensor(past, dtype=torch.float32)
        try:
            rows = edited_rows(plan, place, *tensors, pattern).numpy()
        except EditedRowError:
            refused += 1
            continue
        want = [one_by_one(plan, place, *each, pattern) for each in zip(scores, past, strict=True)]
        np.testing.assert_allclose(rows, want, atol=2e-6)
    assert 0 < refused < 36


def one_row(scores: list[float], **changes: Any) -> tuple[np.ndarray, RowContext]:
    rows = torch.tensor([[scores]])
    place = RowContext("cross", 2, HEAD, 7, 11, writes=False, alone=True)
    return edited_rows(HeadEdits(**changes), place, rows, rows.softmax(dim=-1), None).numpy()[0, 0], place


NO = -float("inf")


@pytest.mark.parametrize(
    ("scores", "changes", "says", "key"),
    [
        ([0.0, 1.0], {"hidden": [11, 12]}, "nothing left to look at", 0),
        ([0.0, NO, 1.0], {"cuts": {HEAD: [(7, 11)]}, "hidden": [13]}, "nothing left to look at", 0),
        ([0.0, NO, 1.0], {"weights": {HEAD: [(7, 12, 0.5)]}}, "that is masked", 12),
        ([0.0, 1.0], {"weights": {HEAD: [(7, 11, 0.5), (7, 12, 0.25)]}}, "no other key to take the rest", 0),
    ],
)
def test_a_row_that_cannot_be_is_named(scores: list[float], changes: Any, says: str, key: int) -> None:
    with pytest.raises(EditedRowError, match=says) as raised:
        one_row(scores, **changes)
    assert (raised.value.kind, raised.value.query, raised.value.key) == ("cross", 7, key)


def test_of_several_rows_that_cannot_be_the_first_is_named() -> None:
    scores, place = torch.zeros(2, 5, 4), RowContext("cross", 2, HEAD, 7, 11, writes=False, alone=True)
    scores[1, 2:] = scores[0, 3:] = torch.tensor([0, NO, NO, 0])
    for changes, query, key in (
        ({"hidden": [11, 14]}, 9, 0),
        ({"weights": {HEAD: [(11, 13, 0.5), (10, 12, 0.5), (9, 13, 0.5)]}}, 9, 13),
        ({"weights": {HEAD: [(at, key, 0.25) for at in (10, 9) for key in (11, 14)]}}, 9, 0),
    ):
        with pytest.raises(EditedRowError) as raised:
            edited_rows(HeadEdits(**changes), place, scores, scores.softmax(dim=-1), None)
        assert (raised.value.query, raised.value.key) == (query, key)


@pytest.mark.parametrize(
    ("scores", "changes", "want"),
    [
        ([0.0, NO], {"weights": {HEAD: [(7, 12, 0.0)]}}, [1, 0]),
        ([0.0, 0.0], {"weights": {HEAD: [(7, 11, 0.75), (7, 12, 0.25)]}}, [0.75, 0.25]),
        ([0.0, 0.0, 0.0], {"weights": {HEAD: [(7, 11, 1.0)]}}, [1, 0, 0]),
        ([0.0, 0.0], {"cuts": {HEAD: [(6, 11), (8, 12), (7, 10), (7, 13)]}, "hidden": [10, 13]}, [0.5, 0.5]),
        ([0.0, 0.0], {"cuts": {0: [(7, 11)]}, "weights": {0: [(7, 11, 1.0)]}}, [0.5, 0.5]),
    ],
)
def test_a_row_has_what_is_typed(scores: list[float], changes: Any, want: list[float]) -> None:
    np.testing.assert_allclose(one_row(scores, **changes)[0], want, atol=1e-6)


@pytest.mark.parametrize(
    ("kind", "writes", "alone", "shape", "total", "fits"),
    [
        ("encoder", False, True, (4, 5), 1.0, True),
        ("encoder", False, True, (4, 6), 1.0, False),
        ("encoder", False, True, (5, 5), 1.0, False),
        ("encoder", False, False, (3, 5), 1.0, False),
        ("encoder", False, False, (6, 7), 1.0, True),
        ("encoder", False, True, (4, 5), 0.99, False),
        ("encoder", False, True, (4, 5), 1.0005, True),
        ("cross", True, True, (3, 5), 1.0, True),
        ("cross", True, True, (3, 6), 1.0, False),
        ("cross", True, False, (7, 5), 1.0, True),
        ("cross", False, True, (3, 5), 1.0, False),
        ("decoder", True, True, (3, 3), 1.0, True),
        ("decoder", False, True, (3, 3), 1.0, False),
        ("decoder", False, True, (4, 5), 1.0, True),
    ],
)
def test_a_pattern_fits_or_is_refused(
    kind: Any, writes: bool, alone: bool, shape: tuple[int, int], total: float, fits: bool
) -> None:
    pattern = np.zeros(shape)
    pattern[:, 0] = total
    plan = HeadEdits(replaced={HEAD: HeadPatched(kind, 1, HEAD, "abc")})
    place, scores = RowContext(kind, 1, HEAD, 0, 0, writes=writes, alone=alone), torch.zeros(1, 4, 5)
    if not fits:
        with pytest.raises(EditError, match=f"L1·H3 cannot be patched .* is over {shape[0]} by {shape[1]} .* over 4 by 5"):
            edited_rows(plan, place, scores, scores.softmax(dim=-1), pattern)
        return
    rows = edited_rows(plan, place, scores, scores.softmax(dim=-1), pattern).numpy()[0]
    np.testing.assert_allclose(rows[: shape[0], 0], total)
    np.testing.assert_allclose(rows[shape[0] :], 0.2)


@pytest.mark.parametrize(
    ("changes", "heads"),
    [
        ({"zero": {1}, "hidden": [0]}, [0, 2, 3]),
        ({"zero": {1}, "cuts": {1: [], 3: []}, "weights": {2: []}, "replaced": {0: MEAN}}, [0, 2, 3]),
        ({"replaced": {2: UNIFORM}}, [2]),
    ],
)
def test_heads_whose_weights_must_be_known(changes: Any, heads: list[int]) -> None:
    assert HeadEdits(**changes).computed(4) == heads


@pytest.mark.parametrize("more", [0.0, 5e-7, 1e-4])
def test_a_number_that_was_rounded_is_the_weight_that_it_was(more: float) -> None:
    scores = [0.0, 1.0, 2.0]
    own = torch.tensor(scores).softmax(dim=-1).numpy()
    rows = one_row(scores, weights={HEAD: [(7, 12, float(own[1]) + more)]})[0]
    assert bool((rows == own).all()) == (more < 1e-5)
