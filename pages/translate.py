"""Translate: type an English sentence, see which of its words each French word came from."""

import streamlit as st

from attnviz.analysis.translate.alignment import Likelihood, describe_alignment, describe_likelihood, describe_origin
from attnviz.analysis.wording import plain
from attnviz.core.errors import TraceError
from attnviz.models import catalog
from attnviz.ui.address.state import finish
from attnviz.ui.alignment import (
    Drawing,
    chosen_cell,
    explain_alignment,
    options_of,
    show_candidates,
    show_heads,
    show_ladder,
    show_matrix,
    show_pair,
    show_tree,
    steered,
)
from attnviz.ui.background.results import Drafted, translate
from attnviz.ui.explain import keep, notices
from attnviz.ui.layout import escaped, header, hero, side_by_side, story
from attnviz.ui.prompt import prompt_box
from attnviz.ui.sidebar import forced_target
from attnviz.ui.translate.notices import explained, forget_text, headline, language_notices, rows_notice, target_box
from attnviz.ui.translate.sidebar import decoding, drawing, machines, models_picker

CHOOSE = "Choose a translator in the sidebar: up to four stand side by side."
NO_MODEL = (
    "Choose a translator in the sidebar. None travels with this copy of attnviz yet: train one with "
    "`attnviz train bahdanau-en-fr --data FOLDER`, or name an encoder-decoder of the hub, such as Helsinki-NLP/opus-mt-en-fr."
)


def show(slot: int, drafted: Drafted, drawn: Drawing, n_models: int, begins: tuple[str, ...]) -> None:
    """One model's translation, and its alignment twice: as a matrix, and as two columns with links."""
    draft = drafted.draft
    with st.container():
        headline(drafted, drawn)
        if len(draft.candidates) > 1:
            show_candidates(draft, slot)
            show_tree(draft, slot, begins=begins)
    matrix = drawn.matrix(drafted)
    row, column = chosen_cell(matrix, slot, drawn.word)
    alt = plain(describe_origin(matrix, row, column))
    left, right = st.columns([6, 5], gap="large") if n_models == 1 else (st.container(), st.container())
    with left:
        show_matrix(matrix, drawn, slot, alt=alt, n_models=n_models)
    with right:
        show_pair(matrix, drawn, slot)


def tell(slot: int, drafted: Drafted, drawn: Drawing, fixed: int) -> None:
    """Sentences from the numbers, and the translation token by token."""
    draft = drafted.draft
    matrix = drawn.matrix(drafted)
    sentences = [describe_origin(matrix, *chosen_cell(matrix, slot, drawn.word)), describe_alignment(matrix)]
    if draft.own:
        sentences.append(describe_likelihood(Likelihood(draft.log_probability, draft.own.log_probability)))
    story(*sentences)
    explain_alignment(drafted, drawn, slot)
    rows_notice(drafted, drawn)
    steer = " Click one to decode on from there." if draft.pieces else ""
    st.caption(f"Each token with its probability, and what could stand in its place.{steer}")
    show_ladder(draft, slot, fixed=fixed)


header("Translate", "Type an English sentence. See which words each French word came from.")
names = models_picker()
typed, example = prompt_box("translate", further=(), forget=forget_text)
options = st.sidebar.container()
how = decoding()
if not names:
    st.info(CHOOSE if catalog.available_for("translate") else NO_MODEL, icon=":material/school:")
elif typed:
    prompt = forced_target(typed)
    found = {slot: translate(name, prompt, options_of(slot, how)) for slot, name in enumerate(names, start=1)}
    shown = {slot: drafted for slot, drafted in found.items() if drafted}
    if shown:
        drawn = drawing(list(shown.values()), options, example.word if example else "")
        language_notices(prompt, list(shown.values()))
        for each in shown.values():
            notices(each)
        try:
            with hero():
                for place, (slot, drafted) in zip(side_by_side("pictures", len(shown)), shown.items(), strict=True):
                    with place:
                        show(slot, drafted, drawn, len(shown), options_of(slot, how).begins)
            if example:
                st.caption(f":material/lightbulb: {example.notice}")
            show_heads(shown, drawn)
            for place, (slot, drafted) in zip(side_by_side("words", len(shown)), shown.items(), strict=True):
                with place:
                    tell(slot, drafted, drawn, 0 if prompt.target else len(options_of(slot, how).begins))
        except TraceError as error:
            st.info(escaped(error), icon=":material/visibility_off:")
        machines(list(shown.values()))
    for slot in found:
        if not prompt.target:
            steered(slot, options_of(slot, how))
    target_box(prompt, next((each.trace.output for each in shown.values()), ""))
    explained()
    keep([drawn.kept(names[slot - 1], each, options_of(slot, how)) for slot, each in shown.items()])  # pyright: ignore[reportPossiblyUnboundVariable]
finish()
