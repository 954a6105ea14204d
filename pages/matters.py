"""Matters: which words an output needs, by taking each away; and all attribution methods, compared with that."""

from dataclasses import replace
from functools import partial

import streamlit as st

from attnviz.attribution.methods import METHODS
from attnviz.models import catalog
from attnviz.ui import matters
from attnviz.ui.address.address_sync import finish, fold, url_value
from attnviz.ui.background.results import card
from attnviz.ui.download import show_toolbar
from attnviz.ui.frame.sidebar import language_picker, one_model, own_language_button
from attnviz.ui.layout import header, hero

ABOUT = "answer-en and the other models of the catalog are on this machine; type the id of any other one of the hub."
KNOWN = ("answer-en", *(name for name in catalog.available() if name != "answer-en"))

header("matters")
model = one_model(KNOWN, ABOUT)
prompt = matters.text_boxes(model)
target, seen = matters.chosen_target(model), matters.method_of_seen_head()
looked = seen or "attention"
report = matters.matters(model, prompt, target, (looked, "random")) if prompt else None
removals = matters.word_removals(model, prompt, target) if prompt and report else None
if prompt and report and removals:
    matters.show_targets(report)
    if model not in catalog.CATALOG and (known := card(model, prompt)):
        language_picker(known, st.sidebar)
    removed = matters.removed_words(report)
    after = removals.output(removed[0]) if len(removed) == 1 else None
    after = after or (matters.without(model, prompt, target, removed) if removed else None)
    with hero() as heading:
        matters.show_experiment(report, removals, removed, after, looked, heading)
        is_named = bool(url_value("way", ""))
        methods = fold(f"Which method to believe: {len(METHODS) - 1} tried on this text", "methods", opens=is_named)
        table, waits, method, curve = None, False, matters.DROP, None
        if methods.open:
            with methods:
                compared, waits = matters.compared_methods(model, prompt, target, seen)
                if compared:
                    report, method = compared, matters.chosen_method(compared, seen)
                    matters.show_verdict(report, method)
                    matters.show_text(report, method, removed)
                    table = st.empty()
                    matters.show_methods(table, report, method, matters.SLOW if waits else ())
                    below, right = st.columns(2, gap="large")
                    with right:
                        matters.explain_numbers()
                    with below:
                        if curve := matters.deletion(model, prompt, target, method, ranked=report.ranked(method)):
                            matters.show_curve(curve, method)
    kept = replace(report, shares={**report.shares, matters.DROP: removals.drops})
    files = partial(matters.download_buttons, model, prompt, target, kept, method, curve)
    show_toolbar(opens="Opens these words, shaded as they are here", own=files)
    # The page is whole before further methods run: its address, its toolbar, and all that can be clicked.
    finish()
    if table and waits:
        matters.show_methods(table, matters.with_slow_methods(model, prompt, target, report), method, ())
elif prompt:
    matters.default_target_button()
    own_language_button(model)
finish()
