"""Toy training: held-out examples that are held out, figures against a count by hand, and the seed that decides all."""

import dataclasses
import json

import numpy as np
import pytest
import torch
from safetensors.torch import save as serialized

from attnviz.core.errors import ModelError
from attnviz.core.trace import Prompt
from attnviz.models import toy_model as toys
from attnviz.models.toy_config import PRESETS, ToyConfig, ToyRecipe
from attnviz.training.toy_training import (
    EVERY,
    HALF_ALIGNED,
    HALF_RIGHT,
    HELD_OUT,
    Milestones,
    Training,
    from_file,
    kept_back,
    to_file,
)
from recipes.translate.alignment_error import LinkedPair, alignment_error_rate
from tests.tiny import first_now

SMALL = ToyRecipe(ToyConfig("sort", "additive", dim=13), steps=7, batch=11)


def trained(recipe: ToyRecipe) -> Training:
    training = Training(recipe)
    while not training.ended:
        training.step()
    return training


@pytest.mark.parametrize("each", first_now(PRESETS, 3), ids=lambda each: each.name)
def test_every_preset_takes_a_step_and_is_a_model_that_traces(each):
    training = Training(each.recipe)
    first = training.look()
    assert training.step() > 0
    frame = training.look()
    assert any(not torch.equal(frame.weights[name], value) for name, value in first.weights.items())
    trace = toys.toy_model(each.recipe.model, frame.weights).trace(each.recipe.task.example)
    assert trace.cross.n_heads == each.recipe.model.n_heads
    for solved, weights in zip(training.held_out.solved, frame.alignments, strict=False):
        np.testing.assert_allclose(weights.sum(axis=3), 1, atol=1e-5)
        assert weights.shape[2] == len(solved.target) + 1
        assert weights.shape[3] == (len(solved.source) if each.recipe.masked else training.held_out.batch.source.shape[1])


def test_no_training_example_is_held_out():
    training = Training(SMALL)
    held = {"".join(each.source) for each in training.held_out.solved}
    assert len(training.held_out.solved) == HELD_OUT
    assert all(kept_back(text) for text in held)
    seen = {"".join(next(training._examples).source) for _ in range(500)}
    assert not seen & held


@pytest.fixture
def few(monkeypatch, unchecked):
    """A look measures fewer sources."""
    monkeypatch.setattr("attnviz.training.toy_training.HELD_OUT", 31)


@pytest.mark.usefixtures("few")
@pytest.mark.parametrize("kind", first_now(["additive", "transformer"]))
def test_a_look_agrees_with_writing_and_with_the_error_rate_of_the_evaluation(kind):
    recipe = ToyRecipe(ToyConfig("copy", kind, n_heads=2 if kind == "transformer" else 1, dim=22), steps=9, batch=11)
    training = trained(recipe)
    frame = training.look()
    model = toys.toy_model(recipe.model, frame.weights)
    right = []
    actual, gold = [], []
    layer, head = frame.best
    for solved in training.held_out.solved:
        text = "".join(solved.source)
        (written,) = model.translate(text)
        right.append(written.pieces == model.forced("".join(solved.target)))
        rows = model.trace(Prompt(text, target="".join(solved.target))).cross.weights(layer, head)
        linked = [row for row, links in enumerate(solved.possible) if links]
        actual.append(frozenset((int(rows[row].argmax()), row) for row in linked))
        links = [
            frozenset((key, row) for row, keys in enumerate(side) for key in keys) for side in (solved.sure, solved.possible)
        ]
        gold.append(LinkedPair((solved.source, solved.target), (text, ""), *links))
    assert frame.accuracy == np.mean(right)
    assert frame.error == pytest.approx(alignment_error_rate(actual, gold), abs=0.01)


def test_the_seed_decides_all():
    one, other = trained(SMALL), trained(SMALL)
    assert all(torch.equal(value, other.model.state_dict()[name]) for name, value in one.model.state_dict().items())
    changed = trained(dataclasses.replace(SMALL, seed=2))
    assert any(not torch.equal(value, changed.model.state_dict()[name]) for name, value in one.model.state_dict().items())


def test_the_seed_decides_which_steps_read_what_the_model_would_write():
    recipe = ToyRecipe(ToyConfig("sort", "additive", dim=11), steps=3, batch=7, teacher_forcing=0.5)
    losses = []
    for chance in range(2):
        training = Training(recipe)
        torch.manual_seed(chance)
        losses.append([training.step() for _ in range(3)])
    assert losses[0] == losses[1]


def test_a_look_changes_nothing():
    one, other = Training(SMALL), Training(SMALL)
    for _ in range(3):
        one.step()
        one.look()
        other.step()
    assert all(torch.equal(value, other.model.state_dict()[name]) for name, value in one.model.state_dict().items())


def test_padding_changes_nothing_where_it_is_masked_and_something_where_it_is_not():
    for recipe, same in ((SMALL, True), (dataclasses.replace(SMALL, masked=False), False)):
        training = trained(recipe)
        batch = training.held_out.batch
        lengths = [len(solved.source) for solved in training.held_out.solved]
        length, row = min((length, row) for row, length in enumerate(lengths))
        with torch.no_grad():
            padded = training.model(batch.source, batch.inputs)[0][row]
            alone = training.model(batch.source[row : row + 1, :length], batch.inputs[row : row + 1])[0][0]
        assert torch.allclose(padded, alone, atol=1e-5) == same


def test_a_file_gives_the_model_its_recipe_and_its_step_back(tmp_path):
    training = trained(SMALL)
    data = to_file(SMALL, training.look())
    again = from_file(data)
    assert (again.recipe, again.taken) == (SMALL, 7)
    np.testing.assert_array_equal(again.look().alignments[0], training.look().alignments[0])
    path = tmp_path / "toy.safetensors"
    path.write_bytes(data)
    assert (
        toys.load_file(path).trace("3141").output == toys.toy_model(SMALL.model, training.look().weights).trace("3141").output
    )


@pytest.mark.gate
@pytest.mark.usefixtures("few")
def test_which_came_first_is_decided_by_steps_whoever_looks():
    """A slow pace and a fast one differ in how often the model is looked at, and in nothing else."""
    recipe = ToyRecipe(ToyConfig("copy", "scaled", dim=34), steps=400, batch=32, learning_rate=2e-2)
    often, never = Training(recipe), Training(recipe)
    frames = []
    while None in (never.milestones.aligned, never.milestones.answered):
        often.step()
        never.step()
        if often.taken % EVERY in (0, 2):
            frames.append(often.look())
    assert often.milestones == never.milestones
    measured = [frame for frame in frames if frame.step % EVERY == 0]
    aligned = next(frame.step for frame in measured if frame.error <= HALF_ALIGNED)
    answered = next(frame.step for frame in measured if frame.accuracy >= HALF_RIGHT)
    assert never.milestones == Milestones(aligned, answered)
    # Of a model out of a file it is not known when it learned what it knows.
    opened = from_file(to_file(recipe, often.look()))
    for _ in range(EVERY):
        opened.step()
    assert opened.milestones == Milestones()


def saved(dtype: torch.dtype = torch.float32, **facts: object) -> bytes:
    """A file of somebody else's making."""
    weights = {name: value.to(dtype) for name, value in Training(SMALL).look().weights.items()}
    header = {"toy": dataclasses.asdict(SMALL.model), "recipe": {"steps": 7, "batch": 11}, "step": 3, **facts}
    return serialized(weights, {"attnviz": json.dumps(header)})


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16, torch.float64, torch.float8_e4m3fn], ids=str)
def test_weights_of_any_precision_are_opened(dtype):
    assert {value.dtype for value in from_file(saved(dtype)).model.state_dict().values()} == {torch.float32}


WHOLE = to_file(SMALL, Training(SMALL).look())


@pytest.mark.parametrize("data", [
    saved(torch.int8), saved(torch.complex64), saved(torch.bool), saved(toy=None), saved(toy=[]), saved(toy={"task": ["sort"]}),
    saved(toy={"task": chr(0xD83D), "kind": "additive"}), saved(recipe=[1]), saved(recipe={"steps": True}),
    saved(recipe={"batch": 10**5}), saved(recipe={"learning_rate": "1"}), saved(recipe={chr(0xD83D): 1}),
    serialized({}, {"attnviz": "[" * 100_000}), (100_000).to_bytes(8, "little") + b"[" * 100_000,
    b"", b"PK\x03\x04", WHOLE[:-9], WHOLE.replace(b'\\"sort\\"', b'\\"tort\\"'),
    WHOLE.replace(b'\\"dim\\": 13', b'\\"dim\\": 17'),
], ids=range(19))  # fmt: skip
def test_odd_files_are_refused_in_one_sentence(data):
    with pytest.raises(ModelError, match=r"saved on the page Train|(train|save) the model again") as caught:
        from_file(data)
    str(caught.value).encode()
