"""Laws of the page Compute: every number it shows is the reference's, and every sum it writes out adds up as it reads."""

import re
from decimal import Decimal
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from attnviz.analysis.compute import worked_steps
from attnviz.core.head_inputs import PARAMETERS, Tables
from attnviz.models.worked_examples import compute
from attnviz.nn import reference
from tests.worded import MINUS, Matrix, Step, all_worded, worded

# Each is of twelve worked examples, whose steps are made in one run of Node.
laws = settings(max_examples=5, deadline=None, derandomize=True, database=None)


@st.composite
def examples(draw) -> tuple[Any, ...]:
    """What worked examples of every size, number of heads and mask are made of, rows that see nothing included.

    They are made outside: the check of their types draws numbers that Hypothesis does not know of.
    """
    n_tokens, n_heads = draw(st.integers(1, 6)), draw(st.sampled_from([1, 2, 3, 4]))
    dim = n_heads * draw(st.integers(1, 6 // n_heads))
    generator = np.random.default_rng(draw(st.integers(0, 2**31)))
    size = draw(st.sampled_from([0.1, 1.0, 3.0]))
    x = generator.normal(size=(n_tokens, dim)).round(draw(st.integers(1, 4)))
    matrices = [size * generator.normal(size=(dim, dim)) for _ in PARAMETERS]
    masks = {
        "none": np.ones((n_tokens, n_tokens), bool),
        "causal": np.tri(n_tokens, dtype=bool),
        "own": generator.random((n_tokens, n_tokens)) < 0.5,
    }
    visible = masks[draw(st.sampled_from(sorted(masks)))]
    return tuple(f"t{n}" for n in range(n_tokens)), x, *matrices, visible, n_heads, draw(st.booleans())


def expected(tables: Tables, head: int) -> dict[str, np.ndarray]:
    """Every matrix by the reference, under the name it has on the page."""
    parameters = {f"{name}.weight": getattr(tables, name).T for name in PARAMETERS}
    query, key, value = (reference.linear(tables.x, parameters, name) for name in PARAMETERS[:3])
    which = f"_{head}" if tables.n_heads > 1 else ""
    actual = {"X": tables.x, "Q": query, "K": key, "V": value, "W_O": tables.w_o}
    actual |= {"W_Q": tables.w_q, "W_K": tables.w_k, "W_V": tables.w_v}
    contexts = []
    for index in range(tables.n_heads):
        columns = slice(index * tables.head_dim, (index + 1) * tables.head_dim)
        scaling = None if tables.scaled else 1.0
        context, weights = reference.attend(
            query[:, columns], key[:, columns], value[:, columns], visible=tables.visible, scaling=scaling
        )
        contexts.append(context)
        actual[f"C_{index}"] = context
        if index == head:
            scores = query[:, columns] @ key[:, columns].T
            scaled = scores / np.sqrt(tables.head_dim) if tables.scaled else scores
            actual |= {f"S{which}": scores, f"S{which}′": scaled, f"M{which}": scaled, f"A{which}": weights}
            actual[f"C{which}"] = context
    actual["C"] = np.concatenate(contexts, axis=1)
    actual["Y"] = reference.linear(actual["C"], parameters, "w_o")
    return actual


def decimal(text: str) -> Decimal:
    return Decimal(text.replace(MINUS, "-"))


def total(text: str) -> Decimal:
    """The value of "0.37 − 1.10 + 2.73"."""
    return sum(
        (decimal(term.replace(" ", "")) for term in re.findall(rf"(?:^{MINUS}?|[+{MINUS}] )\d+\.\d\d", text)), Decimal(0)
    )


def shown_sums(step: Step) -> None:
    """What follows the factors is a sum of rounded terms, then their sum: the two must be equal, digit by digit."""
    for (row, column), origin in step.origins.items():
        assert origin.text.endswith(step.result.shown[row][column]) or "stays" in origin.text or "exactly" in origin.text
        if origin.text.count(" = ") == 2 and "·" in origin.text:
            _, terms, result = origin.text.split(" = ")
            assert total(terms) == decimal(result), origin.text


def follows(step: Step, before: Step) -> None:
    """A step computes its result from the matrices that it shows, and names for every cell the cells that it came from."""
    *operands, result = step.matrices
    left, right = operands[0], operands[-1]
    assert step.origins.keys() == set(np.ndindex(result.values.shape))
    if step.signs == ("×", "="):
        np.testing.assert_allclose(left.values @ right.values, result.values, atol=1e-6)
        cells = {(row, column): [left.place(row, at) for at in range(len(left.columns))]
                 + [right.place(at, column) for at in range(len(right.rows))] for row, column in step.origins}  # fmt: skip
        assert {at: list(origin.cells) for at, origin in step.origins.items()} == cells
    elif step.signs == ("→",):
        assert operands == [before.result]
        assert all(left.place(*at) in origin.cells or step.symbol == "softmax" for at, origin in step.origins.items())
    else:
        np.testing.assert_allclose(np.concatenate([each.values for each in operands], axis=1), result.values)
        width = len(left.columns)
        for (row, column), origin in step.origins.items():
            head, at = divmod(column, width)
            assert origin.cells == (operands[head].place(row, at),) == ((f"C_{head}", row, at),)
            assert origin.text == f"column {at} of head {head}: {operands[head].shown[row][at]}"
        assert [each.columns for each in operands] == [
            result.columns[at : at + width] for at in range(0, len(result.columns), width)
        ]


def told_of_scale(sentence: str, tables: Tables, scores: np.ndarray) -> None:
    """The sentence names the weight that the division by √d_k changes most, as it is without and with it."""
    found = re.search(
        r"division by √d_k, (t\d) → (t\d) (?:would be|is) (\S+)(?: instead of|; divided it would be) (\S+)\.$", sentence
    )
    powers = [
        np.exp(scores * scale - (scores * scale).max(axis=1, keepdims=True)) * tables.visible
        for scale in (1, tables.head_dim**-0.5)
    ]
    there, here = (power / np.where(power.any(axis=1), power.sum(axis=1), 1)[:, None] for power in powers)
    largest = np.abs(there - here).max()
    if found is None:
        assert largest < 0.02
        return
    cell = tables.tokens.index(found[1]), tables.tokens.index(found[2])
    assert abs(there - here)[cell] == pytest.approx(largest, abs=1e-6)
    assert [float(found[3]), float(found[4])] == pytest.approx([there[cell], here[cell]], abs=0.01)


def part_of(name: str, matrix: Matrix, whole: np.ndarray) -> np.ndarray:
    """What the reference says about the part of a matrix that is shown."""
    whole = whole.T if matrix.flipped else whole
    row, column = reversed(matrix.first) if matrix.flipped else matrix.first
    return whole[row : row + len(matrix.rows), column : column + len(matrix.columns)]


# Two thirds of the time went into checks of shapes, which tests/unit/analysis/compute has for the same functions.
@pytest.mark.usefixtures("unchecked")
@laws
@given(st.lists(st.tuples(examples(), st.integers(0, 3)), min_size=12, max_size=12))
def test_every_matrix_is_the_references_and_every_sum_adds_up(some: list[tuple[tuple[Any, ...], int]]) -> None:
    given_tables = [(tables := Tables(*parts), head % tables.n_heads) for parts, head in some]
    computed = [compute(tables) for tables, _ in given_tables]
    assert max(each.difference for each in computed) < 1e-6
    made = all_worded([worked_steps(tables, each, head) for (tables, head), each in zip(given_tables, computed, strict=True)])
    for (tables, head), steps in zip(given_tables, made, strict=True):
        check_steps(tables, head, steps)


def check_steps(tables: Tables, head: int, steps: tuple[Step, ...]) -> None:
    """Check every matrix against the reference, and that every sum adds up as it reads."""
    wanted = expected(tables, head)
    for before, step in pairwise(steps):
        follows(step, before)
    for step in steps:
        for matrix in step.matrices:
            oracle = part_of(matrix.name, matrix, wanted[matrix.name])
            np.testing.assert_allclose(matrix.values, oracle, atol=1e-6, rtol=0)
            for texts, values in zip(matrix.shown, matrix.values, strict=True):
                for text, value in zip(texts, values, strict=True):
                    # Rounded to nearest, or to the neighbour that makes the row add up.
                    assert text == f"{MINUS}∞" or abs(float(decimal(text)) - value) < (0.01 if matrix.weights else 0.00501)
        shown_sums(step)
    softmax = next(step for step in steps if step.result.weights)
    which = f"_{head}" if tables.n_heads > 1 else ""
    told_of_scale(softmax.sentence, tables, wanted[f"S{which}"].astype(float))
    weights = softmax.result
    # What is looked at first is the largest weight of a query that has a choice, where one has.
    rows = [row for row, seen in enumerate(tables.visible) if seen.sum() > 1] or range(len(tables.tokens))
    assert softmax.start[0] in rows
    assert weights.values[softmax.start] == weights.values[rows].max()
    for row, column in np.argwhere(~tables.visible).tolist():
        assert weights.values[row, column] == 0
        assert weights.shown[row][column] == "0.00"
    for texts, sum_of_row in zip(weights.shown, weights.totals, strict=True):
        assert sum(map(decimal, texts)) == decimal(sum_of_row) in (Decimal(0), Decimal(1))


@pytest.mark.parametrize(
    ("n_heads", "scaled", "masked", "formulas"),
    [
        (2, True, True, ["S_1 = Q_1 K_1ᵀ", "S_1′ = S_1 / √d_k", "M_1 = mask(S_1′)", "A_1 = softmax(M_1)", "C_1 = A_1 V_1",
                         "C = [C_0, C_1]"]),
        (2, False, True, ["S_1 = Q_1 K_1ᵀ", "M_1 = mask(S_1)", "A_1 = softmax(M_1)", "C_1 = A_1 V_1", "C = [C_0, C_1]"]),
        (1, True, False, ["S = Q Kᵀ", "S′ = S / √d_k", "A = softmax(S′)", "C = A V"]),
    ],
)  # fmt: skip
def test_the_formulas_name_what_stands_in_them(n_heads: int, scaled: bool, masked: bool, formulas: list[str]) -> None:
    visible = np.array([[True, False, not masked], [True, True, True], [True, True, False]]) | (not masked)
    x, *matrices = np.random.default_rng(5).normal(size=(5, 6, 6))
    parts: tuple[Any, ...] = ("t0", "t1", "t2"), x[:3], *matrices, visible, n_heads, scaled
    tables = Tables(*parts)
    steps = worded(worked_steps(tables, compute(tables), n_heads - 1))
    ends = [f"{name} = X W_{name}" for name in "QKV"], ["Y = C W_O"]
    assert [step.formula for step in steps] == ["X", *ends[0], *formulas, *ends[1]]
    assert "of 6 numbers" in steps[0].sentence
    one = np.ones((1, 1))
    single = Tables(("t0",), one, one, one, one, one, one.astype(bool))
    assert "of one number" in worded(worked_steps(single, compute(single), 0))[0].sentence
    blocks = {step.symbol: [matrix.blocks for matrix in step.matrices] for step in steps}
    assert (blocks["Q"], blocks["W_O"]) == ([1, n_heads, n_heads], [n_heads, 1, 1])
    labels = [matrix.label for step in steps if step.symbol in ("QKᵀ", "·V", "W_O") for matrix in step.matrices[:2]]
    assert labels == [*(["Q_1", "K_1ᵀ", "", "V_1"] if n_heads > 1 else ["", "Kᵀ", "", ""]), "", ""]
    by_symbol = {step.symbol: step for step in steps}
    if scaled:
        (before, root), step = (by_symbol["QKᵀ"].result, f"{(6 // n_heads) ** 0.5:.2f}"), by_symbol["÷√d"]
        texts = before.shown[2][1], step.result.shown[2][1]
        assert step.origins[2, 1].text == f"{texts[0]} / √{6 // n_heads} = {texts[0]} / {root} = {texts[1]}"
        assert f"√{6 // n_heads} = {root} takes" in step.sentence
    if masked:
        mask = by_symbol["mask"]
        assert mask.start == (0, 1)
        assert [["−∞" in mask.result.shown[row][column] for column in range(3)] for row in range(3)] == (~visible).tolist()
        assert (mask.origins[0, 1].text.split(":")[0], mask.origins[1, 1].text.split(":")[0]) == ("hidden", "may be seen")
