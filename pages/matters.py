"""Matters: which words an output depends on, by many attribution methods, each tested by removing words."""

from functools import partial

import streamlit as st

from attnviz.models import catalog
from attnviz.ui.address.address_sync import finish
from attnviz.ui.background.shares_and_costs import deletion, without
from attnviz.ui.frame.page_buttons import show_toolbar
from attnviz.ui.frame.sidebar import one_model
from attnviz.ui.layout import header, hero
from attnviz.ui.matters.controls import (
    chosen_method,
    chosen_target,
    default_target_button,
    first_report,
    is_long,
    method_groups,
    method_of_seen_head,
    next_report,
    removed_words,
    target_picker,
    text_boxes,
)
from attnviz.ui.matters.view import (
    download_buttons,
    explain_numbers,
    show_curve,
    show_methods,
    show_text,
    show_verdict,
    show_without,
)

ABOUT = "answer-en and the other models of the catalog are on this machine; type the id of any other one of the hub."
KNOWN = ("answer-en", *(name for name in catalog.available() if name != "answer-en"))

header(
    "What matters",
    "Which words does the output depend on? Click a word: the model runs without it. Below, 14 methods are tested.",
    "matters",
)
model = one_model(KNOWN, ABOUT)
prompt = text_boxes(model)
target, seen = chosen_target(model), method_of_seen_head()
groups = method_groups(prompt.text, seen) if prompt else []
report, left = first_report(model, prompt, target, groups) if prompt else (None, [])
if prompt and report:
    target_picker(report)
    removed, method = removed_words(report), chosen_method(report)
    with hero() as heading:
        verdict, is_compared = heading.empty(), not is_long(prompt.text)
        show_verdict(report, method, verdict, compares=is_compared)
        show_text(report, method, removed)
        show_without(report, removed, without(model, prompt, target, removed) if removed else None)
        table = st.empty()
        show_methods(table, report, method, left)
        if not report.figures:
            report, left = next_report(model, prompt, target, report, left)
            show_verdict(report, method, verdict, compares=is_compared)
            show_methods(table, report, method, left)
    below, right = st.columns(2, gap="large")
    with right:
        explain_numbers()
    with below:
        if curve := deletion(model, prompt, target, method, ranked=report.ranked(method)):
            show_curve(curve, method)
    files = partial(download_buttons, model, prompt, target, report, method, curve)
    show_toolbar(opens="Opens these words, shaded as they are here", own=files)
    # The page is whole before further methods run: its address, its toolbar, and all that can be clicked.
    finish()
    while left:
        report, left = next_report(model, prompt, target, report, left)
        show_methods(table, report, method, left)
elif prompt:
    default_target_button()
finish()
