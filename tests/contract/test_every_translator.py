"""What every translator of our own must keep, one kind a parameter; tiny ones with random weights, saved and loaded."""

import math
from typing import cast

import numpy as np
import pytest
import torch

from attnviz.core.errors import ModelError, PromptError
from attnviz.core.trace import Prompt
from attnviz.models.base import AttentionModel
from attnviz.models.shipped_models import load_trained
from attnviz.models.shipped_translators import MAX_TOKENS, TranslationModel
from attnviz.nn.decoding import END, Beam
from attnviz.nn.encoder import BlockConfig
from attnviz.nn.lstm_translator import RecurrentConfig
from recipes.translate.card import export_translator
from recipes.translate.evaluate import translate_all
from recipes.translate.recipe import Corpus, LSTMSpec, Recipe, TransformerSpec
from recipes.translate.sentence_pairs import Sentence, Tokenizers
from tests.translators import tiny_translator

pytestmark = pytest.mark.usefixtures("brief")
BLOCK = BlockConfig(dim=22, n_heads=2, hidden=13, norm="before")
KINDS = {
    "dot": LSTMSpec("dot", RecurrentConfig(dim=11, hidden=13, n_layers=2, bidirectional=False)),
    "scaled": LSTMSpec("scaled", RecurrentConfig(dim=11, hidden=13)),
    "additive": LSTMSpec("additive", RecurrentConfig(dim=11, hidden=13, n_layers=3)),
    "transformer": TransformerSpec(3, BLOCK),
}
TEXT = "The dog, which isn't Tom's, didn't eat."
TARGET = "Le chien qui n'est pas à Tom n'a pas mangé !"
TEXTS = [TEXT, "Tom's dog.", "It isn't the dog that Tom didn't eat, is it?", "Eat!"]


@pytest.fixture(scope="module", params=KINDS)
def model(request, tmp_path_factory) -> TranslationModel:
    folder = tmp_path_factory.mktemp(request.param)
    tokenizers = Tokenizers.trained([Sentence(text, (TARGET,)) for text in TEXTS], ("en", "fr"), (79, 61))
    tokenizers.source.save(str(folder / "source.json"))
    tokenizers.target.save(str(folder / "target.json"))
    torch.manual_seed(7)
    recipe = Recipe("tiny", "made for a test", "https://arxiv.org/abs/1409.0473", KINDS[request.param], Corpus())
    sizes = tokenizers.source.get_vocab_size(), tokenizers.target.get_vocab_size()
    # Weights of this size make random models say something else for every text.
    weights = {name: 3 * value for name, value in recipe.model.untrained_model(*sizes).state_dict().items()}
    export_translator(recipe, weights, folder, folder / "out")
    return cast(TranslationModel, load_trained(folder / "out"))


def test_it_is_a_model_like_any_other(model):
    assert isinstance(model, AttentionModel)
    card = model.card
    assert (card.name, card.architecture, card.reads, card.languages) == ("tiny", "encoder-decoder", ("target",), ("en", "fr"))
    assert card.licence == "CC-BY-2.0"
    assert any("tatoeba.org" in source for source in card.sources)
    trace = model.trace(TEXT)
    assert (trace.cross.n_layers, trace.cross.n_heads) == (card.n_layers, card.n_heads)
    assert trace.kinds == (("cross",) if card.n_heads == 1 else ("encoder", "decoder", "cross"))


def test_forcing_its_own_translation_gives_the_same_trace(model):
    # Only a translation that ended by itself, and whose text is cut as it was written, can be typed back.
    own = [text for text in TEXTS if _retypable(model, text)]
    for text in own:
        greedy = model.trace(text)
        forced = model.trace(Prompt(text, target=greedy.output))
        assert forced.output == greedy.output
        for mine, theirs in zip(greedy.maps, forced.maps, strict=True):
            assert [token.text for token in mine.queries] == [token.text for token in theirs.queries]
            for layer in range(mine.n_layers):
                np.testing.assert_allclose(mine.layer_weights(layer), theirs.layer_weights(layer), atol=1e-6)


def _retypable(model, text) -> bool:
    (best,) = model.translate(text)
    return best.text != "" and (*model.target.encode(best.text).ids, END) == best.pieces


@pytest.mark.usefixtures("unchecked")
def test_a_beam_of_one_is_greedy_and_a_wider_one_is_no_worse(model):
    for text in TEXTS:
        (one,) = model.translate(text)
        assert model.trace(text).output == one.text
        wide = model.translate(text, Beam(width=7, length_penalty=0.0))
        assert len(wide) == 7
        ended = [row.log_probability for row in wide if row.pieces[-1] == END]
        assert ended == sorted(ended, reverse=True)


def test_the_probabilities_of_the_steps_are_those_of_the_translation(model):
    trace, steps = model.steps(TEXT)
    (best,) = model.translate(TEXT)
    assert "".join(step.token.text for step in steps if not step.token.special) == best.text.replace(" ", "")
    for step in steps:
        values = [value for _, value in step.alternatives]
        assert len(values) == 5
        assert values == sorted(values, reverse=True)
        assert 0 <= step.probability <= values[0] + 1e-6
    assert len(trace.cross.queries) == len(steps)
    assert best.log_probability == pytest.approx(sum(math.log(step.probability) for step in steps), abs=1e-4)


def test_decoding_goes_on_from_a_prefix(model):
    best = model.translate(TEXT, Beam(width=2))[0]
    prefix = best.pieces[:2]
    (resumed,) = model.translate(TEXT, prefix=prefix)
    assert resumed.pieces[:2] == prefix
    (greedy,) = model.translate(TEXT)
    (same,) = model.translate(TEXT, prefix=greedy.pieces[:3])
    assert same.pieces == greedy.pieces
    assert same.log_probability == pytest.approx(greedy.log_probability, abs=1e-3)


def test_many_texts_are_translated_as_each_alone(model):
    assert translate_all(model, TEXTS, size=3) == [model.trace(text).output for text in TEXTS]


def test_tokens_stand_where_they_were_typed(model):
    trace = model.trace(TEXT)
    keys = trace.cross.keys
    assert all(TEXT[token.start : token.end] == token.text for token in keys)
    assert "".join(token.text for token in keys) == TEXT.replace(" ", "")
    assert len({token.word for token in keys}) == len(
        ["The", "dog", ",", "which", "isn't", "Tom", "'s", ",", "didn't", "eat", "."]
    )
    written = [token for token in trace.cross.queries if not token.special]
    assert all(trace.output[token.start : token.end] == token.text for token in written)
    # An LSTM's last row writes the end; a Transformer's first reads the start.
    ends = [token.text for token in trace.cross.queries if token.special]
    assert ends in ([], ["</s>"] if model.card.n_heads == 1 else ["<s>"])


def test_unknown_characters_are_shown_as_typed(model):
    keys = model.trace("Tom 猫 dog").cross.keys
    assert "猫" in [token.text for token in keys]
    assert any(token.piece.endswith("<unk>") for token in keys)


def test_padding_start_and_unknown_are_never_written(model):
    for text in TEXTS:
        for row in model.translate(text, Beam(width=5)):
            assert not {0, 1, 3} & set(row.pieces)


def test_a_text_that_is_too_long_is_cut_and_still_translated(model):
    text = "dog " * 200
    trace = model.trace(text)
    assert len(trace.cross.keys) == MAX_TOKENS
    assert trace.cut == trace.cross.keys[-1].end


def test_a_target_that_is_too_long_is_refused(model):
    with pytest.raises(PromptError, match="writes at most 127 tokens"):
        model.trace(Prompt(TEXT, target="chien " * 200))


def test_a_head_that_was_told_stands_on_the_card(tmp_path):
    assert load_trained(tiny_translator(tmp_path / "none", "transformer")).card.supervised_head is None
    assert load_trained(tiny_translator(tmp_path / "one", "transformer", supervised_head=(1, 0))).card.supervised_head == (1, 0)
    with pytest.raises(ModelError, match="damaged"):
        load_trained(tiny_translator(tmp_path / "wrong", "transformer", supervised_head=(2, 0)))
