"""The answerers that travel: whole, small, and what they are said to be."""

import json

import numpy as np
import pytest

import attnviz
from attnviz.core.trace import Prompt
from attnviz.models import catalog
from attnviz.models.question_answering import SpanFinder
from attnviz.settings import assets_folder
from attnviz.ui.prompt_box import examples

by_example = pytest.mark.parametrize("example", examples("answer"), ids=lambda example: example.label)


@pytest.fixture(scope="module")
def answer_en() -> SpanFinder:
    model = attnviz.load("answer-en")
    assert isinstance(model, SpanFinder)
    return model


def test_answer_en_travels_and_was_measured(answer_en):
    assert "answer-en" in catalog.available_for("answer")
    metrics = json.loads((assets_folder() / "models" / "answer-en" / "metrics.json").read_text(encoding="utf-8"))
    assert metrics["F1"] > metrics["EM"] > 50
    by_source = {name: row for name, row in metrics["by source"].items() if row}
    assert len(by_source) >= 4
    for row in by_source.values():
        assert row["declined of mismatched"] >= 85
        assert row["declined"] <= 15
    assert 0 < answer_en.decoding.declines_above < 1


@by_example
def test_an_example_has_the_answer_that_it_is_there_for(answer_en, example):
    actual = answer_en.answers(Prompt(example.text, question=example.question))
    assert actual.trace.output == example.answer
    for attention in actual.trace.maps:
        for layer in range(attention.n_layers):
            np.testing.assert_allclose(attention.layer_weights(layer).sum(axis=-1), 1, atol=1e-5)


@pytest.mark.gate
def test_an_answer_in_the_last_window_of_a_long_passage_is_found(answer_en):
    fox, bridge = examples("answer")[3], examples("answer")[0]
    passage = " ".join([bridge.text] * 12 + [fox.text])
    actual = answer_en.answers(Prompt(passage, question=fox.question))
    assert actual.result.best == len(actual.result.windows) - 1 > 1
    assert actual.trace.output == fox.answer
