"""The Compare page's script without a browser: two texts, two models, an edit, and what cannot be compared."""

from dataclasses import replace

import pytest

from attnviz.training.live import Line, LiveRun
from attnviz.training.presets import preset
from attnviz.training.toy import Training
from attnviz.ui.checkpoints import name_of
from attnviz.ui.examples import examples
from tests.visits import open_page, press, said


def test_tired_and_wide_come_first_and_a_head_is_in_the_address():
    app = open_page("compare")
    assert "changed most" in said(app)
    assert "“wide”" in said(app)
    assert "layer" not in app.query_params


@pytest.mark.parametrize("example", examples("compare"), ids=lambda each: each.label)
def test_every_example_opens_from_its_link_and_shows_a_change(example):
    link = {name: getattr(example, name) for name in ("text", "other", "model", "second", "edits")}
    app = open_page("compare", **{name: value for name, value in link.items() if value})
    assert not app.error
    assert "changed most" in said(app)
    assert example.notice in said(app)


def trained(first: int = 1) -> LiveRun:
    """A run that has taken a few steps, kept before the first and after the last."""
    recipe = replace(preset("toy-transformer").recipe, seed=first)
    training = Training(recipe)
    run = LiveRun(training, Line(1))
    for _ in range(20):
        training.step()
    run.history.add(training.look())
    return run


def test_two_checkpoints_of_a_training_are_compared_on_what_is_right():
    run = trained()
    first, last = (name_of(run.recipe, step) for step in (0, 20))
    app = open_page("compare", {"run": run}, model=first, second=last, text="network", other="network")
    assert not app.error
    assert "changed most" in said(app)
    drawn = " ".join(each.proto.json for each in app.get("bidi_component"))
    assert "Train, step 20" in drawn


def test_a_step_that_was_not_kept_is_the_nearest_that_was_and_the_address_says_which():
    run = trained()
    app = open_page(
        "compare", {"run": run}, model=name_of(run.recipe, 2), second=name_of(run.recipe, 17), text="network", other="network"
    )
    assert not app.info
    asked = app.session_state.address
    assert (asked["model"], asked["second"]) == (name_of(run.recipe, 0), name_of(run.recipe, 20))


def test_a_training_of_others_settings_is_not_shown_for_it_but_offered():
    asked = trained(first=7).recipe
    link = {"model": name_of(asked, 0), "second": name_of(asked, 20), "trained": "kind=transformer&first=7&x=<b>"}
    app = open_page("compare", {"run": trained()}, **link, text="network", other="network")
    assert "on Train" in said(app)
    assert app.session_state.address["model"] == link["model"]
    press(app, "Train it")
    assert app.session_state.visits["train"] == {"kind": "transformer", "first": "7"}


def test_what_a_task_does_not_read_gets_its_sentence():
    run = trained()
    app = open_page(
        "compare", {"run": run}, model=name_of(run.recipe, 0), second=name_of(run.recipe, 20), text="Größe 7!", other="network"
    )
    assert len(app.error) == 1


def test_the_same_twice_changes_nothing():
    app = open_page("compare", other=examples("compare")[0].text, layer="3", head="1")
    assert "looks where it looked before" in said(app)


@pytest.mark.parametrize(
    ("parameters", "wrong"),
    [
        ({"edits": "e77.1z"}, "6 layers of 12 heads"),
        ({"edits": "nonsense"}, "is no edit"),
        ({"second": "transformer-en-fr"}, "no encoder|layers of"),
        ({"text": "yes", "other": "no", "model": "bahdanau-en-fr", "edits": "e0.0z"}, "no encoder attention"),
    ],
)
def test_what_cannot_be_compared_gets_one_sentence(parameters, wrong):
    app = open_page("compare", **parameters)
    assert len(app.error) + len(app.info) == 1
    assert any(part in said(app) for part in wrong.split("|"))


def test_what_is_compared_can_be_downloaded_as_drawing_and_numbers():
    app = open_page("compare", {"keep": True})
    assert [button.label for button in app.get("download_button")] == ["SVG", "PNG", "CSV"]
