"""The one loader of our own models: it goes by the kind that a folder names, and says what is wrong with one."""

import json
import sys
from dataclasses import replace
from pathlib import Path
from types import ModuleType
from typing import Any, cast

import numpy as np
import pytest
import torch
from safetensors.torch import save_file

import attnviz
from attnviz.core.edits import NO_EDITS, Edits
from attnviz.core.errors import EditError, ModelError, ModelNotFoundError
from attnviz.core.trace import AttentionTrace, Prompt
from attnviz.models import catalog, shipped_models
from attnviz.models.base import ModelCard
from attnviz.models.capabilities import Capabilities, bind_target, capabilities
from attnviz.models.shipped_answerer import AnswerModel
from attnviz.models.shipped_summarizer import SummaryModel
from attnviz.models.shipped_translators import TranslationModel
from attnviz.models.tasks import run_task
from recipes.export import load_trained_as
from tests.answerers import tiny_answerer
from tests.factories import given_map, typed
from tests.summarizers import tiny_summarizer
from tests.translators import tiny_translator

KINDS = {tiny_translator: TranslationModel, tiny_answerer: AnswerModel, tiny_summarizer: SummaryModel}
FILES = [*((make, file) for make in KINDS for file in ("model.safetensors", "config.json")), (tiny_translator, "source.json")]


@pytest.mark.parametrize("make", KINDS)
def test_a_folder_is_loaded_by_the_kind_that_it_names(tmp_path: Path, make) -> None:
    folder = make(tmp_path / "model")
    assert type(attnviz.load(folder)) is type(attnviz.load(str(folder))) is KINDS[make]
    assert shipped_models.kind_of(folder) in shipped_models.KINDS
    with pytest.raises(ModelError, match="is of another kind"):
        load_trained_as(Path, folder)


@pytest.mark.parametrize(("make", "file"), FILES)
def test_a_damaged_folder_is_said_to_be(tmp_path: Path, make, file: str) -> None:
    folder = make(tmp_path / "model")
    (folder / file).write_bytes(b"{")
    with pytest.raises(ModelError, match="damaged"):
        shipped_models.load_trained(folder)


def test_weights_of_another_size_are_said_to_be_damaged(tmp_path: Path) -> None:
    config = json.loads((folder := tiny_summarizer(tmp_path)).joinpath("config.json").read_text(encoding="utf-8"))
    config["model"]["n_layers"] = 3
    (folder / "config.json").write_text(json.dumps(config), encoding="utf-8")
    with pytest.raises(ModelError, match="damaged"):
        shipped_models.load_trained(folder)


@pytest.mark.parametrize("make", KINDS)
def test_a_model_has_the_type_and_place_of_its_weights_whatever_a_user_has_set(tmp_path: Path, make) -> None:
    folder = make(tmp_path / "model")
    prompt = Prompt("the cat sat on the mat", question="what sat")
    want = attnviz.load(folder).trace(prompt)
    torch.set_default_dtype(torch.float64)
    try:
        got = shipped_models.load_trained(folder).trace(prompt)
    finally:
        torch.set_default_dtype(torch.float32)
    with torch.autocast("cpu", torch.bfloat16), torch.device("meta"):
        mixed = attnviz.load(folder).trace(prompt)
    for one, another, other in zip(got.maps, mixed.maps, want.maps, strict=True):
        np.testing.assert_array_equal(one.layer_weights(one.n_layers - 1), other.layer_weights(one.n_layers - 1))
        np.testing.assert_array_equal(another.layer_weights(one.n_layers - 1), other.layer_weights(one.n_layers - 1))


def test_an_unknown_kind_and_no_model_at_all(tmp_path: Path) -> None:
    with pytest.raises(ModelNotFoundError, match="python -m recipes"):
        shipped_models.load_trained(tmp_path)
    for text in ("[]", "{", json.dumps({"kind": []}), json.dumps({"kind": "unknown"})):
        (tmp_path / "config.json").write_text(text, encoding="utf-8")
        assert shipped_models.kind_of(tmp_path) == ""
        with pytest.raises(ModelError, match="damaged"):
            shipped_models.load_trained(tmp_path)


def test_every_model_of_the_catalog_is_found_by_its_task() -> None:
    by_task = [catalog.available_for(task) for task in ("encode", "translate", "answer", "summarize", "write")]
    assert sorted(name for names in by_task for name in names) == sorted(catalog.available())


class Uniform(Capabilities):
    """Looks at every word alike."""

    card: ModelCard

    def __init__(self, card: ModelCard) -> None:
        self.card = card

    def trace(self, prompt: Prompt | str, edits: Edits | str = NO_EDITS) -> AttentionTrace:
        asked = Prompt.of(prompt)
        words = typed(asked.text)
        return AttentionTrace(self.card.name, asked, (given_map(np.full((len(words),) * 2, 1 / len(words)), words),))


def test_a_new_kind_of_model_is_a_line_of_the_table_and_a_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The file is a module of attnviz.models that builds it; the line makes it known to everything else."""
    file: Any = ModuleType("attnviz.models.encode.uniform")
    file.uniform = lambda saved, progress: Uniform(replace(attnviz.load("minilm").card, name=saved.config["card"]["name"]))
    monkeypatch.setitem(sys.modules, file.__name__, file)
    monkeypatch.setitem(cast(dict, shipped_models.KINDS), "uniform", "attnviz.models.encode.uniform:uniform")
    (tmp_path / "config.json").write_text(json.dumps({"kind": "uniform", "card": {"name": "mine"}}), encoding="utf-8")
    save_file({}, str(tmp_path / "model.safetensors"))
    model = attnviz.load(tmp_path)
    result = run_task(model, "encode", Prompt("a b c"))
    assert (result.trace.model, result.trace.encoder.weights(0, 0)[1, 2]) == ("mine", pytest.approx(1 / 3))
    with pytest.raises(EditError, match="mine cannot be edited"):
        capabilities(model).scorer(Prompt("a b c"))
    with pytest.raises(ModelError, match="mine"):
        bind_target(model, Prompt("a b c"))
