"""The summarizer that travels: whole, small, and as good as it is said to be."""

import json

import numpy as np
import pytest

import attnviz
from attnviz.analysis.summary_selection import Amount, choose, read_passage, selectors
from attnviz.settings import assets_folder
from attnviz.ui.prompt_box import examples

FOLDER = assets_folder() / "models" / "summarize-en"
ALONE = "Attention alone, the best of all ways"


@pytest.fixture(scope="module")
def metrics() -> dict:
    return json.loads((FOLDER / "metrics.json").read_text(encoding="utf-8"))


@pytest.fixture(scope="module")
def model():
    return attnviz.load("summarize-en")


@pytest.mark.parametrize("measure", ["ROUGE-1", "ROUGE-2", "ROUGE-L"])
def test_it_chooses_better_sentences_than_attention_alone_and_than_the_first(metrics, measure):
    trained = metrics[f"Trained selector: {measure}"]
    # The last is the best of 160 ways, found on the very abstracts that it is measured on.
    for other in ("First", "Random", "Attention rollout", "Attention, last layer (L5)", ALONE):
        assert trained >= metrics[f"{other}: {measure}"] + 3
    assert metrics[f"Best sentence there is: {measure}"] > metrics[f"Trained selector: {measure}"]


def test_it_chooses_better_words_than_chance(metrics):
    assert metrics["Trained selector: words at 15"] >= 1.3 * metrics["Random: words at 15"]


@pytest.mark.parametrize("example", examples("summarize"), ids=lambda example: example.label)
def test_it_reads_every_example(model, example):
    trace = model.trace(example.text)
    for layer in range(trace.encoder.n_layers):
        np.testing.assert_allclose(trace.encoder.layer_weights(layer).sum(-1), 1, atol=1e-5)
    actual = read_passage(example.text, trace.encoder.keys)
    assert len(actual.sentences) > 2
    way = selectors(actual, trace, selects=model.card.selects, layer=0, head=0)[0]
    kept = choose(actual, way.units, way.sentences, Amount(5))
    assert actual.extract(kept.sentences) in example.text
    assert len(actual.words(kept.units).split()) == 5


def test_an_abstracts_proposal_is_found(model):
    example = next(each for each in examples("summarize") if each.label == "An abstract")
    actual = read_passage(example.text, (trace := model.trace(example.text)).encoder.keys)
    way = selectors(actual, trace, selects=model.card.selects, layer=0, head=0)[0]
    assert actual.extract(choose(actual, way.units, way.sentences, Amount(5)).sentences).startswith("We propose")
