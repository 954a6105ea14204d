"""What a trace does at a prompt: each method gives what the layer above gives."""

import html

import numpy as np
import pytest

from attnviz.analysis.view import View, head_matrix
from attnviz.core.errors import TraceError
from attnviz.core.trace import AttentionTrace, Prompt
from attnviz.figures.bertviz import views as bertviz
from attnviz.figures.explorer import page
from attnviz.figures.translate.sentence_pair import sentence_pair
from tests.factories import make_map, typed

SOURCE, TARGET = typed("the un|believ|able <cat>"), typed("le chat incroy|able & noir")


@pytest.fixture
def trace() -> AttentionTrace:
    maps = (make_map(SOURCE, layers=2, heads=3), make_map(TARGET, SOURCE, layers=5, heads=7))
    return AttentionTrace("tiny", Prompt("the unbelievable <cat>"), maps, "le chat incroyable & noir")


def test_a_heatmap_is_of_the_head_that_is_asked_for(trace: AttentionTrace) -> None:
    got = trace.heatmap(layer=1, head=2, kind="encoder")
    np.testing.assert_array_equal(np.array(got.data[0].z), trace.encoder.weights(1, 2))
    usual = trace.heatmap()
    np.testing.assert_allclose(np.array(usual.data[0].z), trace.cross.layer_weights(4).mean(axis=0))
    with pytest.raises(TraceError, match="no head 7"):
        trace.heatmap(head=7)


def test_an_alignment_is_a_page_of_its_own(trace: AttentionTrace) -> None:
    page = trace.alignment(layer=2, head=5)
    assert sentence_pair(head_matrix(trace.cross, layer=2, head=5, view=View(words=True))) in page
    assert page.startswith("<!doctype html>")
    assert html.escape(page) in page._repr_html_()
    assert "incroyable" in page
    assert "&lt;cat&gt;" in page
    assert "incroyable" not in trace.alignment(words=False)
    with pytest.raises(TraceError, match="no cross attention"):
        AttentionTrace("m", Prompt("a"), trace.maps[:1]).alignment()


def test_a_grid_is_of_one_map(trace: AttentionTrace) -> None:
    alone = AttentionTrace(trace.model, trace.prompt, (trace.encoder,), trace.output)
    assert trace.grid(kind="encoder") == page(alone, opens=("encoder", 0, 0))
    assert trace.grid().count("data-package>") == 1
    with pytest.raises(TraceError, match="no decoder"):
        trace.grid(kind="decoder")


def test_bertviz_gets_the_map_that_is_asked_for(trace: AttentionTrace) -> None:
    assert trace.to_bertviz() == bertviz.head_view(trace.cross)
    assert trace.to_bertviz("model", kind="encoder") == bertviz.model_view(trace.encoder)
    assert "<iframe srcdoc=" in trace.to_bertviz()._repr_html_()
