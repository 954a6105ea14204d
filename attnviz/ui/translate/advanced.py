"""What specialists need of one model's translation: what the search found and walked, all heads, a link step by step."""

import streamlit as st

from attnviz.analysis.translate.alignment import Likelihood, describe_likelihood
from attnviz.analysis.wording import Sentence
from attnviz.figures.html import STYLE
from attnviz.figures.translate.beam_tree import Grown, Twig, beam_tree
from attnviz.figures.translate.candidates import candidates
from attnviz.models.translate.decode import Draft
from attnviz.ui.address.state import forget_cell, url_value
from attnviz.ui.background.results import Drafted
from attnviz.ui.explain import explain_button
from attnviz.ui.explorer import all_heads
from attnviz.ui.head_picker import choose_head
from attnviz.ui.layout import escaped, theme
from attnviz.ui.markup import Markup
from attnviz.ui.translate.drawing import Drawing, chosen_cell
from attnviz.ui.translate.edited import EditedDraft
from attnviz.ui.translate.notices import rows_notice

_markup = Markup("markup", STYLE)


def advanced(slot: int, edited: EditedDraft, drawn: Drawing, begins: tuple[str, ...]) -> None:
    """The search, the rows and the heads of the model that is drawn large; the heads as its edits are compared.

    Raises:
        TraceError: the view leaves no token.
    """
    drafted = edited.shown
    _show_candidates(drafted.draft, slot)
    _show_tree(drafted.draft, slot, begins)
    rows_notice(drafted, drawn)
    attention = drawn.attention(drafted)
    if attention.n_layers * attention.n_heads > 1:
        cell = chosen_cell(drawn.matrix(drafted), slot, drawn.word)
        label = f"All heads of {escaped(drafted.card.name)}"
        shown = edited.maps
        # The rows of a difference are named after what is read.
        attention = attention if shown.drawn is shown.current else shown.drawn
        choice = shown.choice(drawn.choice(drafted))
        all_heads(attention, choice, choose_head, cell=cell, slot=str(slot), label=label, editing=shown.editing)


def is_wanted(slot: int, drafted: Drafted) -> bool:
    """Whether there is something to see that somebody has asked for: a search, or the heads where there are several."""
    attention, name = drafted.trace.cross, f"all{slot}"
    heads_asked = st.session_state.get(name, url_value(name, "") == "open")
    return len(drafted.draft.candidates) > 1 or (heads_asked and attention.n_layers * attention.n_heads > 1)


def likelihood(draft: Draft) -> tuple[Sentence, ...]:
    """How likely a target that was given is to the model, beside its own; of the model's own translation nothing."""
    return (describe_likelihood(Likelihood(draft.log_probability, draft.own.log_probability)),) if draft.own else ()


def explain_alignment(drafted: Drafted, drawn: Drawing, slot: int) -> None:
    """The way into Compute for the chosen cell, where a row of the picture is a row of the model's one head or chosen head."""
    draft, attention = drafted.draft, drafted.trace.cross
    layer, head = drawn.head_of(drafted)
    if drafted.weighed or draft.reads_its_rows or (head is None and attention.n_heads > 1):
        return
    matrix = drawn.matrix(drafted)
    row, column = chosen_cell(matrix, slot, drawn.word)
    place = {"model": st.session_state.models[slot - 1], "layer": layer, "head": head or 0}
    place |= {"query": matrix.rows[row], "key": matrix.columns[column], "words": "true" if drawn.view.words else ""}
    explain_button(attention, place, slot=str(slot), begins=draft.pieces)


def steered(slot: int, name: str, begins: tuple[str, ...]) -> None:
    """Where a person has chosen how a translation begins: the way back."""

    def unsteer() -> None:
        st.session_state.update({f"begins{slot}": "", f"candidate{slot}": 0})
        forget_cell()

    if begins:
        label = f"Back to what {escaped(name)} writes by itself"
        st.button(label, key=f"unsteer{slot}", icon=":material/undo:", on_click=unsteer)


def _choose(slot: int, picked: str) -> None:
    st.session_state[f"candidate{slot}"] = int(picked)
    forget_cell()


def _show_candidates(draft: Draft, slot: int) -> None:
    """The translations that the search found. A click shows the alignment of another."""
    if len(draft.candidates) > 1:
        candidates_shown = [(each.text, each.log_probability) for each in draft.candidates]
        drawn = candidates(candidates_shown, chosen=draft.chosen, theme=theme())
        _markup(f"candidates{slot}", drawn, lambda picked: _choose(slot, picked))


def _show_tree(draft: Draft, slot: int, begins: tuple[str, ...]) -> None:
    """The tree that the beam search walked. A click on a leaf shows the alignment of that translation."""
    if draft.tree is None or len(draft.candidates) < 2:
        return
    twigs = [Twig(each.name, each.parent, each.probability, each.kept) for each in draft.tree.branches]
    with st.expander("The tree of the beam", icon=":material/account_tree:"):
        st.caption(
            "A column is a step, with p of each token there. The search keeps the likeliest paths; one that is faint was left "
            "later, one that is struck out was never taken, the best of what its parent lost. A number is a translation's rank."
        )
        start = "".join(begins).replace("▁", " ").strip() or "<s>"
        drawn = beam_tree(twigs, Grown(draft.tree.leaves, draft.chosen, start, theme()))
        _markup(f"tree{slot}", drawn, lambda picked: _choose(slot, picked))
