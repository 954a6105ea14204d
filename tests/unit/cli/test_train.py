"""`attnviz train`, as it is typed: a toy by the loop of the page Train, and no other model."""

import dataclasses

import pytest
import torch

from attnviz import cli
from attnviz.models.toy_config import preset
from attnviz.training.toy_training import Training, from_file


def test_the_shell_trains_by_the_same_loop(tmp_path, capsys):
    assert cli.main(["train", "toy-reverse", "--runs", str(tmp_path), "--steps", "3", "--seed", "2"]) == 0
    assert "step 3 " in capsys.readouterr().out.splitlines()[-2]
    training = Training(dataclasses.replace(preset("toy-reverse").recipe, steps=3, seed=2))
    while not training.ended:
        training.step()
    saved = from_file((tmp_path / "toy-reverse.safetensors").read_bytes())
    assert all(torch.equal(value, saved.model.state_dict()[name]) for name, value in training.model.state_dict().items())


def test_a_toy_is_saved_where_one_says(tmp_path):
    out = tmp_path / "mine.safetensors"
    assert cli.main(["train", "toy-copy", "--runs", str(tmp_path), "--steps", "1", "--out", str(out)]) == 0
    assert from_file(out.read_bytes()).recipe.task.name == "copy"
    assert list(tmp_path.iterdir()) == [out]


@pytest.mark.parametrize(
    ("name", "why"),
    [
        ("toy-revers", "choose toy-reverse."),
        # It has no recipe here, either.
        ("minilm", "or toy-unmasked."),
        ("answer-en", "python -m recipes answer-en --data FOLDER trains it."),
    ],
)
def test_a_name_that_is_no_toy_is_one_line(capsys, tmp_path, name, why):
    assert cli.main(["train", name, "--data", str(tmp_path)]) == 1
    said = capsys.readouterr().err
    assert said.startswith("attnviz: ")
    assert said.endswith(f"{why}\n")
    assert said.count("\n") == 1


@pytest.mark.parametrize(
    ("option", "value"),
    [("--seed", "9" * 20), ("--steps", "9" * 20), ("--steps", "0"), ("--seed", "0"), ("--seed", "-1"), ("--steps", "100001")],
)
def test_a_number_that_no_toy_has_is_one_line(capsys, tmp_path, option, value):
    assert cli.main(["train", "toy-copy", "--runs", str(tmp_path), option, value]) == 1
    assert f"attnviz: {option} is a whole number from 1 to 100,000" in capsys.readouterr().err
