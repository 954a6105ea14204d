"""Laws of the page Compute: every number it shows is the reference's, and every sum it writes out adds up as it reads."""

import re
from decimal import Decimal
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from attnviz.analysis.compute.rounding import MINUS
from attnviz.analysis.compute.steps import ComputationStep, Matrix
from attnviz.analysis.compute.worked_example import worked_steps
from attnviz.core.head_inputs import PARAMETERS, Computed, Tables
from attnviz.models.compute.worked_example import compute
from attnviz.nn import reference

laws = settings(max_examples=200, deadline=None, derandomize=True, database=None)


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


def shown_sums(step: ComputationStep) -> None:
    """What follows the factors is a sum of rounded terms, then their sum: the two must be equal, digit by digit."""
    for (row, column), origin in step.origins.items():
        assert origin.text.endswith(step.result.shown[row][column]) or "stays" in origin.text or "exactly" in origin.text
        if origin.text.count(" = ") == 2 and "·" in origin.text:
            _, terms, result = origin.text.split(" = ")
            assert total(terms) == decimal(result), origin.text


def part_of(name: str, matrix: Matrix, whole: np.ndarray) -> np.ndarray:
    """What the reference says about the part of a matrix that is shown."""
    whole = whole.T if matrix.flipped else whole
    row, column = reversed(matrix.first) if matrix.flipped else matrix.first
    return whole[row : row + len(matrix.rows), column : column + len(matrix.columns)]


# Two thirds of the time went into checks of shapes, which tests/unit/figures/test_computation.py has for the same functions.
@pytest.mark.usefixtures("unchecked")
@laws
@given(examples(), st.data())
def test_every_matrix_is_the_references_and_every_sum_adds_up(parts: tuple[Any, ...], data: st.DataObject) -> None:
    tables = Tables(*parts)
    head = data.draw(st.integers(0, tables.n_heads - 1))
    computed: Computed = compute(tables)
    assert computed.difference < 1e-6
    wanted = expected(tables, head)
    steps = worked_steps(tables, computed, head)
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
