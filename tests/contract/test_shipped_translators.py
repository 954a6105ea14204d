"""What travels in assets/models: whole, small enough, described by figures that belong to exactly these weights."""

import json
from typing import cast

import numpy as np
import pytest

from attnviz.core.trace import Prompt
from attnviz.models.shipped_models import load_trained
from attnviz.models.shipped_translators import TranslationModel
from attnviz.nn.decoding import Beam
from attnviz.settings import assets_folder

FOLDERS = sorted(path.parent for path in (assets_folder() / "models").glob("*/source.json"))
SENTENCES = ("I don't like cold water.", "Where did you see my cat?")

by_folder = pytest.mark.parametrize("folder", FOLDERS, ids=[folder.name for folder in FOLDERS])


@pytest.fixture(scope="module")
def models() -> dict[str, TranslationModel]:
    return {folder.name: cast(TranslationModel, load_trained(folder)) for folder in FOLDERS}


@pytest.mark.gate
@by_folder
@pytest.mark.parametrize("text", SENTENCES)
def test_it_translates_and_shows_how(folder, text, models):
    model = models[folder.name]
    trace, steps = model.steps(text)
    assert trace.revision == json.loads((folder / "metrics.json").read_text(encoding="utf-8"))["sha256"]
    assert trace.output.endswith(text[-1])
    assert len(trace.output.split()) >= 4
    np.testing.assert_allclose(trace.cross.layer_weights(0).sum(-1), 1, atol=1e-5)
    assert all(step.probability > 0.01 for step in steps)
    # What it says, forced, gives the very same alignment.
    forced = model.trace(Prompt(text, target=trace.output))
    np.testing.assert_allclose(forced.cross.layer_weights(0), trace.cross.layer_weights(0), atol=1e-5)
    assert model.translate(text)[0].text == trace.output
    best = model.translate(text, Beam(width=5))
    assert len({row.text for row in best}) > 1


# What no diagonal finds: a noun before its adjective, a participle at the end of its clause.
ACROSS = {
    "fr": (Prompt("The red car.", target="La voiture rouge."), {"voiture": "car", "rouge": "red"}),
    "de": (
        Prompt("I have never seen such a house.", target="Ich habe noch nie so ein Haus gesehen."),
        {"Haus": "house", "gesehen": "seen"},
    ),
}


@by_folder
def test_words_are_aligned_across_others(folder, models):
    """Of several heads, the one that was supervised."""
    prompt, expected = ACROSS[folder.name[-2:]]
    trace = models[folder.name].trace(prompt)
    weights = trace.cross.weights(*(models[folder.name].card.supervised_head or (0, 0)))
    matrix = dict(zip((token.text for token in trace.cross.queries), weights, strict=True))
    keys = [token.text for token in trace.cross.keys]
    assert {word: keys[matrix[word].argmax()] for word in expected} == expected
