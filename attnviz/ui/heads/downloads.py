"""What can be downloaded from the page Heads: the grid, what is known of every head, and the verdict on a claim."""

from collections.abc import Callable

import numpy as np
import streamlit as st
from jaxtyping import Float

from attnviz.analysis.heads.atlas import Atlas
from attnviz.analysis.heads.corpus_statistics import NAMES
from attnviz.analysis.heads.wording import MEASURE_LABELS, measure_text
from attnviz.export.heads.claims import atlas_csv, claims_csv, draw_atlas, draw_verdict
from attnviz.export.heads.grid import draw_measure, measure_csv
from attnviz.survey.survey_folder import State
from attnviz.ui.address.address_sync import value
from attnviz.ui.background.corpus_results import claim_verdict
from attnviz.ui.download import drawing_buttons, file_button


def claim_buttons(model: str, claim: str, own: str) -> None:
    """The verdict on a claim, as a drawing and as a table; nothing where there is none."""
    if claim and (report := claim_verdict(model, claim, own)):
        tested = report.result
        st.caption("The verdict")
        with st.container(horizontal=True):
            drawing_buttons("claim", lambda: draw_verdict(tested, model), "download_claim")
            file_button("claim.csv", lambda: claims_csv([claim], [tested]), key="download_claim_csv")
        st.caption("All heads")


def atlas_buttons(atlas: Atlas, find: int | None) -> None:
    """The grid of an atlas as a drawing, and every claim of every head as a table."""
    file = f"{_file_name(atlas.model)}-heads"
    _buttons(file, lambda: draw_atlas(atlas, find), lambda: atlas_csv(atlas))


def likeness_buttons(model: str, alike: Float[np.ndarray, "layer head"]) -> None:
    """How similar every head is to what is drawn, as a drawing and as a table."""
    title = f"{model}: correlation of each head with the drawing"
    _buttons(
        f"{_file_name(model)}-likeness",
        lambda: draw_measure(alike, lambda each: f"{each:.2f}", title),
        lambda: measure_csv(alike, "correlation"),
    )


def survey_buttons(survey: State) -> None:
    """One measure of every head over a corpus, as a drawing and as a table."""
    measure = value("measure", "previous")
    means = survey.statistics.means[NAMES.index(measure)]
    title = f"{survey.model}, {survey.statistics.read:,} texts: {MEASURE_LABELS[measure].lower()}"
    _buttons(
        f"{_file_name(survey.model)}-{_file_name(measure)}",
        lambda: draw_measure(means, lambda mean: measure_text(measure, mean), title),
        lambda: measure_csv(means, measure),
    )


def _buttons(file: str, sheet: Callable, table: Callable[[], bytes]) -> None:
    with st.container(horizontal=True):
        drawing_buttons(file, sheet)
        file_button(f"{file}.csv", table)


def _file_name(text: str) -> str:
    return text.replace("/", "-").replace(" ", "-")
