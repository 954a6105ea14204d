"""Checkpoints of the model that this visitor trains on the page Train, as sides of a comparison.

`train-step-120-9f3c` is the model after 120 steps by the recipe whose digest is 9f3c: a link never shows another's picture.
"""

import re
import zlib
from dataclasses import replace
from typing import TYPE_CHECKING
from urllib.parse import parse_qsl, urlencode

import streamlit as st

from attnviz.core.edits import Edits
from attnviz.core.trace import Prompt
from attnviz.models.result import Result
from attnviz.models.toy_config import ToyRecipe
from attnviz.ui.address.address_sync import publish, url_value, visit_button
from attnviz.ui.background import results
from attnviz.ui.background.jobs import at_a_place
from attnviz.ui.layout import checked

if TYPE_CHECKING:
    # torch comes with it: it is there where somebody has trained.
    from attnviz.training.background_run import LiveRun

_NAME = re.compile(r"train-step-([0-9]{1,6})-([0-9a-f]{4})")
# What decides a training, as it stands in the address of Train.
_SETTINGS = ("task", "kind", "layers", "n_heads", "divided", "forcing", "padding", "steps", "first")


def name_of(recipe: ToyRecipe, step: int) -> str:
    """Name a checkpoint by its step and a checksum of its recipe."""
    return f"train-step-{step}-{zlib.crc32(repr(recipe).encode()) % 0x10000:04x}"


def step_of(name: str) -> int | None:
    """After how many steps the checkpoint of that name is; None: it is another model's name."""
    written = _NAME.fullmatch(name)
    return int(written[1]) if written else None


def label(name: str) -> str:
    """Name a model as it is called where one is chosen."""
    return name if (step := step_of(name)) is None else f"Train, step {step:,}"


def checkpoints() -> list[str]:
    """List the checkpoints of this visitor's training, from before its first step to its last."""
    return [] if (run := _run()) is None else [name_of(run.recipe, frame.step) for frame in run.frames]


def nearest(name: str) -> str:
    """Find the kept checkpoint that is nearest to one of the same training; return any other name as it is."""
    step, run = step_of(name), _run()
    if step is None or run is None or name != name_of(run.recipe, step):
        return name
    return name_of(run.recipe, min((frame.step for frame in run.frames), key=lambda kept: abs(kept - step)))


def trained_settings() -> str:
    """Return what the page Train shows, as a link to What if brings it along."""
    state = st.session_state
    shown = state.address if state.page == "train" else state.get("visits", {}).get("train", {})
    return urlencode([(name, shown[name]) for name in _SETTINGS if name in shown])


def publish_settings(*models: str) -> None:
    """Puts what decides the training into the address of a comparison of its checkpoints."""
    here = any(model in checkpoints() for model in models)
    ours = any(step_of(model) is not None for model in models)
    publish("trained", trained_settings() if here else url_value("trained", "") if ours else "", "")


def side(name: str, prompt: Prompt, edits: Edits) -> Result | None:
    """Compute the trace of one side, by a checkpoint or any other model; None after the page has said why there is none."""
    if step_of(name) is None:
        return checked(lambda: results.run(name, "encode", prompt, edits=edits))
    return checked(lambda: _of_checkpoint(name, prompt, edits))


def _of_checkpoint(name: str, prompt: Prompt, edits: Edits) -> Result | None:
    run = _run()
    # Read once: a run that goes on keeps others meanwhile.
    frame = next((frame for frame in run.frames if name_of(run.recipe, frame.step) == name), None) if run else None
    if run is None or frame is None:
        _offer_training()
        return None
    from attnviz.models.tasks import run_task
    from attnviz.models.toy_model import toy_model

    if prompt.target is None:
        # Both sides read what is right, so that their rows stand for the same tokens.
        prompt = replace(prompt, target="".join(run.recipe.task.solve(prompt.text).target))
    with at_a_place():
        model = toy_model(run.recipe.model, frame.weights)
        return run_task(model, "encode", prompt, edits=edits)


def _run() -> "LiveRun | None":
    return st.session_state.get("run")


def _offer_training() -> None:
    """Says where these checkpoints come from, with a button that opens their training."""
    st.info(
        "These checkpoints are kept only for the visit that trained them. Train the same model again on Train, and come back.",
        icon=":material/model_training:",
    )
    known = {name: value for name, value in parse_qsl(url_value("trained", "")) if name in _SETTINGS}
    visit_button("Train it", "train", known, key="to-train", icon="play_arrow")
