"""Heads: what every head of a model does over many sentences, and whether what somebody claims of a head is so."""

import streamlit as st

from attnviz.ui.address.state import finish
from attnviz.ui.explain import show_toolbar
from attnviz.ui.heads.atlas import atlas_of, try_claim
from attnviz.ui.heads.pattern import draws, show_drawing
from attnviz.ui.heads.survey import opened_survey, show_survey, survey_box
from attnviz.ui.heads.view import (
    claim_box,
    explained,
    find_box,
    head_choice,
    headline,
    heads_model,
    own_box,
    show_evidence,
    show_grid,
    show_test,
)
from attnviz.ui.layout import header, hero, story

header("Heads", "Say what a head does. See whether it does so in 1,500 sentences, and what all the others do.")
survey = opened_survey()
model = survey.model if survey else heads_model()
claim = claim_box()
verdict = st.container(key="verdict" if claim else None)
if survey:
    show_survey(survey)
elif atlas := atlas_of(model):
    chosen = head_choice(atlas)
    drawing = draws()
    find = None if drawing else find_box(atlas)
    with hero() as heading:
        if drawing:
            show_drawing(model, chosen, heading)
        else:
            story(*headline(atlas, chosen), place=heading)
            show_grid(atlas, chosen, find)
    show_evidence(atlas, chosen, model)
own = own_box()
survey_box()
explained()
show_toolbar()
with verdict:
    if claim and (result := try_claim(model, claim, own)):
        show_test(*result, model)
finish()
