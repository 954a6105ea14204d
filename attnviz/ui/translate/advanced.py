"""What specialists need of one model's translation: what the search found and walked, all heads, a link step by step."""

import streamlit as st

from attnviz.analysis.translate.alignment import describe_likelihood
from attnviz.analysis.wording import Sentence, signed
from attnviz.figures.html import STYLE
from attnviz.figures.translate.beam_tree import Grown, Twig, beam_tree, candidates
from attnviz.models.result import Result
from attnviz.models.translate.draft import Draft
from attnviz.ui.address.address_sync import forget_cell, url_value
from attnviz.ui.edit.current_map import CurrentMap, current_result
from attnviz.ui.edit.edits_in_address import Editor
from attnviz.ui.escape_markdown import escaped
from attnviz.ui.explorer import all_heads
from attnviz.ui.frame.page_buttons import explain_button
from attnviz.ui.head_picker import choose_head
from attnviz.ui.layout import theme
from attnviz.ui.markup import Markup
from attnviz.ui.translate.alignment_view import AlignmentView, chosen_cell
from attnviz.ui.translate.notices import show_rows_notice

_markup = Markup("markup", STYLE)


def show_advanced(slot: int, result: Result, editing: Editor, view: AlignmentView) -> None:
    """The search, the rows and the heads of the model that is drawn large; the heads as its edits are compared.

    Raises:
        TraceError: the view leaves no token.
    """
    shown = current_result(result, editing)
    figures = [f"log p of this translation: {signed(shown.draft.log_probability)}"]
    if (bleu := shown.card.metrics.get("BLEU")) is not None:
        figures.append(f"BLEU on held-out sentences: {bleu:.1f}")
    st.caption(" · ".join(figures))
    _show_candidates(shown.draft, slot)
    _show_tree(shown.draft, slot, shown.options.begins)
    show_rows_notice(shown, view)
    attention = view.attention(shown)
    if attention.n_layers * attention.n_heads > 1:
        cell = chosen_cell(shown, view, slot)
        label = f"All heads of {escaped(shown.card.name)}"
        current = CurrentMap(result, "cross", editing)
        # The rows of a difference are named after what is read.
        attention = attention if current.drawn is current.current else current.drawn
        drawn_as = current.drawn_as(view.of(shown))
        all_heads(attention, drawn_as, choose_head, cell=cell, slot=str(slot), label=label, editing=editing)


def opens_advanced(slot: int, result: Result) -> bool:
    """Whether there is something to see that somebody has asked for: a search, or the heads where there are several."""
    attention, name = result.trace.cross, f"all{slot}"
    heads_asked = st.session_state.get(name, url_value(name, "") == "open")
    return len(result.draft.candidates) > 1 or (heads_asked and attention.n_layers * attention.n_heads > 1)


def describe_given_target(draft: Draft) -> tuple[Sentence, ...]:
    """How likely a target that was given is to the model, beside its own; of the model's own translation nothing."""
    return (describe_likelihood(draft.log_probability, draft.own.log_probability),) if draft.own else ()


def explain_alignment(result: Result, view: AlignmentView, slot: int) -> None:
    """The way into Compute for the chosen cell, where a row of the picture is a row of the model's one head or chosen head."""
    draft, attention, own = result.draft, result.trace.cross, view.of(result)
    if result.quantity != "weights" or draft.reads_its_rows or (own.head is None and attention.n_heads > 1):
        return
    matrix = view.alignment(result)
    row, column = chosen_cell(result, view, slot)
    place = {"model": st.session_state.models[slot - 1], "layer": own.layer, "head": own.head or 0}
    place |= {"query": matrix.rows[row], "key": matrix.columns[column], "words": "true" if view.view.words else ""}
    explain_button(attention, place, slot=str(slot), begins=draft.pieces)


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
