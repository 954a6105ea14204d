"""The Train page's script without a browser: settings, addresses, who waits, and one's own input, good or bad."""

import threading
import time
from collections import UserDict
from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import pytest
import torch
from streamlit.testing.v1 import AppTest

from attnviz.core.errors import BusyError
from attnviz.export import grids_and_matrices
from attnviz.models.toy_config import PRESETS, Preset, ToyConfig, ToyRecipe
from attnviz.training.background_run import Line, LiveRun
from attnviz.training.induction import train as short
from attnviz.training.toy_training import Milestones, Training, to_file
from attnviz.ui.train import induction, view
from attnviz.ui.train import view as training
from tests.tiny import first_now
from tests.visits import open_page, press, script

# One of each kind of setting.
NAMED = ("toy-copy", "toy-heads", "toy-unmasked")


@pytest.fixture(autouse=True)
def _few_held_out(monkeypatch: pytest.MonkeyPatch) -> None:
    """A look measures fewer sources: what the page shows is the first of them."""
    monkeypatch.setattr("attnviz.training.toy_training.HELD_OUT", 31)


def first_look(recipe: ToyRecipe) -> LiveRun:
    return LiveRun(Training(recipe), Line(1))


@pytest.fixture
def app() -> Iterator[AppTest]:
    opened = script("train")
    yield opened
    if "run" in opened.session_state and opened.session_state.run:
        opened.session_state.run.stop()


def train(app: AppTest, **address: str) -> None:
    """Train for a few steps, to their end."""
    app.query_params.update({"steps": "20", **address})
    app.run()
    press(app, "Start")
    run = app.session_state.run
    started = time.monotonic()
    while run.active:
        assert time.monotonic() - started < 100
        run.watched()
        time.sleep(0.05)
    app.run()


def test_the_first_visit_is_the_first_preset_ready_to_start(app):
    app.run()
    assert not app.exception
    assert app.session_state.run.recipe == PRESETS[0].recipe
    assert app.button[0].label == "Start"
    assert any(PRESETS[0].notice in caption.value for caption in app.caption)


def watch_one() -> None:
    from attnviz.models.toy_config import PRESETS
    from attnviz.training.background_run import Line, LiveRun
    from attnviz.training.toy_training import Training
    from attnviz.ui.train.view import watch

    watch(LiveRun(Training(PRESETS[0].recipe), Line(1)), None)


class Overtaken(UserDict[str, object]):
    """A session of which another script takes away what has just been read."""

    def __getitem__(self, key: str) -> object:
        return self.data.pop(key)


def test_two_scripts_can_end_a_run_at_once(monkeypatch):
    run = first_look(PRESETS[0].recipe)
    session = Overtaken(run=run)
    monkeypatch.setattr(view.st, "session_state", session)
    view.open_run(run.training)
    assert session.run is not run


def test_a_run_that_another_script_has_ended_meanwhile_is_drawn_as_it_was():
    drawn = AppTest.from_function(watch_one, default_timeout=60).run()
    assert not drawn.exception
    assert drawn.button[0].label == "Start"


@pytest.mark.parametrize("preset", first_now(each for each in PRESETS if each.name in NAMED), ids=lambda preset: preset.name)
def test_a_chip_is_its_recipe_and_its_address_opens_it_again(app, preset):
    app.run()
    app.pills(key="preset").set_value(preset.label).run()
    assert not app.exception
    assert app.session_state.run.recipe == preset.recipe
    again = script("train")
    for name, value in app.query_params.items():
        again.query_params[name] = value
    again.run()
    assert again.session_state.run.recipe == preset.recipe


@pytest.mark.parametrize("masked", first_now([True, False]))
@pytest.mark.parametrize("task", ["sort", "numbers", "reverse"])
def test_the_download_draws_the_sequence_of_the_picture_and_has_its_size(task: str, masked: bool) -> None:
    """Untrained, too: a model that writes by itself would not end. Of the fifth seed the longest source is not drawn."""
    kind = "transformer" if task == "reverse" else "additive"
    recipe = replace(next(each.recipe for each in PRESETS if (each.recipe.task.name, each.recipe.model.kind) == (task, kind)),
                     masked=masked, seed=5)  # fmt: skip
    run = first_look(recipe)
    (frame,), solved = run.frames, run.training.held_out.solved[0]
    picture = view.shown_download(run, frame, None).picture()
    np.testing.assert_allclose(picture.matrix.weights, frame.alignments[0][frame.best], atol=1e-6)
    assert tuple(token.text for token in picture.matrix.keys)[: len(solved.source)] == solved.source
    assert tuple(token.text for token in picture.matrix.queries)[:-1] == solved.target
    sheet = grids_and_matrices.draw_matrix(picture)
    assert max(sheet.width, sheet.height) < 700


@pytest.mark.gate
def test_what_the_page_offers_first_is_its_picture(app: AppTest, monkeypatch: pytest.MonkeyPatch) -> None:
    offered = []
    monkeypatch.setattr("attnviz.ui.download.download_button", lambda shown, own: offered.append(shown))
    monkeypatch.setattr("attnviz.ui.download.download_button", lambda shown, own: offered.append(shown))
    train(app)
    before, after = offered[0], offered[-1]
    source = app.session_state.run.training.held_out.solved[0].source
    assert [len(before), len(after)] == [1, 2]
    assert all(tuple(token.text for token in each[0].picture().matrix.keys) == source for each in (before, after))


def test_a_transformers_scores_may_stay_undivided_and_it_says_what_to_look_for(app):
    app.query_params.update({"kind": "transformer", "divided": "off"})
    app.run()
    assert not app.exception
    assert app.session_state.run.recipe.model == ToyConfig("reverse", "transformer", scaled=False)
    assert app.session_state.run.training.model.blocks[0].cross.scaling == 1
    assert any("Not divided by √d" in caption.value for caption in app.caption)
    app.segmented_control(key="toy_divided").set_value("on").run()
    assert app.session_state.run.recipe.model.scaled


def test_an_address_that_makes_no_sense_opens_something_that_does(app):
    for name, value in {
        "task": "x",
        "kind": "<script>",
        "layers": "99",
        "steps": "-5",
        "first": "1e9",
        "forcing": "nan",
    }.items():
        app.query_params[name] = value
    app.run()
    assert not app.exception
    assert app.session_state.run.recipe.steps == 20


def test_a_trained_model_reads_ones_own_input_and_says_what_it_cannot_read(app):
    train(app)
    assert "Trained at step 20" in app.select_slider[0].label
    for text, said in (("héllo", "never seen “é”"), ("", "nothing to read"), ("a" * 40, "at most 32")):
        app.text_input(key="typed_reverse").set_value(text)
        press(app, "Run")
        assert said in app.error[0].value
        assert app.text_input(key="typed_reverse").value == text
    app.text_input(key="typed_reverse").set_value("hello")
    press(app, "Run")
    assert not app.error
    assert any("olleh" in caption.value for caption in app.caption)


def test_the_address_keeps_of_a_cell_what_the_trial_has(app: AppTest) -> None:
    train(app, query1="999", key1="2")
    assert "query1" not in app.query_params
    assert app.query_params["key1"] == "2"


@pytest.mark.gate
def test_the_ways_of_asking_are_scored_at_the_kept_checkpoints_and_say_why_they_do_not_apply(app, monkeypatch):
    monkeypatch.setattr(view, "SEQUENCES", 1)
    monkeypatch.setattr(view, "CHECKPOINTS", 2)
    train(app, truth="true")
    drawn = " ".join(each.proto.json for each in app.get("bidi_component"))
    steps = sorted({frame.step for frame in app.session_state.run.frames})
    assert "untrained" in drawn
    assert f"step {steps[-1]}" in drawn
    assert "The gates of an LSTM" in drawn
    assert any("nearest" in each.proto.body for each in app.get("html"))


@pytest.mark.gate
def test_a_server_that_is_too_busy_says_so(app: AppTest, monkeypatch: pytest.MonkeyPatch) -> None:
    def busy(*_: object, **__: object) -> None:
        raise BusyError("Too many people.")

    train(app)
    monkeypatch.setattr(view, "shared", busy)
    app.toggle(key="truth").set_value(True).run()
    assert [each.value for each in app.error] == ["Too many people."]
    assert not app.exception
    monkeypatch.setattr(training.Job, "result", busy)
    app.number_input(key="toy_first").set_value(2).run()
    assert [each.value for each in app.error] == ["Too many people."]
    assert not app.exception


def test_the_scores_of_a_file_are_not_those_of_the_model_whose_recipe_it_names() -> None:
    run = first_look(PRESETS[0].recipe)
    same = first_look(PRESETS[0].recipe)
    assert view.scores_key(run.recipe, run.frames) == view.scores_key(same.recipe, same.frames)
    other = replace(run.frames[0], weights={name: value + 1 for name, value in run.frames[0].weights.items()})
    assert view.scores_key(run.recipe, [other]) != view.scores_key(run.recipe, run.frames)


def test_induction_waits_for_its_turn_as_every_training_does(app, monkeypatch):
    line = Line(1)
    monkeypatch.setattr(training, "training_line", lambda: line)
    monkeypatch.setattr(induction, "training_line", lambda: line)
    line.enter("another", lambda: True)
    order, entered = [], Line.enter

    def asks(*asked):
        order.append("asked")
        threading.Timer(0.1, lambda: (order.append("free"), line.leave("another"))).start()
        return entered(*asked)

    def trains(recipe, every):
        order.append("trained")
        return short(replace(recipe, steps=2, batch=2), every=1)

    monkeypatch.setattr(Line, "enter", asks)
    monkeypatch.setattr("attnviz.training.induction.train", trains)
    app.query_params["lesson"] = "induction"
    app.run()
    press(app, "Start")
    assert order == ["asked", "free", "trained", "trained"]
    assert [len(looks) for looks in app.session_state.induction[1]] == [3, 3]
    # The place is free again.
    assert entered(line, "next", lambda: False)


def test_whoever_comes_third_is_told_why_it_waits(app, monkeypatch):
    line = Line(places=1)
    monkeypatch.setattr(training, "training_line", lambda: line)
    other = LiveRun(Training(ToyRecipe(ToyConfig("copy", "dot", dim=11), steps=100_000, batch=2)), line)
    other.begin()
    app.run()
    press(app, "Start")
    other.watched()
    assert app.session_state.run.state == "waiting"
    assert "This server trains 1 at once" in app.get("progress")[0].proto.text
    press(app, "Stop")
    other.stop()
    assert app.session_state.run.state in ("stopped", "left")


def test_other_settings_end_a_run(app):
    app.run()
    press(app, "Start")
    first = app.session_state.run
    app.number_input(key="toy_first").set_value(2).run()
    assert first.state == "stopped"
    assert (app.session_state.run.recipe.seed, app.session_state.run.state) == (2, "ready")


@pytest.mark.gate
@pytest.mark.parametrize("recipe", [
    ToyRecipe(ToyConfig("sort", "additive", dim=13), steps=7, batch=11, learning_rate=3e-3, teacher_forcing=0.123456789),
    pytest.param(
        ToyRecipe(ToyConfig("copy", "transformer", n_layers=3, n_heads=2, dim=22), steps=6_007, batch=11, seed=12_345),
        marks=pytest.mark.gate,
    ),
], ids=["short and small", "long and deep"])  # fmt: skip
def test_a_file_of_any_recipe_is_opened_as_what_it_holds(app, recipe):
    trained = Training(recipe)
    for _ in range(7):
        trained.step()
    train(app)
    app.file_uploader(key="toy_file").upload("x.safetensors", to_file(recipe, trained.look()), "application/octet-stream").run()
    assert not app.exception
    run = app.session_state.run
    assert (run.recipe, run.step, run.state) == (recipe, 7, "finished")
    assert all(torch.equal(value, run.frames[-1].weights[name]) for name, value in trained.look().weights.items())
    assert any("batches of 11" in caption.value for caption in app.caption)
    press(app, "Restart")
    assert app.session_state.run.recipe == recipe
    app.session_state.run.stop()
    app.number_input(key="toy_first").set_value(2).run()
    assert app.session_state.run.recipe.batch == 64


@pytest.mark.gate
def test_which_came_first_is_told_from_steps_and_not_from_who_looked(app):
    train(app)
    training = app.session_state.run.training
    for aligned, answered, message in ((10, 25, "First it learned where to look"), (25, 10, "did not come first"),
                                    (10, 20, "too close to tell"), (10, None, "")):  # fmt: skip
        training.milestones = Milestones(aligned, answered)
        app.run()
        said = "".join(str(element.proto) for element in app.get("bidi_component"))
        assert message in said
        assert ("three links in four" in said) == bool(message)


@pytest.mark.parametrize(("address", "is_open"), [({}, False), ({"first": "2"}, True), ({"forcing": "0.5"}, True)])
def test_what_few_people_change_is_folded_until_it_is_changed(address: dict[str, str], is_open: bool) -> None:
    app = open_page("train", **address)
    folded = next(each for each in app.sidebar.expander if each.label == "Advanced")
    assert {each.key for each in (*folded.number_input, *folded.button_group)} >= {"toy_first"}
    assert folded.proto.expanded is is_open


@pytest.mark.parametrize("preset", PRESETS[4:6])
def test_before_the_first_step_the_page_says_how_even_the_attention_is(preset: Preset) -> None:
    run = LiveRun(Training(preset.recipe), Line(1))
    (said,) = training.describe_frame(run, run.frames[0], None)
    drawn = run.frames[0].alignments[0][run.frames[0].best].tolist()
    rows = [[weight for weight in row if weight] for row in drawn]
    largest, even = (sum(each) / len(rows) for each in ([max(row) for row in rows], [1 / len(row) for row in rows]))
    told = f"holds {int(100 * largest + 0.5)}\xa0%, where an equal share is {int(100 * even + 0.5)}\xa0%."
    assert told in "".join(part.text for part in said)
