"""A survey that `attnviz survey` wrote, opened on the page Heads: a folder of the server's disk, for those at the machine."""

from pathlib import Path

import numpy as np
import streamlit as st

from attnviz.analysis.heads.corpus_statistics import NAMES, Statistics
from attnviz.analysis.heads.wording import MEASURE_LABELS, measure_text
from attnviz.analysis.wording import Part, Sentence, head_name
from attnviz.core.errors import AttnvizError, CorpusError
from attnviz.figures import html as shared
from attnviz.figures.heads.evidence import distance_bars
from attnviz.figures.heads.grid import STYLE
from attnviz.figures.heads.survey import measure_grid, measures_table
from attnviz.survey.survey_folder import State, opened
from attnviz.ui.address.address_sync import publish, restore
from attnviz.ui.address.widgets import dropdown
from attnviz.ui.escape_markdown import escaped
from attnviz.ui.frame.sidebar import head_steppers
from attnviz.ui.head_picker import pick_head
from attnviz.ui.layout import hero, story, theme
from attnviz.ui.markup import Markup
from attnviz.ui.visitor_limits import folders_allowed

_markup = Markup("survey", shared.STYLE + STYLE)


def opened_survey() -> State | None:
    """The survey whose folder is asked for; None where none is, and after the page has said what is wrong with it."""
    restore("survey", "")
    folder = st.session_state.survey.strip()
    if not folder:
        return None
    try:
        if not folders_allowed():
            raise CorpusError("Surveys are not opened on this server: start attnviz on your own machine, where the folder is.")
        return opened(Path(folder))
    except AttnvizError as error:
        st.error(escaped(error), icon=":material/folder_off:")
        return None


def survey_box() -> None:
    """The box for the folder of a survey, for those at the machine."""
    folder = st.session_state.survey
    if folders_allowed():
        folder = st.text_input(
            "Measurements over a corpus (a folder)", key="survey", placeholder="survey", max_chars=400,
            help="What `attnviz survey MODEL --text FILES -o FOLDER` wrote: all heads, measured over a corpus of any size.",
        )  # fmt: skip
    publish("survey", folder, "")


def show_survey(survey: State) -> None:
    """One measure of every head, then all measures of the chosen one."""
    statistics = survey.statistics
    labels = MEASURE_LABELS.__getitem__
    measure = dropdown(st.sidebar, "Measure", "measure", options=NAMES, default="previous", format_func=labels)
    number = NAMES.index(measure)
    layer, head = _head_choice(statistics, number)
    with hero() as heading:
        story(*_survey_sentences(survey, measure, (layer, head)), place=heading)
        grid = measure_grid(statistics.means[number], measure, chosen=(layer, head), theme=theme())
        _markup("measured", grid, pick_head)
    name = head_name(layer, head)
    st.subheader(f"What {name} does over this corpus", anchor=False)
    left, right = st.columns([3, 2], gap="large")
    with left:
        _markup("measures", measures_table(statistics, layer, head, chosen=measure, theme=theme()), _pick_measure)
    with right:
        st.markdown(f"**How far {name} looks**, in tokens")
        histogram = statistics.histogram[layer, head]
        _markup("survey_distances", distance_bars(histogram / max(histogram.sum(), 1e-12), theme=theme()))


def _head_choice(statistics: Statistics, number: int) -> tuple[int, int]:
    """The head that is looked at: of a first visit, the one with the largest mean."""
    means = np.nan_to_num(statistics.means[number], nan=-1.0)
    layer, head = (int(place) for place in np.unravel_index(means.argmax(), means.shape))
    return head_steppers(st.sidebar, (layer, head), means.shape)


def _survey_sentences(survey: State, measure: str, chosen: tuple[int, int]) -> tuple[Sentence, Sentence]:
    statistics, number = survey.statistics, NAMES.index(measure)
    low, high = (measure_text(measure, float(end[number][chosen])) for end in statistics.intervals)
    corpus = f"A survey of {survey.model} over {statistics.read:,} texts with {statistics.tokens:,} tokens."
    if len(others := np.flatnonzero(~statistics.attending)):
        corpus += f" Without attention, and left out: layer {', '.join(map(str, others))}."
    mean = measure_text(measure, value := float(statistics.means[number][chosen]))
    interval = ": not measured." if np.isnan(value) else f" on average (95 % interval {low} to {high})."
    label = f"{head_name(*chosen)}: {MEASURE_LABELS[measure].lower()} "
    return (Part(label), Part(mean, strong=True), Part(interval)), (Part(corpus),)


def _pick_measure(picked: str) -> None:
    if picked in NAMES:
        st.session_state.measure = picked
