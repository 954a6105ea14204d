"""Heads: what every head of a model does over many sentences, and whether what somebody claims of a head is so."""

from functools import partial

import streamlit as st

from attnviz.figures.head_claims import HOW_CLAIMS
from attnviz.ui.address.address_sync import finish, value
from attnviz.ui.background.corpus_results import atlas_of, claim_verdict, roles_of
from attnviz.ui.blocks import show_blocks
from attnviz.ui.download import show_toolbar
from attnviz.ui.heads import (
    atlas_buttons,
    claim_box,
    claim_buttons,
    claim_filter,
    draws_pattern,
    head_choice,
    likeness_buttons,
    model_picker,
    opened_survey,
    own_sentences_box,
    roles_buttons,
    show_atlas,
    show_evidence,
    show_likeness,
    show_roles,
    show_survey,
    show_verdict,
    shows_roles,
    survey_box,
    survey_buttons,
)
from attnviz.ui.layout import header, hero

header("heads")
survey = opened_survey()
model = survey.model if survey else model_picker()
claim = claim_box()
verdict = st.container(key="verdict" if claim else None)
buttons = None
if survey:
    show_survey(survey)
    buttons = partial(survey_buttons, survey)
elif shows_roles(model):
    if roles := roles_of(model):
        show_roles(roles)
        buttons = partial(roles_buttons, roles)
elif atlas := atlas_of(model):
    chosen = head_choice(atlas)
    is_drawing = draws_pattern()
    find = None if is_drawing else claim_filter(atlas)
    with hero() as heading:
        if not is_drawing:
            show_atlas(atlas, chosen, find, heading)
            buttons = partial(atlas_buttons, atlas, find)
        elif (alike := show_likeness(model, chosen, heading)) is not None:
            buttons = partial(likeness_buttons, model, alike)
    show_evidence(atlas, chosen)
with st.sidebar.expander("Advanced", expanded=bool(value("sentences", "") or value("survey", ""))):
    own = own_sentences_box()
    survey_box()
show_blocks(HOW_CLAIMS)


def downloads() -> None:
    """Draw what is in the box Download."""
    claim_buttons(model, claim, own)
    if buttons:
        buttons()


show_toolbar(own=downloads)
with verdict:
    if claim and (report := claim_verdict(model, claim, own)):
        show_verdict(report, model, own=bool(own))
finish()
