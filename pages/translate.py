"""Translate: type an English sentence, see which of its words each French or German word came from."""

from dataclasses import replace
from functools import partial

import streamlit as st

from attnviz.analysis.translation_alignment import CLICK_TRANSLATION, describe_alignment
from attnviz.core.errors import TraceError
from attnviz.models.result import Result
from attnviz.ui import translate
from attnviz.ui.address.address_sync import finish
from attnviz.ui.download import show_toolbar
from attnviz.ui.edit import CurrentMap, Editor, current_result, run_side_by_side
from attnviz.ui.edit_panel import edit_toggle, show_edit_buttons
from attnviz.ui.explorer import ShownHead, explain_quantity, in_chosen_quantity
from attnviz.ui.frame.sidebar import forced_target, language_picker, machines, own_language_button, written_language
from attnviz.ui.layout import escaped, header, hero, story
from attnviz.ui.prompt_box import prompt_box, show_notice, show_text_notices


def show_translations(
    results: dict[int, Result], editors: dict[int, Editor], view: translate.AlignmentView, large: int
) -> None:
    """Show what is edited, and the picture: every translation, the words of the large one, and its alignment."""
    shown = {slot: current_result(each, editors[slot]) for slot, each in results.items()}
    one, editing = shown[large], editors[large]
    own = view.of(one)
    with hero() as heading:
        off = CurrentMap(results[large], "cross", editing).describe_off(own)
        matrix = view.alignment(one)
        cell = translate.chosen_cell(one, view, large)
        if told := off or translate.missing_row(one, view, large) or translate.describe_given_target(one.draft):
            story(*told, place=heading)
        else:
            heading.caption(CLICK_TRANSLATION)
        translate.show_translation_edits(results[large], editing)
        translate.show_alignments(shown, view, large)
        show_edit_buttons(editing, ShownHead(view.attention(one), own, matrix, cell))
        with st.container(key="desk-said"):
            story(describe_alignment(matrix))


header("translate")
into = translate.language_picker()
names = translate.translators_picker(into)
typed, example = prompt_box(translate.EXAMPLES[into], further=(), forget=translate.forget_text)
sidebar = st.sidebar.container()
decoding = translate.decoding_picker()
if not names:
    translate.ask_for_translator()
elif typed:
    prompt = forced_target(typed)
    options = {slot: translate.options_of(slot, decoding) for slot, _ in enumerate(names, start=1)}
    prompts = [replace(prompt, language=written_language(name, str(slot))) for slot, name in enumerate(names, start=1)]
    results, editors = run_side_by_side(names, "translate", prompts, options)
    shown = {slot: current_result(each, editors[slot]) for slot, each in results.items()}
    downloads = []
    if shown:
        large = translate.large_slot(shown)
        show_text_notices(*shown.values(), also=translate.notices)
        picture, below = st.container(), st.container(horizontal=True, vertical_alignment="center")
        label = f"Advanced · {escaped(shown[large].card.name)}"
        folded = st.expander(label, expanded=translate.opens_advanced(large, shown[large]), icon=":material/tune:")
        for slot, each in shown.items():
            language_picker(each.card, sidebar, str(slot))
        head_place, weighed = sidebar.container(), shown
        results = in_chosen_quantity(results, sidebar)
        shown = {slot: current_result(each, editors[slot]) for slot, each in results.items()}
        follows = partial(translate.AlignmentView.followed, result=shown[large], slot=large)
        view = translate.alignment_picker(weighed.values(), head_place, folded, follows, example.word if example else "")
        downloads = [translate.alignment_download(each, view) for each in shown.values()]
        try:
            with picture:
                show_translations(results, editors, view, large)
            with below:
                edit_toggle(st.container(width="content"), (str(large),))
                translate.explain_alignment(shown[large], view, large)
                explain_quantity(shown[large], "cross", view.of(shown[large]).layer)
                show_notice(example, shown[large])
            with folded:
                translate.show_advanced(large, results[large], editors[large], view)
        except TraceError as error:
            st.info(escaped(error), icon=":material/visibility_off:")
        machines(shown.values())
    for slot, each in options.items():
        if slot not in results:
            own_language_button(names[slot - 1], str(slot))
        if not prompt.target:
            translate.steered_button(slot, names[slot - 1], each.begins)
    target_place, how_place, trust_place = st.columns(3)
    with target_place:
        translate.target_box(prompt, next((each.trace.output for each in shown.values()), ""))
    with how_place:
        translate.explain_alignments()
    with trust_place:
        translate.explain_trust_in_alignments()
    show_toolbar(downloads)
finish()
