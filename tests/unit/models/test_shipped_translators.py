"""The translation that a person asks for is the one that is traced."""

import math
from typing import cast

import numpy as np
import pytest

import attnviz
from attnviz.analysis.translation_alignment import TRAINED_TOKENS
from attnviz.core.errors import PromptError
from attnviz.core.trace import Prompt
from attnviz.models.base import DecodingOptions
from attnviz.models.shipped_translators import TranslationModel
from attnviz.models.tasks import draft
from attnviz.nn.decoding import Beam
from recipes.translate.recipe import Corpus
from tests.translators import KINDS, tiny_translator

pytestmark = pytest.mark.usefixtures("brief")
PROMPT = Prompt("The red car is not Tom's.")


@pytest.fixture(scope="module", params=KINDS)
def model(request, tmp_path_factory) -> TranslationModel:
    return cast(TranslationModel, attnviz.load(str(tiny_translator(tmp_path_factory.mktemp("models"), request.param))))


def test_greedy_is_the_models_own_trace(model):
    actual, trace = draft(model, PROMPT, DecodingOptions()), model.trace(PROMPT)
    assert actual.trace.output == trace.output
    np.testing.assert_array_equal(actual.trace.cross.layer_weights(0), trace.cross.layer_weights(0))
    assert len(actual.candidates) == 1
    assert actual.log_probability == pytest.approx(sum(math.log(step.probability) for step in actual.steps), abs=0.5)


def test_each_candidate_of_a_beam_can_be_looked_at(model):
    wanted = model.translate(PROMPT.text, Beam(3, 1.0))
    for place, one in enumerate(wanted):
        actual = draft(model, PROMPT, DecodingOptions(3, 1.0, candidate=place))
        assert (actual.chosen, actual.trace.output, actual.log_probability) == (place, one.text, one.log_probability)
        assert model.pieces(actual.pieces) == one.pieces
    assert draft(model, PROMPT, DecodingOptions(3, candidate=99)).chosen == 2


def test_decoding_goes_on_from_what_was_chosen(model):
    own = draft(model, PROMPT, DecodingOptions())
    closed = (own.pieces[1], "<unk>", "<s>", "<pad>")
    name = next(name for name, _ in own.steps[1].alternatives if name not in closed)
    begins = (own.pieces[0], name)
    steered = draft(model, PROMPT, DecodingOptions(begins=begins))
    assert steered.pieces[:2] == begins
    assert steered.trace.output != own.trace.output
    assert steered.steps[0].probability == pytest.approx(own.steps[0].probability, abs=1e-5)
    assert steered.steps[1].probability == pytest.approx(dict(own.steps[1].alternatives)[name], abs=1e-5)


def test_a_translation_can_be_ended(model):
    own = draft(model, PROMPT, DecodingOptions())
    ended = draft(model, PROMPT, DecodingOptions(begins=(own.pieces[0], "</s>")))
    assert ended.pieces == (own.pieces[0], "</s>")
    assert len(ended.steps) == 2


def test_a_given_target_stands_above_all_and_is_compared_with_the_models_own(model):
    actual = draft(model, Prompt(PROMPT.text, target="La voiture n'est pas rouge."), DecodingOptions(3, begins=("nonsense",)))
    assert actual.trace.output == "La voiture n'est pas rouge."
    assert actual.own == model.translate(PROMPT.text)[0]
    assert actual.log_probability == pytest.approx(sum(math.log(step.probability) for step in actual.steps))
    assert not actual.pieces


@pytest.mark.parametrize("name", ["nonsense", "", "<unk>", "<s>"])
def test_what_is_no_piece_is_refused(model, name):
    with pytest.raises(PromptError, match="has no piece"):
        draft(model, PROMPT, DecodingOptions(begins=(name,)))


@pytest.mark.parametrize("text", ["👩\u200d👩\u200d👧", "👍🏽", "❤️", "🇫🇷"])
def test_what_is_drawn_as_one_sign_is_one_word(model, text):
    tokens = [token for token in model.trace(f"a {text} b isn't 3.5").cross.keys if token.end]
    of_sign = [token.word for token in tokens if 2 <= token.start < 2 + len(text)]
    assert len(of_sign) > 1
    assert len(set(of_sign)) == 1
    assert [token.word for token in tokens if token.text == "."] != [token.word for token in tokens if token.text == "3"]


def test_a_model_that_does_not_translate_is_refused():
    with pytest.raises(PromptError, match="minilm does not translate"):
        draft(attnviz.load("minilm"), PROMPT, DecodingOptions())


def test_the_page_knows_how_long_the_training_texts_were():
    assert Corpus().longest == TRAINED_TOKENS


@pytest.mark.usefixtures("unchecked")
@pytest.mark.parametrize("wished", [
    {"width": 0}, {"width": 11}, {"width": 10**9}, {"width": -1}, {"width": 2.0}, {"width": None}, {"candidate": -1},
    {"candidate": "1"}, {"begins": "le"}, {"begins": (1,)}, {"length_penalty": float("nan")},
    {"length_penalty": float("inf")}, {"length_penalty": "1"},
], ids=repr)  # fmt: skip
def test_what_cannot_be_wished_for_is_told(wished):
    with pytest.raises(PromptError, match="DecodingOptions"):
        DecodingOptions(**wished)
