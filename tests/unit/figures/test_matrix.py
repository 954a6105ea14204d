"""The record of a matrix: its numbers are the map's, its words as typed, and of many cells it has an image."""

import base64
import io

import numpy as np
import pytest
from PIL import Image

from attnviz.analysis.head_view import HeadMatrix, head_matrix
from attnviz.figures.explorer.overview import HeadMarks
from attnviz.figures.matrix import DrawnMatrix, Marks, labels, one_matrix
from attnviz.figures.theme import DARK, LIGHT, diverging, rgb
from tests.factories import make_map, numbered


def matrix(n_queries: int = 5, n_keys: int = 7, *, causal: bool = False) -> HeadMatrix:
    attention = make_map(numbered(n_queries), causal=True) if causal else make_map(numbered(n_queries), numbered(n_keys))
    return head_matrix(attention, layer=0, head=1)


def test_its_numbers_its_names_and_its_marks_are_the_heads():
    given, edited = matrix(), HeadMarks(cells=((2, 1, "cut"),), columns=(0,))
    record = one_matrix(given, Marks((3, 6), edited), number="norm share").record(LIGHT)
    np.testing.assert_allclose(record["weights"], given.weights.ravel(), atol=1e-7)
    assert (record["rows"], record["columns"]) == (labels(given.queries), labels(given.keys))
    assert (record["name"], record["selected"], record["masked"]) == ("norm share", (3, 6), None)
    assert record["edited"] == {"off": False, "cells": ((2, 1, "cut"),), "columns": (0,)}
    fitted = one_matrix(given, full_scale=False).record(LIGHT)
    assert (record["highest"], fitted["highest"]) == (1, pytest.approx(float(given.weights.max())))
    masked = one_matrix(matrix(causal=True)).record(LIGHT)["masked"]
    assert masked == [column > row for row in range(5) for column in range(5)]


@pytest.mark.parametrize("signed", [False, True])
def test_of_many_cells_there_is_an_image(signed: bool):
    weights = np.random.default_rng(3).random((53, 59)).astype(np.float32) - signed * 0.5
    visible = np.tri(53, 59, dtype=bool)
    names = [[token.text for token in numbered(count)] for count in weights.shape]
    record = DrawnMatrix("many", weights, *names, highest=0.7, signed=signed, visible=visible).record(DARK)
    pixels = np.asarray(Image.open(io.BytesIO(base64.b64decode(record["image"].split(",")[1]))))
    assert record["weights"] == []
    assert (pixels[..., 3] == np.where(visible, 255, 0)).all()
    share = round(float(weights[41, 13]) / 0.7, 3)
    assert tuple(pixels[41, 13, :3]) == rgb(diverging(share, DARK) if signed else DARK.colour(share))
