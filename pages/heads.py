"""Heads: what every head of a model does over many sentences, and whether what somebody claims of a head is so."""

from functools import partial

import streamlit as st

from attnviz.figures.head_claims import HOW_CLAIMS
from attnviz.ui import heads
from attnviz.ui.address.address_sync import finish, value
from attnviz.ui.background.corpus_results import atlas_of, claim_verdict, roles_of
from attnviz.ui.blocks import show_blocks
from attnviz.ui.download import show_toolbar
from attnviz.ui.layout import header, hero

header("heads")
survey = heads.opened_survey()
model = survey.model if survey else heads.model_picker()
claim = heads.claim_box()
verdict = st.container(key="verdict" if claim else None)
buttons = None
if survey:
    heads.show_survey(survey)
    buttons = partial(heads.survey_buttons, survey)
elif heads.shows_roles(model):
    if roles := roles_of(model):
        heads.show_roles(roles)
        buttons = partial(heads.roles_buttons, roles)
elif atlas := atlas_of(model):
    chosen = heads.head_choice(atlas)
    is_drawing = heads.draws_pattern()
    find = None if is_drawing else heads.claim_filter(atlas)
    with hero() as heading:
        if not is_drawing:
            heads.show_atlas(atlas, chosen, find, heading)
            buttons = partial(heads.atlas_buttons, atlas, find)
        elif (alike := heads.show_likeness(model, chosen, heading)) is not None:
            buttons = partial(heads.likeness_buttons, model, alike)
    heads.show_evidence(atlas, chosen)
with st.sidebar.expander("Advanced", expanded=bool(value("sentences", "") or value("survey", ""))):
    own = heads.own_sentences_box()
    heads.survey_box()
show_blocks(HOW_CLAIMS)


def downloads() -> None:
    """Draw what is in the box Download."""
    heads.claim_buttons(model, claim, own)
    if buttons:
        buttons()


show_toolbar(own=downloads)
with verdict:
    if claim and (report := claim_verdict(model, claim, own)):
        heads.show_verdict(report, model, own=bool(own))
finish()
