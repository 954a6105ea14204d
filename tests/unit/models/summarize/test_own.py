"""A summarizer's trace: the encoder's layers as they are, then its own, computed here once more from their weights."""

import json
import threading
from typing import cast

import numpy as np
import pytest
import torch

import attnviz
from attnviz.core.errors import ModelError, ModelNotFoundError, PromptError
from attnviz.core.trace import Prompt
from attnviz.models.base import AttentionModel, silent
from attnviz.models.shipped import load_trained
from attnviz.models.summarize.own import SummaryModel, read, sentence_numbers
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


def test_special_tokens_belong_to_the_sentence_beside_them():
    tokens = (special("[CLS]"), *typed("a. b."), special("[SEP]"))
    assert sentence_numbers(tokens, Sentences(((0, 2), (3, 5)))).tolist() == [0, 0, 1, 1]


def test_given_sentences_change_what_is_seen(model):
    prompt = Prompt(TEXT)
    one = model.trace_sentences(prompt, Sentences(((0, len(TEXT)),))).encoder.layer_weights(6)
    assert np.abs(one - model.trace(prompt).encoder.layer_weights(6)).max() > 1e-3


def test_two_threads_get_what_each_gets_alone(model):
    texts = [TEXT, "Another text. It is shorter."]
    alone = [model.trace(text).encoder.layer_weights(7) for text in texts]
    wrong = []

    def often(mine: int) -> None:
        torch.set_num_threads(1)
        for _ in range(3):
            if not np.array_equal(model.trace(texts[mine]).encoder.layer_weights(7), alone[mine]):
                wrong.append(mine)

    threads = [threading.Thread(target=often, args=(mine,)) for mine in (0, 1)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


def test_a_long_text_is_cut_and_one_that_is_none_is_refused(model):
    trace = model.trace("A word and more. " * 400)
    assert len(trace.encoder.keys) == 512
    assert trace.cut
    with pytest.raises(PromptError):
        model.trace("  ")


def test_a_folder_without_one_says_what_to_do(tmp_path):
    with pytest.raises(ModelNotFoundError, match="python -m recipes"):
        load_trained(tmp_path, silent)


@pytest.mark.parametrize("damaged", ["model.safetensors", "config.json"])
def test_a_damaged_folder_is_said_to_be(tmp_path, damaged):
    folder = tiny_summarizer(tmp_path / "it")
    (folder / damaged).write_bytes(b"{")
    with pytest.raises(ModelError, match="damaged"):
        load_trained(folder, silent)


def test_weights_of_another_size_are_said_to_be_damaged(tmp_path):
    folder = tiny_summarizer(tmp_path / "it")
    config = json.loads((folder / "config.json").read_text(encoding="utf-8"))
    config["model"]["n_layers"] = 3
    (folder / "config.json").write_text(json.dumps(config), encoding="utf-8")
    with pytest.raises(ModelError, match="damaged"):
        load_trained(folder, silent)
