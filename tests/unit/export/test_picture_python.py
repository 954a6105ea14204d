"""The lines that make a picture, run."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import plotly.graph_objects as go
import pytest

import attnviz
from attnviz.analysis.head_view import View
from attnviz.core.trace import Prompt
from attnviz.export import picture
from attnviz.export.picture import Source, lines, trace_expression

TEXT = 'It\'s "unbelievable" \\ 😀\nthe end.'


@pytest.fixture
def shown(monkeypatch: pytest.MonkeyPatch) -> list[go.Figure]:
    figures: list[go.Figure] = []
    monkeypatch.setattr(go.Figure, "show", lambda figure: figures.append(figure))
    return figures


@pytest.mark.parametrize(
    ("prompt", "head", "view", "full_scale"),
    [(Prompt(TEXT), 7, View(), True), (Prompt(TEXT, pair="And 'more'."), None, View(words=True, hide_special=True), False)],
    ids=["head", "mean"],
)
def test_the_lines_make_this_very_picture(
    shown: list[go.Figure], prompt: Prompt, head: int | None, view: View, full_scale: bool
) -> None:
    given = picture(attnviz.load("minilm").trace(prompt), layer=4, head=head, view=view)
    exec(lines(replace(given, full_scale=full_scale)), {})
    cells = shown[0].data[0]
    np.testing.assert_array_equal(np.array(cells.z), given.matrix.weights)
    assert cells.zmax == (1.0 if full_scale else pytest.approx(float(given.matrix.weights.max())))


def test_a_trace_from_a_file_is_opened_from_it(shown: list[go.Figure], tmp_path: Path) -> None:
    given = picture(attnviz.load("minilm").trace("A file."), layer=2, head=3)
    path = attnviz.save(given.trace, tmp_path / "x.attn", exact=True)
    exec(lines(given, Source(f"av.open({str(path)!r})")), {})
    np.testing.assert_array_equal(np.array(shown[0].data[0].z), given.matrix.weights)


def test_names_are_quoted() -> None:
    assert trace_expression("it's/mine", Prompt("a")) == "av.load(\"it's/mine\").trace('a')"
