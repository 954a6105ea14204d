"""The oracle held to numbers worked out by hand: it must not need torch to be right."""

import ast
import inspect

import numpy as np
import pytest

from attnviz.nn import reference
from tests import mechanisms


def test_attention_worked_out_by_hand():
    """Scores log 1, log 2, log 5 give the weights 1/8, 2/8, 5/8."""
    query, key = np.ones((1, 1)), np.log([[1.0], [2.0], [5.0]])
    context, weights = reference.attend(query, key, np.array([[8.0], [4.0], [0.0]]))
    np.testing.assert_allclose(weights, [[0.125, 0.25, 0.625]])
    np.testing.assert_allclose(context, [[2.0]])
    _, masked = reference.attend(query, key, key, visible=np.array([[True, False, True]]))
    np.testing.assert_allclose(masked, [[1 / 6, 0, 5 / 6]])


def test_the_scale_is_one_over_the_root_of_the_dimension():
    query, key = np.ones((1, 4)), np.array([[0.0] * 4, [np.log(3) / 2] * 4])
    np.testing.assert_allclose(reference.attend(query, key, key)[1], [[0.25, 0.75]])
    np.testing.assert_allclose(reference.attend(query, key, key, scaling=1.0)[1], [[0.1, 0.9]])


@pytest.mark.filterwarnings("error")
def test_softmax_neither_overflows_nor_divides_by_zero():
    scores = np.array([[1e308, -1e308, 1e308], [0, np.inf, np.nan], [1, 2, 3]])
    visible = np.array([[True, False, True], [True, False, False], [False, False, False]])
    assert reference.softmax(scores, visible).tolist() == [[0.5, 0, 0.5], [1, 0, 0], [0, 0, 0]]


def test_additive_alignment_worked_out_by_hand():
    """v = log 3 / tanh 1, W s = 1: the key at -1 has the energy 0, the key at 0 the energy log 3."""
    parameters = {"query.weight": np.ones((1, 1)), "key.weight": np.ones((1, 1))}
    parameters["energy.weight"] = np.array([[np.log(3) / np.tanh(1)]])
    context, alignment = mechanisms.additive_attention(np.ones((1, 1, 1)), np.array([[[-1.0], [0.0]]]), parameters)
    np.testing.assert_allclose(alignment, [[[0.25, 0.75]]])
    np.testing.assert_allclose(context, [[[-0.25]]])


def test_the_oracle_is_independent():
    tree = ast.parse(inspect.getsource(reference))
    modules = {node.module for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)}
    modules |= {alias.name for node in ast.walk(tree) if isinstance(node, ast.Import) for alias in node.names}
    assert modules == {"collections.abc", "numpy", "jaxtyping"}
