"""What travels in assets/models: whole, small enough, described by figures that belong to exactly these weights."""

import hashlib
import json

import numpy as np
import pytest

import attnviz
from attnviz.core.errors import ModelError
from attnviz.models import shipped_models
from attnviz.settings import assets_folder
from attnviz.survey.self_attention import self_attention
from recipes.answer.card import answerer_card
from recipes.summarize.card import summarizer_card
from recipes.translate.card import translator_card

FOLDERS = sorted(path.parent for path in (assets_folder() / "models").glob("*/config.json"))
FILES = {"model.safetensors", "config.json", "metrics.json", "card.md"}
# Of each kind: what writes its card, the most megabytes, and the further files and figures that it has.
KINDS = {
    "answerer": (answerer_card, 60, set(), set()),
    "summarizer": (summarizer_card, 5, set(), {"bytes"}),
    "seq2seq": (
        translator_card, 25, {"source.json", "target.json"}, {"bytes", "BLEU", "chrF", "BLEU beam 5", "BLEU signature"},
    ),
}  # fmt: skip


@pytest.mark.parametrize("folder", FOLDERS, ids=[folder.name for folder in FOLDERS])
def test_it_is_whole_and_small_and_its_figures_and_its_card_are_of_these_weights(folder):
    card, megabytes, files, figures = KINDS[shipped_models.kind_of(folder)]
    sizes = {path.name: path.stat().st_size for path in folder.iterdir()}
    assert set(sizes) == FILES | files
    assert sum(sizes.values()) <= megabytes * 1e6
    weights = (folder / "model.safetensors").read_bytes()
    metrics, config = (json.loads((folder / name).read_text(encoding="utf-8")) for name in ("metrics.json", "config.json"))
    assert metrics["sha256"] == hashlib.sha256(weights).hexdigest()
    assert metrics.get("bytes", len(weights)) == len(weights)
    assert {"hardware", "training hours", "seed", "commit"} | figures <= set(metrics)
    assert config["card"]["name"] == config.get("recipe", config["card"])["name"] == folder.name
    assert (folder / "card.md").read_text(encoding="utf-8") == card(config, metrics)


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=pytest.mark.gate) if name == "smollm2" else name for name in attnviz.available()]
)
def test_many_texts_look_at_themselves_as_each_does_alone(name: str) -> None:
    model, texts = attnviz.load(name), ("The cat sat.", "A dog ran away from there.")
    if name.startswith(("bahdanau", "bilstm", "dot-lstm")):
        with pytest.raises(ModelError, match="no attention of a text to itself"):
            list(self_attention(model, texts))
        return
    together = dict(self_attention(model, texts))
    for place, text in enumerate(texts):
        ((_, alone),) = self_attention(model, [text])
        assert together[place].keys == alone.keys
        for layer in range(alone.n_layers):
            weights = together[place].layer_weights(layer)
            np.testing.assert_allclose(weights, alone.layer_weights(layer), atol=1e-5)
            np.testing.assert_allclose(weights.sum(axis=-1), 1, atol=1e-5)
