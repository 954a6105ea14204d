"""A training mounted on the page: begun, watched, paused and played back; one a visitor, a bounded number on the server."""

from functools import cache

import streamlit as st
from streamlit.components.v2 import component

from attnviz import memory, settings
from attnviz.analysis.wording import Part, Sentence, whole_percent
from attnviz.figures.html import SCRIPT
from attnviz.figures.train import STYLE, Curve, HeldOutSequence, emergence
from attnviz.models import device
from attnviz.models.base import Progress
from attnviz.models.toy_config import FILLED, ToyRecipe
from attnviz.text.toy_tasks import MARKS
from attnviz.training.background_run import MOST_COURTESY_SECONDS, Line, LiveRun
from attnviz.training.toy_training import Frame, Training
from attnviz.ui.background import jobs
from attnviz.ui.background.jobs import PRIORITY, Job, workers
from attnviz.ui.layout import checked, escaped, theme

REDRAW_SECONDS = 0.3
# Of the row above the picture, which keeps its place whatever stands in that row.
ROW_PIXELS = 72
_PICTURE = component("attnviz.training", html='<div class="markup"></div>', css=STYLE, js=SCRIPT)


@cache
def training_line() -> Line:
    """Return the line where all visitors' trainings wait for their turn."""
    return Line(settings.limit("ATTNVIZ_TRAININGS"))


def current_run(recipe: ToyRecipe) -> LiveRun | None:
    """Return this visitor's run; where it is of another recipe it ends, and one that has not begun takes its place.

    None after the page has said why there is none.
    """
    run: LiveRun | None = st.session_state.get("run")
    if run is not None and run.recipe == recipe:
        return run
    return checked(lambda: _new_run(recipe), icon="error")


def _new_run(recipe: ToyRecipe) -> LiveRun:
    if (run := st.session_state.pop("run", None)) is not None:
        run.stop()
    st.session_state.pop("frame", None)
    place = st.empty()
    line = training_line()

    def work(progress: Progress) -> LiveRun:
        device.share_cores(workers())
        memory.settle()
        progress("Making examples", None)
        # The first one imports more of PyTorch.
        with jobs.TURN:
            return LiveRun(Training(recipe), line, PRIORITY.give_way)

    st.session_state.run = Job(work).result(place)
    return st.session_state.run


def open_run(training: Training) -> None:
    """Makes a model that was trained before this visitor's run."""
    if (run := st.session_state.pop("run", None)) is not None:
        run.stop()
    st.session_state.pop("frame", None)
    st.session_state.run = LiveRun(training, training_line(), PRIORITY.give_way)


def start(run: LiveRun) -> None:
    """Train, continue, or where a run has ended train afresh; for a callback."""
    if run.state in ("stopped", "finished", "failed"):
        run = LiveRun(Training(run.recipe), run.line, run.give_way)
        st.session_state.run = run
    st.session_state.pop("frame", None)
    run.begin()


def _buttons(run: LiveRun) -> None:
    """Draw the buttons for a run as it stands, always at the same height."""
    with st.container(height=ROW_PIXELS, border=False, horizontal=True, vertical_alignment="center"):
        if run.active:
            st.button("Pause", key="pause", icon=":material/pause:", type="primary", on_click=run.pause)
            st.button("Stop", key="stop", icon=":material/stop:", on_click=run.stop)
            return
        halted = run.state in ("paused", "left")
        label = "Continue" if halted else "Start" if run.state == "ready" else "Restart"
        st.button(label, key="start", icon=":material/play_arrow:", type="primary", on_click=start, args=(run,))
        if halted:
            st.button("Restart", key="again", icon=":material/replay:", on_click=_restart, args=(run,))


def _restart(run: LiveRun) -> None:
    run.state = "stopped"
    start(run)


def watch(drawn_run: LiveRun, head: tuple[int, int] | None) -> None:
    """Draw the run as it is now, again several times a second while it trains; afterwards any of its kept frames."""
    trained, followed = drawn_run.active, current_frame(drawn_run).step

    def draw() -> None:
        run: LiveRun = st.session_state.run
        run.watched()
        live = run.active
        if live:
            PRIORITY.give_way(MOST_COURTESY_SECONDS)
        left, right = st.columns([5, 7], vertical_alignment="center")
        with left:
            _buttons(run)
        with right, st.container(height=ROW_PIXELS, border=False, vertical_alignment="center", key="training-step"):
            frame = run.frames[-1] if live else _frame_slider(run)
            if live:
                _progress(run)
        if run.state == "failed":
            st.error(f"Training stopped at step {run.step:,}: {escaped(run.failure)}. Press Restart.", icon=":material/error:")
        _draw_picture(run, frame, head)
        # A button or the slider runs this part of the page alone, and what stands below it follows them. Only now, at the end:
        # a picture that has not been drawn yet would be gone for a moment.
        if (run, live) != (drawn_run, trained) or (not live and frame.step != followed):
            st.rerun()

    st.fragment(draw, run_every=REDRAW_SECONDS if trained else None)()


def current_frame(run: LiveRun) -> Frame:
    """Return the frame that is looked at: the one chosen with the slider, or the last."""
    step = st.session_state.get("frame", run.frames[-1].step)
    return min(run.frames, key=lambda frame: abs(frame.step - step))


def _frame_slider(run: LiveRun) -> Frame:
    frames = run.frames
    if len(frames) < 2:
        st.progress(0.0, text=f"{run.recipe.steps:,} steps to go. Below is the model before it has learned anything.")
        return current_frame(run)
    steps = [frame.step for frame in frames]
    st.session_state.frame = current_frame(run).step
    halted = {
        "paused": "Paused", "left": "Paused, because nobody looked", "stopped": "Stopped", "finished": "Trained",
    }.get(run.state, "Held")  # fmt: skip
    st.select_slider(
        f"{halted} at step {run.step:,}. Slide back to see how the alignment emerged.", steps, key="frame",
        format_func=lambda step: f"step {step:,}",
    )  # fmt: skip
    return current_frame(run)


def _progress(run: LiveRun) -> None:
    if run.state == "waiting":
        ahead = run.line.ahead(run)
        turn = "You are next" if not ahead else f"{ahead} {'waits' if ahead == 1 else 'wait'} before you"
        st.progress(
            run.step / run.recipe.steps,
            text=f":material/hourglass_empty: **Waiting.** This server trains {run.line.places} at once, and others train now. "
            f"{turn}: yours starts by itself.",
        )
        return
    left = "" if run.left is None else f" · {_duration(run.left)} left"
    st.progress(run.step / run.recipe.steps, text=f"Step {run.step:,} of {run.recipe.steps:,}{left}")


def _duration(seconds: float) -> str:
    """
    >>> _duration(7.4), _duration(130.0)
    ('8 s', '3 min')
    """
    return f"{int(seconds) + 1} s" if seconds < 100 else f"{int(seconds / 60) + 1} min"


def _draw_picture(run: LiveRun, frame: Frame, head: tuple[int, int] | None) -> None:
    layer, head_ = head or frame.best
    shown = [each for each in run.frames if each.step > 0]
    losses = tuple((each.step, each.loss) for each in shown)
    curves = [
        Curve(
            "New sequences written right", whole_percent(frame.accuracy),
            tuple((each.step, each.accuracy) for each in run.frames),
        ),
        Curve(
            "Alignment error rate (best: 0)", f"{frame.errors[layer, head_]:.2f}",
            tuple((each.step, float(each.errors[layer, head_]) if head else each.error) for each in run.frames),
        ),
        Curve("Training loss", f"{frame.loss:.2f}", losses, max((loss for _, loss in losses), default=1.0)),
    ]  # fmt: skip
    held, story = _held(run, frame, layer, head_), describe_frame(run, frame, head)
    _PICTURE(key="training", data=[emergence(held, curves, story, steps=run.recipe.steps, at=frame.step, theme=theme())])


def _held(run: LiveRun, frame: Frame, layer: int, head: int) -> HeldOutSequence:
    """Return the sequence that is drawn, the first of those held out, as a head reads it at a frame."""
    held, outputs, solved = run.training.held_out, (*MARKS, *run.recipe.task.outputs), run.training.held_out.solved[0]
    weights = frame.alignments[0][layer, head]
    n_rows, n_columns = weights.shape
    padding = (MARKS[FILLED],) * (n_columns - len(solved.source))
    sure, possible = (links[0, :n_rows, :n_columns] for links in (held.sure, held.possible))
    written = tuple(outputs[piece] for piece in frame.written[0])
    return HeldOutSequence((*solved.source, *padding), (*solved.target, MARKS[2]), written, weights, sure, possible)


def describe_frame(run: LiveRun, frame: Frame, head: tuple[int, int] | None) -> list[Sentence]:
    """Say what the chosen frame shows, and in which order right alignments and right answers came."""
    if not frame.step:
        rows = frame.alignments[0][head or frame.best]
        largest, even = float(rows.max(axis=1).mean()), float((1 / (rows > 0).sum(axis=1)).mean())
        return [(Part("Before the first step it looks "), Part("nearly equally everywhere", True),
                 Part(f": the strongest cell of a row holds {whole_percent(largest)}, where an equal share is "
                      f"{whole_percent(even)}. Press Start."))]  # fmt: skip
    right = Part(whole_percent(frame.accuracy), True)
    sentences: list[Sentence] = [
        (Part(f"After {frame.step:,} steps "), right, Part(" of the held-out sequences are written without a mistake, at an "
         "alignment error rate of "), Part(f"{frame.errors[head or frame.best]:.2f}", True), Part("."))
    ]  # fmt: skip
    order = run.training.milestones.sentence
    if order and frame is run.frames[-1]:
        sentences.append((Part(order),))
    return sentences
