"""Pictures of a trace in one line: each function gives what the module that draws it gives."""

import html
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import attnviz
from attnviz.analysis.head_view import View, head_matrix
from attnviz.core.errors import ArgumentError, TraceError
from attnviz.core.trace import AttentionTrace, Prompt
from attnviz.figures import bertviz_views
from attnviz.figures.explorer import page
from attnviz.figures.translate.alignments import sentence_pair
from attnviz.models.base import ModelCard
from attnviz.models.result import Result
from tests.factories import make_map, typed

SOURCE, TARGET = typed("the un|believ|able <cat>"), typed("le chat incroy|able & noir")


@pytest.fixture
def trace() -> AttentionTrace:
    maps = (make_map(SOURCE, layers=2, heads=3), make_map(TARGET, SOURCE, layers=5, heads=7))
    return AttentionTrace("tiny", Prompt("the unbelievable <cat>"), maps, "le chat incroyable & noir")


def test_a_heatmap_is_of_the_head_that_is_asked_for(trace: AttentionTrace) -> None:
    got = attnviz.heatmap(trace, layer=1, head=2, kind="encoder")
    np.testing.assert_array_equal(np.array(got.data[0].z), trace.encoder.weights(1, 2))
    usual = attnviz.heatmap(trace)
    np.testing.assert_allclose(np.array(usual.data[0].z), trace.cross.layer_weights(4).mean(axis=0))
    with pytest.raises(TraceError, match="no head 7"):
        attnviz.heatmap(trace, head=7)


@pytest.mark.usefixtures("unchecked")
@pytest.mark.parametrize(
    "draw", [attnviz.alignment, attnviz.bertviz, attnviz.explore, attnviz.grid, attnviz.heatmap], ids=lambda it: it.__name__
)
def test_what_is_no_trace_is_told(trace: AttentionTrace, tmp_path: Path, draw: Callable[[Any], object]) -> None:
    """A result is what most take for its trace."""
    result: Any = Result(trace, ModelCard("tiny", "translates", "encoder-decoder", 5, 7, 1, 9, "cpu"), 0.1)
    for given, words in ((result, "not a Result: give its `trace`"), ("tiny", "not str 'tiny'")):
        with pytest.raises(ArgumentError, match=words):
            draw(given)
        with pytest.raises(ArgumentError, match=words):
            attnviz.compare(trace, given)
        with pytest.raises(ArgumentError, match=words):
            attnviz.rank_heads(given, "the")
        with pytest.raises(ArgumentError, match=words):
            attnviz.save(given, tmp_path / "x.attn")
    draw(result.trace)


@pytest.mark.usefixtures("unchecked")
def test_what_is_no_view_look_or_place_is_told(trace: AttentionTrace) -> None:
    wrong: Any = "words"
    for draw in (attnviz.explore, attnviz.grid, attnviz.heatmap):
        with pytest.raises(ArgumentError, match=r"such as View\(words=True\), not str 'words'"):
            draw(trace, view=wrong)
    with pytest.raises(ArgumentError, match=r"such as Look\(full_scale=False\), not str 'words'"):
        attnviz.heatmap(trace, look=wrong)
    several: Any = [0, 1]
    for draw in (attnviz.alignment, attnviz.heatmap):
        with pytest.raises(TraceError, match="A layer is a whole number, 0 to 4, not a list"):
            draw(trace, layer=several)
        with pytest.raises(TraceError, match="A head is a whole number, 0 to 6, not bool True"):
            draw(trace, head=True)


def test_an_alignment_is_a_page_of_its_own(trace: AttentionTrace) -> None:
    page = attnviz.alignment(trace, layer=2, head=5)
    assert sentence_pair(head_matrix(trace.cross, layer=2, head=5, view=View(words=True))) in page
    assert page.startswith("<!doctype html>")
    assert html.escape(page) in page._repr_html_()
    assert "incroyable" in page
    assert "&lt;cat&gt;" in page
    assert "incroyable" not in attnviz.alignment(trace, words=False)
    with pytest.raises(TraceError, match="no cross attention"):
        attnviz.alignment(AttentionTrace("m", Prompt("a"), trace.maps[:1]))


def test_a_grid_is_of_one_map(trace: AttentionTrace) -> None:
    alone = AttentionTrace(trace.model, trace.prompt, (trace.encoder,), trace.output)
    assert attnviz.grid(trace, kind="encoder") == page(alone, opens=("encoder", 0, 0))
    assert attnviz.grid(trace).count("data-package>") == 1
    with pytest.raises(TraceError, match="no decoder"):
        attnviz.grid(trace, kind="decoder")


@pytest.mark.usefixtures("unchecked")
def test_bertviz_gets_the_map_that_is_asked_for(trace: AttentionTrace) -> None:
    neuron: Any = "neuron"
    assert attnviz.bertviz(trace) == bertviz_views.head_view(trace.cross)
    assert attnviz.bertviz(trace, "model", kind="encoder") == bertviz_views.model_view(trace.encoder)
    assert "<iframe srcdoc=" in attnviz.bertviz(trace)._repr_html_()
    with pytest.raises(TraceError, match="head and model, not str 'neuron'"):
        attnviz.bertviz(trace, neuron)
