"""Packing the weights of a translator: what that changes is measured and stands on its card; nothing else of it changes."""

import gzip
import json
import shutil

import numpy as np
import pytest
from safetensors.torch import load_file, save_file

from attnviz.core.whole_files import sha256
from attnviz.models.shipped_models import unpacked
from attnviz.models.shipped_translators import TranslationModel
from recipes.__main__ import main
from recipes.export import load_trained_as
from recipes.translate.packing import PACKING, largest_weight_change, packing_section
from tests.answerers import tiny_answerer
from tests.translators import PAIRS, tiny_translator


@pytest.fixture(params=["additive", "transformer"])
def folder(request, tmp_path):
    """A translator with weights in half precision, which was measured."""
    made = tiny_translator(tmp_path / "made", request.param)
    halves = {name: value.half().contiguous() for name, value in unpacked(load_file(made / "model.safetensors")).items()}
    # Numbers that no step of theirs meets.
    save_file({name: value * 1.01 for name, value in halves.items()}, made / "model.safetensors")
    (made / "metrics.json").write_text(json.dumps({"parameters": 7, "BLEU": 1.5, "BLEU beam 5": 2.5}))
    return made


@pytest.fixture
def data(tmp_path):
    path = tmp_path / "data"
    path.mkdir()
    with gzip.open(path / "tatoeba-en-fr.dev.tsv.gz", "wt", encoding="utf-8") as file:
        file.writelines(f"{source}\t{target}\n" for source, target in PAIRS)
    return path


def test_what_packing_changes_is_measured_and_stands_on_the_card(folder, data, tmp_path, capsys):
    config = (folder / "config.json").read_bytes()
    before = load_trained_as(TranslationModel, folder)
    assert main(["pack", str(folder), "--data", str(data)]) == 0
    after, metrics = load_trained_as(TranslationModel, folder), json.loads((folder / "metrics.json").read_text())
    assert (folder / "config.json").read_bytes() == config
    assert metrics["sha256"] == sha256(folder / "model.safetensors")
    assert metrics["BLEU beam 5"] == 2.5
    measured = metrics[PACKING]
    assert measured["texts"] == len(PAIRS)
    assert measured["weight"] == pytest.approx(largest_weight_change(before, after, [pair[0] for pair in PAIRS]), abs=5e-5)
    assert measured["weight"] > 0
    assert measured["BLEU"][1] == pytest.approx(metrics["BLEU"])
    card = (folder / "card.md").read_text(encoding="utf-8")
    assert packing_section(json.loads(config), metrics)[-1] in card
    assert f"{measured['weight']:.4f}" in card
    whole = sha256(folder / "model.safetensors")
    assert main(["pack", str(folder), "--data", str(data)]) == 1
    assert "packed already" in capsys.readouterr().err
    assert sha256(folder / "model.safetensors") == whole


def test_where_data_are_missing_the_folder_stays_as_it_was(folder, tmp_path, capsys):
    copy = shutil.copytree(folder, tmp_path / "copy")
    assert main(["pack", str(copy), "--data", str(tmp_path)]) == 1
    assert "tatoeba-en-fr.dev" in capsys.readouterr().err
    assert {path.name: path.read_bytes() for path in copy.iterdir()} == {
        path.name: path.read_bytes() for path in folder.iterdir()
    }


def test_another_kind_of_model_is_refused(data, tmp_path, capsys):
    assert main(["pack", str(tiny_answerer(tmp_path / "answerer")), "--data", str(data)]) == 1
    assert "another kind" in capsys.readouterr().err


def test_the_largest_change_is_that_of_one_head_of_one_layer(tmp_path):
    one, other = (load_trained_as(TranslationModel, tiny_translator(tmp_path / str(n), "transformer", seed=n)) for n in (3, 5))
    text = PAIRS[0][0]
    assert largest_weight_change(one, one, [text]) == 0
    traces = [model.trace(f"{text}") for model in (one, other)]
    encoders = [np.stack([trace.encoder.layer_weights(layer) for layer in range(2)]) for trace in traces]
    assert largest_weight_change(one, other, [text]) >= np.abs(encoders[0] - encoders[1]).max() - 1e-6
