"""A summarizer's trace: the encoder's layers as they are, then its own, computed here once more from their weights."""

from typing import cast

import numpy as np
import pytest
import torch

import attnviz
from attnviz.analysis.summary_selection import attention_received_by_head, read_passage, selectors
from attnviz.core.edits import Edits, HeadSet
from attnviz.core.errors import PromptError
from attnviz.core.trace import Prompt
from attnviz.models.base import AttentionModel, silent
from attnviz.models.capabilities import bind_target
from attnviz.models.shipped_models import load_trained
from attnviz.models.shipped_summarizer import SummaryModel, read, sentence_numbers
from attnviz.text.sentences import Sentences
from tests.factories import special, typed
from tests.summarizers import tiny_summarizer

TEXT = "We propose a thing. It works well, e.g. here.\n\nThe end 😀"


@pytest.fixture(scope="module")
def model(tmp_path_factory) -> SummaryModel:
    return cast(SummaryModel, load_trained(tiny_summarizer(tmp_path_factory.mktemp("summarizer")), silent))


def test_it_is_a_model_like_any_other(model):
    assert isinstance(model, AttentionModel)
    card = model.card
    assert (card.name, card.architecture, card.n_layers, card.n_heads, card.selects) == (
        "tiny-summarizer",
        "encoder",
        8,
        12,
        (6, 7),
    )
    assert card.licence == "Apache-2.0"
    assert any("MiniLM" in source for source in card.sources)
    trace = model.trace(TEXT)
    assert (trace.encoder.n_layers, trace.encoder.n_heads) == (8, 12)
    assert [token.text for token in trace.encoder.keys][:4] == ["[CLS]", "We", "propose", "a"]


def test_the_encoders_layers_are_untouched(model):
    wanted, got = attnviz.load("minilm").trace(TEXT).encoder, model.trace(TEXT).encoder
    for layer in range(6):
        np.testing.assert_allclose(got.layer_weights(layer), wanted.layer_weights(layer), atol=1e-6)


def test_its_own_layers_are_those_of_its_forward_pass(model):
    _, states, _ = read(model.encoder, TEXT)
    trace = model.trace(TEXT)
    numbers = sentence_numbers(trace.encoder.keys, Sentences.of(TEXT))
    assert numbers.unique().tolist() == [0, 1, 2]
    with torch.no_grad():
        _, weights = model.summarizer(states, numbers[None])
    for layer, wanted in enumerate(weights, 6):
        got = trace.encoder.layer_weights(layer)
        np.testing.assert_allclose(got, wanted[0].numpy(), atol=1e-5)
        np.testing.assert_allclose(got.sum(-1), 1, atol=1e-5)


def test_the_sentence_that_is_explained_is_the_one_that_is_kept(model):
    trace = model.trace(TEXT)
    trained = selectors(read_passage(TEXT, trace.encoder.keys), trace, selects=model.card.selects, layer=0, head=None)[0]
    for place, share in enumerate(trained.sentences):
        bound = bind_target(model, TEXT, f"sentence:{place}")
        assert float(bound.outcome(bound.ids[None]).score) == pytest.approx(share, abs=1e-5)
    start, end = Sentences.of(TEXT).spans[int(trained.sentences.argmax())]
    assert bind_target(model, TEXT).target == f"the sentence “{TEXT[start:end]}”"


def test_what_a_head_costs_is_of_what_words_receive_as_summarize_shows_it(model):
    off = Edits.of(HeadSet("encoder", 6, 1))
    before, after = (
        attention_received_by_head(trace.encoder)[model.card.selects[0]].mean(axis=0)[1:-1].astype(float)
        for trace in (model.trace(TEXT), model.trace(TEXT, off))
    )
    (got,) = model.scorer(Prompt(TEXT)).scores([off])
    assert got == pytest.approx(before @ after / (np.linalg.norm(before) * np.linalg.norm(after)) - 1, abs=1e-6)


def test_special_tokens_belong_to_the_sentence_beside_them():
    tokens = (special("[CLS]"), *typed("a. b."), special("[SEP]"))
    assert sentence_numbers(tokens, Sentences(((0, 2), (3, 5)))).tolist() == [0, 0, 1, 1]


def test_given_sentences_change_what_is_seen(model):
    prompt = Prompt(TEXT)
    one = model.trace_sentences(prompt, Sentences(((0, len(TEXT)),))).encoder.layer_weights(6)
    assert np.abs(one - model.trace(prompt).encoder.layer_weights(6)).max() > 1e-3


def test_a_long_text_is_cut_and_one_that_is_none_is_refused(model):
    trace = model.trace("A word and more. " * 400)
    assert len(trace.encoder.keys) == 512
    assert trace.cut
    with pytest.raises(PromptError):
        model.trace("  ")
