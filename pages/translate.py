"""Translate: type an English sentence, see which of its words each French or German word came from."""

import streamlit as st

from attnviz.analysis.translate.alignment import describe_alignment, describe_origin
from attnviz.analysis.wording import Sentence
from attnviz.core.errors import TraceError
from attnviz.models import catalog
from attnviz.ui.address.state import finish
from attnviz.ui.background.results import Drafted
from attnviz.ui.explain import keep, notices
from attnviz.ui.layout import escaped, header, hero, story
from attnviz.ui.prompt import prompt_box
from attnviz.ui.quantity import tell_weighing
from attnviz.ui.sidebar import forced_target
from attnviz.ui.translate.advanced import advanced, explain_alignment, is_wanted, likelihood, steered
from attnviz.ui.translate.drawing import Drawing, chosen_cell, options_of
from attnviz.ui.translate.edited import edited_draft, weighed_drafts
from attnviz.ui.translate.notices import explained, forget_text, language_notices, spelling_notices, target_box, trust
from attnviz.ui.translate.sidebar import EXAMPLES, decoding, drawing, language, machines, models_picker
from attnviz.ui.translate.view import large_slot, show_alignments

CHOOSE = "Choose a translator in the sidebar: up to four stand side by side."
NO_MODEL = (
    "Choose a translator in the sidebar. None travels with this copy of attnviz yet: train one with "
    "`attnviz train bahdanau-en-fr --data FOLDER`, or name an encoder-decoder of the hub, such as Helsinki-NLP/opus-mt-en-fr."
)


def sentences(slot: int, drafted: Drafted, drawn: Drawing) -> tuple[Sentence, ...]:
    """What the numbers of the large picture say."""
    matrix = drawn.matrix(drafted)
    origin = describe_origin(matrix, *chosen_cell(matrix, slot, drawn.word))
    return origin, describe_alignment(matrix), *likelihood(drafted.draft)


header("Translate", "Type an English sentence. See which of its words each word of the translation came from.")
into = language()
names = models_picker(into)
typed, example = prompt_box(EXAMPLES[into], further=(), forget=forget_text)
options = st.sidebar.container()
how = decoding()
if not names:
    st.info(CHOOSE if catalog.available_for("translate") else NO_MODEL, icon=":material/school:")
elif typed:
    prompt = forced_target(typed)
    wanted = {slot: options_of(slot, how) for slot, _ in enumerate(names, start=1)}
    tried = {slot: edited_draft(slot, names[slot - 1], prompt, each) for slot, each in wanted.items()}
    edited = {slot: drafted for slot, drafted in tried.items() if drafted}
    shown = {slot: drafted.shown for slot, drafted in edited.items()}
    kept = []
    if shown:
        large = large_slot(list(shown))
        language_notices(prompt, list(shown.values()))
        spelling_notices(list(shown.values()))
        for each in shown.values():
            notices(each)
        picture, below = st.container(), st.container(horizontal=True, vertical_alignment="center")
        label = f"Advanced · {escaped(shown[large].card.name)}"
        folded = st.expander(label, expanded=is_wanted(large, shown[large]), icon=":material/tune:")
        drawn = drawing(list(shown.values()), options, folded, example.word if example else "")
        edited = weighed_drafts(edited, names, options)
        shown = {slot: drafted.shown for slot, drafted in edited.items()}
        kept = [drawn.kept(names[slot - 1], each, wanted[slot]) for slot, each in shown.items()]
        try:
            with picture, hero() as heading:
                off = edited[large].maps.off(*drawn.head_of(shown[large]))
                story(*(off or sentences(large, shown[large], drawn)), place=heading)
                edited[large].panel()
                fixed = {slot: 0 if prompt.target else len(wanted[slot].begins) for slot in shown}
                show_alignments(shown, drawn, large, fixed)
                matrix = drawn.matrix(shown[large])
                edited[large].buttons(drawn, (matrix, chosen_cell(matrix, large, drawn.word)))
            with below:
                edited[large].turn()
                explain_alignment(shown[large], drawn, large)
                tell_weighing(shown[large].weighed, "cross", drawn.head_of(shown[large])[0])
                if example:
                    st.caption(f":material/lightbulb: {example.notice}")
            with folded:
                advanced(large, edited[large], drawn, wanted[large].begins)
        except TraceError as error:
            st.info(escaped(error), icon=":material/visibility_off:")
        machines(list(shown.values()))
    for slot, each in wanted.items():
        if not prompt.target:
            steered(slot, names[slot - 1], each.begins)
    target_place, how_place, trust_place = st.columns(3)
    with target_place:
        target_box(prompt, next((each.trace.output for each in shown.values()), ""))
    with how_place:
        explained()
    with trust_place:
        trust()
    keep(kept)
finish()
