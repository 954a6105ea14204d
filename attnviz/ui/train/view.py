"""A training on the page: begun, watched, paused, played back; what the toy makes of one's own input; its tests, its file.

One a visitor, a bounded number on the server.
"""

import hashlib
from collections.abc import Callable, Hashable, Sequence
from dataclasses import replace
from functools import cache
from typing import Any

import streamlit as st
from streamlit.components.v2 import component

from attnviz import memory, settings
from attnviz.analysis.head_view import HeadMatrix, View, head_matrix
from attnviz.analysis.matters import PlantedScores, describe_ranking
from attnviz.analysis.translation_alignment import clearest_link, describe_origin, read_as
from attnviz.analysis.wording import Part, Sentence, counted, whole_percent
from attnviz.attribution.methods import USUAL, titles_of
from attnviz.core.errors import AttnvizError, PromptError
from attnviz.core.trace import Prompt
from attnviz.export import Picture
from attnviz.figures import html
from attnviz.figures.explorer.exported_file import records_script
from attnviz.figures.html import SCRIPT
from attnviz.figures.matrix import STYLE as MATRIX
from attnviz.figures.matrix import Marks, matrices_record, one_matrix
from attnviz.figures.train import STYLE, Curve, HeldOutSequence, emergence, planted_table
from attnviz.models import device
from attnviz.models import toy_model as toys
from attnviz.models.base import Progress
from attnviz.models.result import Result
from attnviz.models.tasks import run_task
from attnviz.models.toy_config import FILLED, ToyRecipe
from attnviz.text.toy_tasks import MARKS, Toy
from attnviz.training.background_run import MOST_COURTESY_SECONDS, Line, LiveRun
from attnviz.training.toy_training import Frame, Training, from_file, to_file
from attnviz.ui.address.address_sync import (
    cell_picker,
    chosen_link,
    forget_drafts,
    pop_state,
    selected_cell,
    toggle,
    visit_button,
)
from attnviz.ui.background import jobs
from attnviz.ui.background.jobs import PRIORITY, Job, at_a_place, shared, workers
from attnviz.ui.background.results import traces_kept
from attnviz.ui.download import Download, source_of
from attnviz.ui.layout import Markup, answer, checked, escaped, file_uploader, story, theme
from attnviz.ui.prompt_box import TextBox, run_texts, unrun_notice
from attnviz.ui.train.controls import score_kind, show_recipe
from attnviz.ui.training_checkpoints import name_of, trained_settings
from attnviz.ui.visitor_limits import check_file

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


def _forget_run() -> None:
    """End this visitor's run; the key stays, for a script that is overtaken may read it meanwhile."""
    run, st.session_state.run = st.session_state.get("run"), None
    if run is not None:
        run.stop()
    pop_state("frame")


def _new_run(recipe: ToyRecipe) -> LiveRun:
    _forget_run()
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
    _forget_run()
    st.session_state.run = LiveRun(training, training_line(), PRIORITY.give_way)


def start(run: LiveRun) -> None:
    """Train, continue, or where a run has ended train afresh; for a callback."""
    if run.state in ("stopped", "finished", "failed"):
        run = LiveRun(Training(run.recipe), run.line, run.give_way)
        st.session_state.run = run
    pop_state("frame")
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
        run: LiveRun = st.session_state.get("run") or drawn_run
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
            why = escaped(str(run.failure).rstrip("."))
            st.error(f"Training stopped at step {run.step:,}: {why}. Press Restart.", icon=":material/error:")
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
        st.progress(0.0, text=f"{counted(run.recipe.steps, 'step')} to go. Below is the model before it has learned anything.")
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
        (Part(f"After {counted(frame.step, 'step')} "), right, Part(" of the held-out sequences are written without a mistake, "
         "at an alignment error rate of "), Part(f"{frame.errors[head or frame.best]:.2f}", True), Part("."))
    ]  # fmt: skip
    order = run.training.milestones.sentence
    if order and frame is run.frames[-1]:
        sentences.append((Part(order),))
    return sentences


PLANTED_PIXELS = 440
# A token that no task knows is read as padding that can be seen.
PADDING = "∅"
# Held-out sequences that are explained, and checkpoints at most.
SEQUENCES, CHECKPOINTS = 4, 6
_PLANTED = Markup("planted", html.STYLE + STYLE)
_MATRIX = Markup("trial", html.STYLE + MATRIX, records_script())
_HOW_PLANTED = (
    f"Each method says where every written token of {SEQUENCES} held-out sequences comes from. The number is the part of the "
    "positive shares beside the right places: 0 finds all of it, 1 nothing. The model reads the true tokens before it."
)
_LSTM = (
    "One LSTM reads the source in both directions, another writes. Before each token the writer's state is compared with every "
)
_HOW = {
    "additive": _LSTM + "state of the reader by a small network (Bahdanau, Cho & Bengio 2014, section 3.1).",
    "dot": _LSTM + "state of the reader by a dot product (Luong, Pham & Manning 2015, section 3.1).",
    "scaled": _LSTM + "state of the reader by a dot product, divided by √d (Vaswani et al. 2017, section 3.2.1).",
    "transformer": "No recurrence: every token looks at all others, and what is written looks at the source "
    "(Vaswani et al. 2017). Row t is drawn as the token that step t writes.",
}
_FORMULA = r"e_{ij} = %s, \qquad \alpha_i = \mathrm{softmax}(e_i)"
_SCORES = {"additive": r"v^\top \tanh(W s_{i-1} + U h_j)", "dot": r"q_i \cdot k_j", "scaled": r"q_i \cdot k_j / \sqrt{d}"}
_MEASURED = """
Nobody tells the attention where to look: the loss only asks for the right token. **Held-out sequences** are 128 examples whose
text is never trained on; one is right when every token of it is. The **alignment error rate** compares the strongest link of
each row with the true one, AER = 1 − (|A∩S| + |A∩P|) / (|A| + |S|) with sure links S and possible links P (Och & Ney 2003).
"""
_BELIEVE = """
- Here, and almost only here, the right alignment is known: the task was made so. In translation people disagree about it.
- A model may be right while it looks elsewhere: a recurrent state carries what stands beside the place that it looks at. On
  dates you can often see it.
- Everything follows from the seed. Change it: does the same pattern appear, and as early?
"""


def show_trial(run: LiveRun, frame: Frame, head: tuple[int, int] | None) -> list[Download]:
    """Draw a box for one's own input and what the chosen checkpoint makes of it; return what can be downloaded."""
    task = run.recipe.task
    text = _input_box(task)
    try:
        solved = task.solve(text)
        result = _read(run, frame, Prompt(text))
    except PromptError as error:
        st.error(escaped(error), icon=":material/edit:")
        return []
    except AttnvizError as error:
        st.error(escaped(error), icon=":material/error:")
        return []
    matrix, _ = _aligned(result, *(head or frame.best))
    right, written = "".join(solved.target), result.trace.output
    answer(written or "(nothing)")
    st.caption(
        f":material/check: Right, after {counted(frame.step, 'step')}." if written == right
        else f":material/close: The right output is {escaped(right)}. This is the model after {counted(frame.step, 'step')}."
    )  # fmt: skip
    if len(solved.source) > 8 and task.words is False and task.name != "dates":
        st.caption("Longer than its training examples, which have three to eight characters.")
    story(_show_alignment(matrix))
    _compare_button(run, frame, text)
    return [_download(result, head or frame.best, ", your own input")]


def _compare_button(run: LiveRun, frame: Frame, text: str) -> None:
    """Draw a button that compares every head before the first step with the checkpoint that is looked at."""
    if not frame.step:
        return
    first, last = (name_of(run.recipe, step) for step in (0, frame.step))
    address = {"change": "model", "model": first, "second": last, "text": text, "trained": trained_settings()}
    label, help_ = f"Compare step 0 with step {frame.step:,}", "Which heads training changed most, on What if."
    visit_button(label, "whatif", address, key="to-compare", icon="compare_arrows", help=help_)


def _aligned(result: Result, layer: int, head: int) -> tuple[HeadMatrix, Callable[[], Picture]]:
    """Return the alignment of what was written, a row the token that its step writes; and its picture for a download."""
    written = result.draft
    attention = read_as(written.trace.cross, written.written, "naive")
    matrix = head_matrix(attention, layer=layer, head=head, view=View())
    return matrix, lambda: Picture(written.trace, "cross", layer, head, matrix, View(), True)


def _show_alignment(matrix: HeadMatrix) -> Sentence:
    """Draw the matrix, target down, source across; a click on a cell selects it. Returns what the selected cell says."""
    link = clearest_link(matrix)
    clearest = (link.query, link.key) if link else (0, int(matrix.weights[0].argmax()))
    cell = selected_cell(matrix, chosen_link((len(matrix.queries), len(matrix.keys)), "1")) or clearest
    drawn = matrices_record([one_matrix(matrix, Marks(cell))], theme(), picks=True)
    _MATRIX("matrix1", drawn, cell_picker(matrix, 1))
    return describe_origin(matrix, *cell)


def _input_box(task: Toy) -> str:
    """Draw the box for this task's input, and return what was run last."""
    key = f"toy_input_{task.name}"
    box = TextBox(key, "Your own input", task.example, task.example, one_line=True, help=f"Type {task.reads}.",
                  key=f"typed_{task.name}")  # fmt: skip
    text = run_texts([box], forget_drafts)[key]
    unrun_notice()
    return text


def show_planted(run: LiveRun) -> None:
    """Show how near every attribution method comes to the true alignment, at some of the kept checkpoints."""
    label = "Which attribution method finds the true alignment?"
    if not toggle(
        st.container(), label, "truth", help="The methods of the page What matters, tested where the truth is known."
    ):
        return
    frames, recipe = _some(run.frames), run.recipe

    def work(progress: Progress) -> tuple[PlantedScores, ...]:
        from attnviz.attribution.dataset import planted_scores

        scores = []
        for place, frame in enumerate(frames):
            progress(f"Explaining the model after {counted(frame.step, 'step')}", place / len(frames))
            model = toys.toy_model(recipe.model, frame.weights)
            scores.append(planted_scores(model, run.training.held_out.solved[:SEQUENCES], USUAL, step=frame.step))
        return tuple(scores)

    place = st.empty()
    scores = checked(
        lambda: shared(traces_kept(), scores_key(recipe, frames), work, place, pixels=PLANTED_PIXELS), icon="error"
    )
    if scores is None:
        return
    titles = titles_of(method.name for method in USUAL)
    story(describe_ranking(scores, titles))
    _PLANTED("planted", planted_table(scores, titles, theme=theme()))
    st.caption(_HOW_PLANTED)


def scores_key(recipe: ToyRecipe, frames: Sequence[Frame]) -> Hashable:
    """Return what the scores of checkpoints depend on: their weights, too, for a file may claim another's recipe."""
    digest = hashlib.sha256()
    for frame in frames:
        for name in sorted(frame.weights):
            digest.update(frame.weights[name].numpy().tobytes())
    return "planted", recipe, tuple(frame.step for frame in frames), digest.digest()


def _some(frames: tuple[Frame, ...]) -> tuple[Frame, ...]:
    """Pick the first frame, the last, and others evenly between them."""
    last, most = len(frames) - 1, CHECKPOINTS - 1
    return tuple(frames[place] for place in sorted({round(step * last / most) for step in range(CHECKPOINTS)}))


def file_boxes(run: LiveRun, frame: Frame) -> None:
    """Offer the chosen checkpoint as a file, and a box that opens a saved one again."""
    recipe = run.recipe
    name = f"{recipe.model.name}.safetensors"

    def data() -> bytes:
        return to_file(recipe, frame)

    left, right = st.columns(2, gap="large")
    with left:
        st.caption(f"The model after {counted(frame.step, 'step')}, as safetensors with its configuration inside.")
        st.download_button("Save the model", data, name, "application/octet-stream", key="save_toy", on_click="ignore",
                           icon=":material/save:", help=f"Opens again here, and in Python: attnviz.load({name!r})")  # fmt: skip
    with right:
        file_uploader("Open a saved model", "safetensors", "toy_file", _take, max_upload_size=toys.LARGEST_BYTES // 2**20)


def _take(chosen: Any) -> None:
    """Reads the file and makes its model the run that the page shows."""
    check_file(chosen, toys.LARGEST_BYTES)
    with at_a_place():
        training = from_file(chosen.getvalue(), chosen.name)
    show_recipe(training.recipe)
    open_run(training)


def shown_download(run: LiveRun, frame: Frame, head: tuple[int, int] | None) -> Download:
    """Return the download of the picture above: the first held-out sequence, as a head reads it at a frame."""
    solved, task = run.training.held_out.solved[0], run.recipe.task
    padding = (PADDING,) * (frame.alignments[0].shape[-1] - len(solved.source))
    text = (" " if task.words else "").join((*solved.source, *padding))
    return _download(_read(run, frame, Prompt(text, target="".join(solved.target))), head or frame.best)


def _read(run: LiveRun, frame: Frame, prompt: Prompt) -> Result:
    model = run.recipe.model
    return replace(run_task(toys.toy_model(model, frame.weights), "translate", prompt), name=f"{model.name}.safetensors")


def _download(result: Result, head: tuple[int, int], label: str = "") -> Download:
    _, picture = _aligned(result, *head)
    return Download(result.name + label, picture, source_of(result, naive=result.draft.reads_its_rows))


def explain_training(recipe: ToyRecipe) -> None:
    """Folded: how such a model computes and is measured, and how much to trust this."""
    with st.expander("How it is computed"):
        st.markdown(_HOW[recipe.model.kind])
        st.latex(_FORMULA % _SCORES[score_kind(recipe.model)])
        st.markdown(_MEASURED)
    with st.expander("How much to trust this"):
        st.markdown(_BELIEVE)
