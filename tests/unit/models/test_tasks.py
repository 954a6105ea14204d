"""What a model is told in front of a text is not the person's: it is special, and nothing else moves."""

import numpy as np
import pytest

import attnviz
from attnviz.core.edits import NO_EDITS
from attnviz.core.trace import Prompt
from attnviz.models.base import DecodingOptions
from attnviz.models.capabilities import capabilities
from attnviz.models.tasks import SUMMARIZE, draft, summarize
from attnviz.models.translation import TRANSLATE
from tests.tiny import FAMILY

TEXT = "the cat sat on the mat because it was tired ."
ENGLISH, FRENCH = "the animal: ", "the mat: "


@pytest.fixture(autouse=True)
def _briefly(monkeypatch):
    """A model that learned nothing writes until it may not."""
    monkeypatch.setattr("attnviz.models.hub.seq2seq.MAX_WRITTEN", 32)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("t5")
    model = FAMILY["t5"].save(folder)
    model.config.task_specific_params = {"summarization": {"prefix": ENGLISH}, "translation_en_to_fr": {"prefix": FRENCH}}
    model.config.save_pretrained(folder)
    return folder


def test_the_prefix_comes_from_the_models_configuration(folder):
    model = capabilities(attnviz.load(str(folder)))
    assert (model.task_prefix(SUMMARIZE), model.task_prefix(TRANSLATE)) == (ENGLISH, FRENCH)
    assert capabilities(attnviz.load("minilm")).task_prefix(SUMMARIZE) == ""


@pytest.mark.gate
def test_the_model_reads_it_and_the_person_did_not_type_it(folder):
    model = attnviz.load(str(folder))
    trace, whole = summarize(model, Prompt(TEXT)), model.trace(ENGLISH + TEXT)
    assert trace.prompt.text == TEXT
    assert trace.output == whole.output
    for kind in ("encoder", "cross"):
        np.testing.assert_array_equal(trace.map(kind).layer_weights(1), whole.map(kind).layer_weights(1))
    typed = [token for token in trace.cross.keys if not token.special]
    assert typed
    assert all(TEXT[token.start : token.end] == token.text for token in typed)
    assert [token.text for token in typed] == [token.text for token in model.trace(TEXT).cross.keys if not token.special]
    assert trace.cross.queries == whole.cross.queries


@pytest.mark.parametrize(
    ("prompt", "options"),
    [
        (Prompt(TEXT), DecodingOptions()),
        pytest.param(Prompt(TEXT), DecodingOptions(width=2, candidate=1), marks=pytest.mark.gate),
        (Prompt(TEXT, target="the cat"), DecodingOptions()),
    ],
    ids=["greedy", "beam", "forced"],
)
def test_a_translation_is_that_of_the_told_text(folder, prompt, options):
    model = attnviz.load(str(folder))
    actual, whole = draft(model, prompt, options), model.trace(Prompt(FRENCH + TEXT, target=prompt.target))
    assert (actual.trace.prompt, actual.task_prefix) == (prompt, FRENCH)
    typed = [token for token in actual.trace.cross.keys if not token.special]
    assert [token.text for token in typed] == [TEXT[token.start : token.end] for token in typed]
    assert [token.text for token in actual.trace.cross.keys] == [token.text for token in whole.cross.keys]
    np.testing.assert_array_equal(actual.trace.encoder.layer_weights(1), whole.encoder.layer_weights(1))


@pytest.mark.parametrize("prompt", [Prompt(TEXT), Prompt(TEXT, target="the cat")], ids=["greedy", "forced"])
def test_heads_cost_the_translation_of_the_told_text(folder, prompt):
    model = attnviz.load(str(folder))
    (before,) = capabilities(model).scorer(prompt).scores([NO_EDITS])
    assert before == pytest.approx(draft(model, prompt, DecodingOptions()).log_probability, abs=1e-3)


def test_a_model_that_is_told_nothing_is_traced_as_it_is(tmp_path):
    FAMILY["bart"].save(tmp_path)
    model = attnviz.load(str(tmp_path))
    assert summarize(model, Prompt(TEXT)).cross.keys == model.trace(TEXT).cross.keys
